// RUN: tsr-opt %s -verify-diagnostics -pass-pipeline='builtin.module(gpu-lower-tile{target=levelzero:acm-g10})'

tile.kernel @double(%x: !tile.view<8xf64>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f64, dims = ["8"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{f64 is not implemented on levelzero:acm-g10, which has no instructions for it (TSR_UNIMPLEMENTED)}}
  %t = tile.load %x[%c0] extents [8] : !tile.view<8xf64> -> tensor<8xf64>
  tile.store %t, %x[%c0] extents [8] : tensor<8xf64>, !tile.view<8xf64>
  tile.return
}
