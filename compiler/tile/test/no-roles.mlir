// RUN: tsr-opt %s -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=ptx target=ptx:sm_100a stages=3 threads=128 shared-bytes=65536 boxes})'

// A refusal names the architecture: another one of the backend has roles.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: ptx:sm_100a has no roles of warps}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @roles(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}
