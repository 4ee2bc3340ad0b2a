// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{threads=256},tile-fuse,tile-legalize-numerics{backend=ptx},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=ptx:sm_90},canonicalize,cse)' | FileCheck %s

// A fused elementwise kernel: one masked element per thread, no shared memory, no barrier.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: llvm.mlir.global
// CHECK: gpu.func @tsr_kernel_negate(%[[X:.*]]: !llvm.ptr<1>, %[[O:.*]]: !llvm.ptr<1>, %[[N:.*]]: i64) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: block: [256, 1, 1]
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: scf.if
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: arith.negf {{.*}} : f32
// CHECK: scf.if
// CHECK: llvm.store
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
tile.kernel @negate(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 256)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c256 = arith.constant 256 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c256 : index
  %t = tile.load %x[%i] extents [256] : !tile.view<?xf32> -> tensor<256xf32>
  %m = arith.negf %t : tensor<256xf32>
  tile.store %m, %o[%i] extents [256] : tensor<256xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// A row's sum: where the tensor is aligned, every thread reads four elements by one access. Eight warps meet in shared
// memory, once; the lanes of a warp exchange their sums by shuffles. One more barrier keeps the exchange area.
// CHECK-LABEL: gpu.module
// CHECK: llvm.mlir.global internal @shared_tsr_kernel_sum() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<4096 x i8>
// CHECK: gpu.func @tsr_kernel_sum(
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: else
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-COUNT-4: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-32: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-COUNT-8: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
tile.kernel @sum(%x: !tile.view<1024xf32>, %o: !tile.view<1xf32>) grid ["1"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["1024"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["1"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [1024] {in_bounds} : !tile.view<1024xf32> -> tensor<1024xf32>
  %s = tile.reduce sum %t axis 0 : tensor<1024xf32> -> f32
  tile.store_elem %s, %o[%c0] {in_bounds} : f32, !tile.view<1xf32>
  tile.return
}

// -----

// 256 KB of tiles do not fit: they move to the global workspace, whose pointer is the last parameter.
// CHECK-LABEL: gpu.module
// CHECK-NOT: llvm.mlir.global
// CHECK: gpu.func @tsr_kernel_big(%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[W:.*]]: !llvm.ptr<1>) kernel
// CHECK-SAME: workspace_per_program: 262144
tile.kernel @big(%x: !tile.view<256x256xf32>, %o: !tile.view<256x256xf32>) grid ["1"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["256", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["256", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [256, 256] {in_bounds} : !tile.view<256x256xf32> -> tensor<256x256xf32>
  %s = tile.transpose %t : tensor<256x256xf32> -> tensor<256x256xf32>
  tile.store %s, %o[%c0, %c0] extents [256, 256] {in_bounds} : tensor<256x256xf32>, !tile.view<256x256xf32>
  tile.return
}
