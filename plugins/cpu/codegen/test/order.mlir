// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-plan-memory),cpu-lower-tile)'

tile.kernel @columns(%x: !tile.view<8x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [8, 64] : !tile.view<8x64xf32> -> tensor<8x64xf32>
  // expected-error @+1 {{has an order that is not implemented on cpu (TSR_UNIMPLEMENTED): lanes along another axis than the last}}
  %s = tile.reduce sum %t axis 0 order <lanes = 4, chains = [1]> : tensor<8x64xf32> -> tensor<64xf32>
  tile.return
}

// -----

tile.kernel @threads(%x: !tile.view<64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  // expected-error @+1 {{has an order that is not implemented on cpu (TSR_UNIMPLEMENTED): lanes without chains}}
  %s = tile.reduce sum %t axis 0 order <lanes = 32> : tensor<64xf32> -> f32
  tile.return
}
