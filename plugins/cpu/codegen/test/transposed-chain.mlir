// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=32 vector-registers=16},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// A profile with fixed reductions has no dots. Columns of few rows that are contiguous along k are transposed in registers: parts
// of 16 bytes of columns that are 4 apart are one vector, and each shuffle stays within 16 bytes.
// CHECK-NOT: @mma.dot
// CHECK-LABEL: func.func private @mma.transposed.f32.f32.64(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [2, 3, 10, 11, 6, 7, 14, 15] : vector<8xf32>, vector<8xf32>
// The last steps of k.
// CHECK: llvm.intr.masked.gather
// CHECK-LABEL: func.func @tsr_kernel_scores(
// CHECK: arith.cmpi sle, %{{.*}}, %c4
// CHECK: scf.if
// CHECK: call @mma.transposed.f32.f32.64(
// CHECK: } else {
tile.kernel @scores(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %c: !tile.view<?x?xf32>, %M: index, %K: index, %N: index) grid ["ceildiv(M, 32)"] attributes {numerics = "strict", params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["N", "K"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "N"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xf32> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero {trans_b} : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  tile.return
}
