// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu-lower-tile{target=ptx:sm_90a})'

tile.kernel @registers(%x: !tile.view<64xf32>) grid [] attributes {threads = 256 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  // expected-error @+1 {{needs 67584 registers, 176 for each of 384 threads; a unit of ptx:sm_90a has 65536}}
  tile.roles copy 4 warps 40 registers {
  } math 240 registers {
  }
  tile.return
}

// -----

// The warps that copy come on top of those that compute.
// expected-error @+1 {{has a block of 1152 threads; ptx:sm_90a has at most 1024}}
tile.kernel @threads(%x: !tile.view<64xf32>) grid [] attributes {threads = 1024 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  tile.roles copy 4 warps 24 registers {
  } math 56 registers {
  }
  tile.return
}
