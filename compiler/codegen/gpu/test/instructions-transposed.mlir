// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mma.m16n8k16 warps=8},tile-vectorize{threads=256},tile-plan-memory,tile-fuse,tile-legalize-numerics{backend=ptx},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=ptx:sm_80},canonicalize,cse)' | FileCheck %s

// A transposed factor is loaded without exchanging elements. Row r of 64 bytes has its chunks c at c ^ (r / 2 % 4), where
// they are stored and where they are loaded.
// CHECK-LABEL: gpu.func @tsr_kernel_turned
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[HALF:.*]] = arith.shrui %{{.*}}, %[[C1]] : index
// CHECK: %[[TURN:.*]] = arith.andi %[[HALF]], %[[C3]] : index
// CHECK: %[[CHUNK:.*]] = arith.shli %[[TURN]], %[[C3]] : index
// CHECK: arith.xori %{{.*}}, %[[CHUNK]] : index
// CHECK: llvm.store
// CHECK: scf.for
// CHECK: arith.xori
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: arith.xori
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 2
tile.kernel @turned(%x: !tile.view<64x32xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "32"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %b = tile.alloc_shared : !tile.buffer<64x32xbf16, xor>
  tile.cp_async %x[%c0, %c0] extents [64, 32] to %b : !tile.view<64x32xbf16>, !tile.buffer<64x32xbf16, xor>
  tile.barrier
  %p = tile.mma %b, %b, %z {trans_b} : !tile.buffer<64x32xbf16, xor>, !tile.buffer<64x32xbf16, xor>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}
