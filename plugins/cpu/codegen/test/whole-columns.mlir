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
