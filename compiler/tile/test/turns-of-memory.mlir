// RUN: tsr-opt %s -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=262144 boxes registers=65536})'

// A product without a matrix instruction has its sums in memory.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0], [64,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: its loop has a product without sums in registers}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @turns_of_memory(%x: !tile.view<128x?xbf16>, %y: !tile.view<?x128xbf16>, %k: index) grid []
    attributes {threads = 256 : i64, schedule.block = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], pingpong>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["128", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "128"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %r = tile.convert %zero : tensor<128x128xf32> -> tensor<128x128xf32, #c>
  %s:2 = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r, %sum = %zero) -> (tensor<128x128xf32, #c>, tensor<128x128xf32>) {
    %a = tile.load %x[%c0, %i] extents [128, 16] {tile.materialize} : !tile.view<128x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 128] {tile.materialize} : !tile.view<?x128xbf16> -> tensor<16x128xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x128x16, "wgmma.m64n8k16", warps = [8, 1]>}
        : tensor<128x16xbf16>, tensor<16x128xbf16>, tensor<128x128xf32, #c>
    %v = tile.convert %q : tensor<128x128xf32, #c> -> tensor<128x128xf32>
    %u = tile.mma %v, %v, %sum : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
    scf.yield %q, %u : tensor<128x128xf32, #c>, tensor<128x128xf32>
  }
  tile.return
}
