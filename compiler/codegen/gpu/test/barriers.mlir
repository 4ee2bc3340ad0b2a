// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=rocm:gfx90a},canonicalize,cse)' | FileCheck %s

// Threads copy into two buffers: one barrier after both. At the begin of a loop, what is before the loop and at its end must
// end in a barrier.
// CHECK-LABEL: gpu.func @tsr_kernel_two_buffers
// CHECK: scf.for
// CHECK: llvm.store
// CHECK-NOT: gpu.barrier
// CHECK: llvm.store
// CHECK: gpu.barrier
// CHECK: llvm.store
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
tile.kernel @two_buffers(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %o: !tile.view<16x32xf32>, %m: index, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["m", "k"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared : !tile.buffer<16x32xf32, none>
  %b = tile.alloc_shared : !tile.buffer<16x32xf32, none>
  scf.for %i = %c0 to %k step %c32 {
    tile.cp_async %x[%c0, %i] extents [16, 32] to %a : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
    tile.cp_async %y[%c0, %i] extents [16, 32] to %b : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
    tile.barrier
    %s = tile.buffer_read %a : !tile.buffer<16x32xf32, none> -> tensor<16x32xf32>
    %t = tile.buffer_read %b : !tile.buffer<16x32xf32, none> -> tensor<16x32xf32>
    %u = arith.addf %s, %t : tensor<16x32xf32>
    tile.store %u, %o[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
    tile.barrier
  }
  tile.return
}

// The second copy overwrites what the first one has written.
// CHECK-LABEL: gpu.func @tsr_kernel_one_buffer
// CHECK: llvm.store
// CHECK: gpu.barrier
// CHECK: llvm.store
// CHECK: gpu.barrier
tile.kernel @one_buffer(%x: !tile.view<?x?xf32>, %o: !tile.view<16x32xf32>, %m: index, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["m", "k"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared : !tile.buffer<16x32xf32, none>
  tile.cp_async %x[%c0, %c0] extents [16, 32] to %a : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
  tile.cp_async %x[%c0, %c32] extents [16, 32] to %a : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
  tile.barrier
  %t = tile.buffer_read %a : !tile.buffer<16x32xf32, none> -> tensor<16x32xf32>
  tile.store %t, %o[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}

// The end of the loop is no barrier: a thread may still read the first buffer when another one copies into it again.
// CHECK-LABEL: gpu.func @tsr_kernel_open_loop
// CHECK: scf.for
// CHECK: llvm.store
// CHECK: gpu.barrier
// CHECK: llvm.store
// CHECK: gpu.barrier
tile.kernel @open_loop(%x: !tile.view<?x?xf32>, %o: !tile.view<16x32xf32>, %m: index, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["m", "k"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.alloc_shared : !tile.buffer<16x32xf32, none>
  %b = tile.alloc_shared : !tile.buffer<16x32xf32, none>
  scf.for %i = %c0 to %k step %c32 {
    tile.cp_async %x[%c0, %i] extents [16, 32] to %a : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
    tile.cp_async %x[%c0, %i] extents [16, 32] to %b : !tile.view<?x?xf32>, !tile.buffer<16x32xf32, none>
    tile.barrier
    %s = tile.buffer_read %a : !tile.buffer<16x32xf32, none> -> tensor<16x32xf32>
    tile.store %s, %o[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  }
  tile.return
}
