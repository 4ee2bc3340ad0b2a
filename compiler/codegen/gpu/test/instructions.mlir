// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mma.m16n8k16 warps=8},tile-vectorize{threads=256},tile-fuse,tile-legalize-numerics{backend=ptx},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=ptx:sm_80},canonicalize,cse)' | FileCheck %s

// A bf16 product by matrix instructions: the operands in shared memory as they are, 16 sums in each thread.
// CHECK-LABEL: gpu.func @tsr_kernel_product
// CHECK: llvm.mlir.addressof
// CHECK: %[[S:.*]]:16 = scf.for
// CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 2
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-NOT: math.fma
tile.kernel @product(%x: !tile.view<64x32xbf16>, %y: !tile.view<32x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["32", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<64x32xbf16> -> tensor<64x32xbf16>
  %b = tile.load %y[%c0, %c0] extents [32, 64] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %p = tile.mma %a, %b, %z : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

// An instruction that the text asks for and the architecture does not have.
#c = #tile.layout<reg = [[1,0], [2,0]], lane = [[0,1], [0,2], [0,4], [0,8], [4,0], [8,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @other(%x: !tile.view<64x16xbf16>, %y: !tile.view<16x16xbf16>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "16"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "16"], access = read>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x16xf32, #c>
  %a = tile.load %x[%c0, %c0] extents [64, 16] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
  %b = tile.load %y[%c0, %c0] extents [16, 16] : !tile.view<16x16xbf16> -> tensor<16x16xbf16>
  // expected-error @+1 {{of bf16 by mfma.16x16x16 is not implemented on ptx:sm_80, which has mma.m16n8k16 of f16 bf16, mma.m16n8k32.i8 of i8 u8, mma.m16n8k8.tf32 of tf32, mma.m8n8k4 of f64 (TSR_UNIMPLEMENTED)}}
  %p = tile.mma %a, %b, %z {fragment = #tile.fragment<16x16x16, "mfma.16x16x16", warps = [4, 1]>}
      : tensor<64x16xbf16>, tensor<16x16xbf16>, tensor<64x16xf32, #c>
  tile.return
}
