// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=ptx:sm_90a},canonicalize,cse)' | FileCheck %s

// A block of a persistent grid has one part of the workspace for all of its programs, whose numbers are others than its own.
// CHECK: gpu.func @tsr_kernel_turn(%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[W:.*]]: !llvm.ptr<1>) kernel
// CHECK-SAME: workspace_per_program: 262272
// CHECK-SAME: persistent: true
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[FROM:.*]] = arith.muli %[[BLOCK]], %c262272
// CHECK: %[[BYTES:.*]] = {{arith.index_cast.*}} %[[FROM]]
// CHECK: llvm.getelementptr %[[W]][%[[BYTES]]]
// CHECK-NOT: %[[W]]
tile.kernel @turn(%x: !tile.view<3x512x256xf32>, %o: !tile.view<3x256x512xf32>) grid ["3", "2"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["3", "512", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["3", "256", "512"], access = write>]} {
  %word = tile.alloc_shared {align = 8 : i64} : !tile.buffer<1xi64, none>
  tile.init_arrivals %word counts [1] : !tile.buffer<1xi64, none>
  tile.roles copy 4 warps 24 registers {
    %c0 = arith.constant 0 : index
  } math 168 registers {
    %first, %count, %blocks = tile.block_programs
    scf.for %p = %first to %count step %blocks {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %i = tile.program_id 0 of %p : index
      %q = tile.program_id 1 of %p : index
      %r = arith.muli %q, %c256 : index
      %t = tile.load %x[%i, %r, %c0] extents [-1, 256, 256] {in_bounds} : !tile.view<3x512x256xf32> -> tensor<256x256xf32>
      %s = tile.transpose %t : tensor<256x256xf32> -> tensor<256x256xf32>
      tile.store %s, %o[%i, %c0, %r] extents [-1, 256, 256] {in_bounds} : tensor<256x256xf32>, !tile.view<3x256x512xf32>
    }
  }
  tile.return
}
