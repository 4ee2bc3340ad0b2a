// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// A transposed operand is read along its rows if there are enough rows of the result for its columns; else it is turned
// in scratch. One column of the result is gathered, added to along all rows at once, and scattered.
// CHECK: func.func private @mma.columns.f32.f32.32x64(
// CHECK: %[[COLUMN:.*]] = llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector<16xf32>
// CHECK-NOT: llvm.intr.masked.store
// CHECK: return
// CHECK-LABEL: func.func @tsr_kernel_transposed(
// CHECK-NOT: vector.shuffle
// CHECK: %[[ENOUGH:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[TALL:.*]] = arith.cmpi sge, %{{.*}}, %[[ENOUGH]]
// CHECK: scf.if %[[TALL]]
// CHECK-NEXT: call @mma.columns.f32.f32.32x64(
// CHECK-NEXT: } else {
// CHECK: call @mma.chain.f32.f32.64(
// CHECK: call @mma.f32.32x64x64.{{.*}}.limits(
tile.kernel @transposed(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %c: !tile.view<?x?xf32>, %M: index, %K: index, %N: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["K", "M"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["K", "N"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "N"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%c0, %row] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
  %turned = tile.transpose %ta : tensor<64x32xf32> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %turned, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  tile.return
}
