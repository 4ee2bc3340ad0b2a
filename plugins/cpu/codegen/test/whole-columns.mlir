// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=32 vector-registers=16},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// With 16 registers, a chain whose columns are known to exist has no masks: those of eight vectors would take half of the
// registers. It fetches each cache line of B, of two vectors, once.
// CHECK-LABEL: func.func private @mma.chain.f32.f32.64.whole(
// CHECK-NOT: masked
// CHECK: scf.for
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-NOT: masked
// CHECK-LABEL: func.func @tsr_kernel_values(
tile.kernel @values(%a: !tile.view<?x?xf32>, %b: !tile.view<?x64xf32>, %c: !tile.view<?x64xf32>, %M: index, %K: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["K", "64"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "64"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xf32> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Words of two bf16 become f32 by one operation each. The sums of even and odd columns are apart until they are stored.
// CHECK-LABEL: func.func private @mma.chain.f32.bf16.f32.64.whole(
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6, 8, 10, 12, 14] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK: %[[WORDS:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<8xi32>
// CHECK: arith.shli %[[WORDS]], %{{.*}} : vector<8xi32>
// CHECK: arith.andi %[[WORDS]], %{{.*}} : vector<8xi32>
// CHECK: math.fma
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
tile.kernel @narrow(%a: !tile.view<?x?xf32>, %b: !tile.view<?x64xbf16>, %c: !tile.view<?x64xf32>, %M: index, %K: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = bf16, dims = ["K", "64"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "64"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xf32> -> tensor<32x64xf32>
  %n = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %tb = tile.cast %n from bf16 to f32 : tensor<64x64xbf16> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}
