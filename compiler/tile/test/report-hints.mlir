// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-report-hints))' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-report-hints{backend=ptx prefetches=false}))' | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: tile.kernel @asks
// CHECK-SAME: fallbacks = ["first", "cpu: schedule.block has no effect: warps have no roles", "cpu: schedule.copy has no effect: loops are not pipelined", "cpu: stages=3 has no effect: loops are not pipelined", "cpu: swizzle=\22xor\22 has no effect: shared rows are stored in order"]
// GPU-LABEL: tile.kernel @asks
// GPU-SAME: fallbacks = ["first", "ptx: prefetch has no effect: nothing is fetched ahead", "ptx: schedule.block has no effect: warps have no roles", "ptx: schedule.copy has no effect: loops are not pipelined", "ptx: stages=3 has no effect: loops are not pipelined", "ptx: swizzle=\22xor\22 has no effect: shared rows are stored in order"]
tile.kernel @asks(%x: !tile.view<8xf32>) grid [] attributes {decisions = {stages = 3 : i64}, fallbacks = ["first"],
    schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 240 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8"], access = read>]} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared : !tile.buffer<8xf32, xor>
  %b = tile.alloc_shared : !tile.buffer<8xf32, xor>
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c8 {
  } {schedule.copy = "tma"}
  tile.prefetch %x[%c0] extents [8] : !tile.view<8xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @plain
// CHECK-NOT: fallbacks
tile.kernel @plain(%x: !tile.view<8xf32>) grid [] attributes {decisions = {stages = 1 : i64}, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8"], access = read>]} {
  %a = tile.alloc_shared : !tile.buffer<8xf32, none>
  tile.return
}
