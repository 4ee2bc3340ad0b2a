// RUN: tsr-opt %s -pass-pipeline='builtin.module(schedule.kernel(schedule-decide{units=132}))' | FileCheck %s --check-prefix=ROWS
// RUN: tsr-opt %s -pass-pipeline='builtin.module(schedule.kernel(schedule-decide{units=304 chiplets=8}))' | FileCheck %s --check-prefix=CHIPLETS
// RUN: tsr-opt %s -schedule-decide | FileCheck %s

// Programs of a product whose rows and columns each read a factor run in groups of rows, so that the sums of 132 units form a
// square: 16 rows are next to the root of 132 * 128 / 64. Attention's queries alone follow from both axes, and no column reads
// keys of its own.
// On a device of 8 chiplets the 38 units of one share a cache. Attention has their numbers, too.
// CHECK-LABEL: schedule.kernel @product
// CHECK-NOT: group_rows
// ROWS-LABEL: schedule.kernel @product
// ROWS: attributes {group_rows = 16 : i64, order = array<i64: 0, 1>
// CHIPLETS-LABEL: schedule.kernel @product
// CHIPLETS: attributes {chiplets = 8 : i64, group_rows = 8 : i64, order = array<i64: 0, 1>
schedule.kernel @product(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %M: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["M", "M"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["M", "M"], access = read>, #tile.param<name = "M", kind = dim>]} {
  schedule.grid (%i, %j) = ("0", "0") to ("M", "M") step ("64", "128") names ["i", "j"] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %s = scf.for %k = %c0 to %M step %c32 iter_args(%acc = %z) -> (tensor<64x128xf32>) {
      %a = tile.load %x[%i, %k] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
      %b = tile.load %y[%k, %j] extents [32, 128] : !tile.view<?x?xbf16> -> tensor<32x128xbf16>
      %p = tile.mma %a, %b, %acc : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    }
  }
}

// ROWS-LABEL: schedule.kernel @attention
// ROWS-NOT: group_rows
// CHIPLETS-LABEL: schedule.kernel @attention
// CHIPLETS: attributes {chiplets = 8 : i64, order = array<i64: 0, 1>
schedule.kernel @attention(%q: !tile.view<?x?x32xbf16>, %key: !tile.view<?x?x32xbf16>, %M: index) attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = bf16, dims = ["M", "M", "32"], access = read>,
    #tile.param<name = "key", kind = tensor, dtype = bf16, dims = ["M", "M", "32"], access = read>, #tile.param<name = "M", kind = dim>]} {
  schedule.grid (%h, %i) = ("0", "0") to ("M", "M") step ("1", "64") names ["h", "i"] {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %z = arith.constant dense<0.0> : tensor<64x32xf32>
    %s = scf.for %k = %c0 to %M step %c32 iter_args(%acc = %z) -> (tensor<64x32xf32>) {
      %a = tile.load %q[%h, %i, %c0] extents [-1, 64, 32] : !tile.view<?x?x32xbf16> -> tensor<64x32xbf16>
      %b = tile.load %key[%h, %k, %c0] extents [-1, 32, 32] : !tile.view<?x?x32xbf16> -> tensor<32x32xbf16>
      %p = tile.mma %a, %b, %acc : tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32>
      scf.yield %p : tensor<64x32xf32>
    }
  }
}
