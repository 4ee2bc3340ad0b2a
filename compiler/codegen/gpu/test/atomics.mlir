// RUN: tsr-opt %s --gpu-to-target=target=ptx:sm_90 | FileCheck %s
// Atomic updates of global memory, each memory order, integers of 32 and 64 bits and compare-and-swap.

// CHECK: llvm.atomicrmw add %{{.*}} syncscope("device") monotonic
// CHECK: llvm.cmpxchg
gpu.module @image {
  gpu.func @atomics(%p: !llvm.ptr<1>, %v: i32, %w: i64) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %0 = llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr<1>, i32
    %1 = llvm.atomicrmw max %p, %0 syncscope("device") acquire : !llvm.ptr<1>, i32
    %2 = llvm.atomicrmw umin %p, %1 syncscope("device") release : !llvm.ptr<1>, i32
    %3 = llvm.atomicrmw xchg %p, %2 syncscope("device") acq_rel : !llvm.ptr<1>, i32
    %4 = llvm.atomicrmw add %p, %w syncscope("device") seq_cst : !llvm.ptr<1>, i64
    %5 = llvm.cmpxchg %p, %v, %3 syncscope("device") acq_rel acquire : !llvm.ptr<1>, i32
    gpu.return
  }
}
