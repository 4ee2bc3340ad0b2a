// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu-lower-tile{target=levelzero:pvc})'

tile.kernel @divergent(%o: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 1024)"] attributes {lanes_per_program = 1024, params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = tile.load_elem %o[%i] : !tile.view<?xf32> -> f32
    %odd = arith.index_cast %i : index to i1
    scf.if %odd {
      // expected-error @+1 {{under a condition that may differ between lanes is not implemented on levelzero (TSR_UNIMPLEMENTED)}}
      %s = tile.group_reduce sum %x : f32
      tile.store_elem %s, %o[%i] : f32, !tile.view<?xf32>
    }
  } {tile.lanes}
  tile.return
}

// -----

tile.kernel @narrow(%o: !tile.view<?xbf16>, %n: index) grid ["1"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = bf16, dims = ["n"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : bf16
  // expected-error @+1 {{is not implemented for 'bf16' on levelzero (TSR_UNIMPLEMENTED)}}
  %s = tile.atomic add relaxed device %x, %o[%c0] : bf16, !tile.view<?xbf16> -> bf16
  tile.return
}

// -----

tile.kernel @chains(%x: !tile.view<64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  // expected-error @+1 {{has an order that is not implemented on levelzero (TSR_UNIMPLEMENTED): chains}}
  %s = tile.reduce sum %t axis 0 order <lanes = 8, chains = [4, 1]> : tensor<64xf32> -> f32
  tile.return
}

// -----

tile.kernel @wide(%x: !tile.view<64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  // expected-error @+1 {{has an order that is not implemented on levelzero (TSR_UNIMPLEMENTED): more lanes than threads or elements}}
  %s = tile.reduce sum %t axis 0 order <lanes = 128> : tensor<64xf32> -> f32
  tile.return
}

// -----

// expected-error @+1 {{has a block of 2048 threads; levelzero:pvc has at most 1024}}
tile.kernel @large(%x: !tile.view<64xf32>) grid [] attributes {threads = 2048 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>]} {
  tile.return
}

// -----

tile.kernel @raw(%a: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["8", "8"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %t = tile.load %a[%c0, %c0] extents [8, 8] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  // expected-error @+1 {{has no fragment: run tile-vectorize first}}
  %p = tile.mma %t, %t, %zero : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %p, %a[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}
