// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=ptx:sm_80},canonicalize,cse)' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=rocm:gfx90a},canonicalize,cse)' | FileCheck %s --check-prefix=ONCE

// 64 x 32 elements are 256 pieces of 16 bytes, one for each thread, if every row of the tensor is aligned; else loops over
// pieces of 8 or 4 bytes, which LLVM does not unroll, or single elements. The group of
// the first copy may be outstanding at the first wait; a barrier waits for all.
// CHECK-LABEL: gpu.func @tsr_kernel_copies
// CHECK: llvm.ptrtoint
// CHECK: %[[WIDE:.*]] = arith.cmpi eq
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: } else {
// CHECK: scf.if
// CHECK: scf.for
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca
// CHECK: } {loop_annotation = #{{.*}}}
// CHECK: } else {
// CHECK: scf.if
// CHECK: scf.for
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
// CHECK: } {loop_annotation = #{{.*}}}
// CHECK: } else {
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// ONCE-LABEL: gpu.func @tsr_kernel_copies
// ONCE-NOT: cp.async
tile.kernel @copies(%x: !tile.view<?x?xbf16>, %o: !tile.view<64x32xbf16>, %m: index, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = bf16, dims = ["64", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %b = tile.alloc_shared : !tile.buffer<64x32xbf16, none>
  tile.cp_async %x[%c0, %c0] extents [64, 32] to %b : !tile.view<?x?xbf16>, !tile.buffer<64x32xbf16, none>
  tile.commit_group
  tile.wait_group 1
  tile.barrier
  %t = tile.buffer_read %b : !tile.buffer<64x32xbf16, none> -> tensor<64x32xbf16>
  tile.store %t, %o[%c0, %c0] extents [64, 32] : tensor<64x32xbf16>, !tile.view<64x32xbf16>
  tile.return
}
