// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-fix-reductions))' | FileCheck %s --check-prefixes=ALL,SUMS
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-canonicalize-nans))' | FileCheck %s --check-prefixes=ALL,NANS

// Sums of floats get the order of their axis; others have none to get. A sum may not become -0 where it is used, but
// where it is carried on it stays as it is.
// ALL-LABEL: tile.kernel @strict
// SUMS: reduce sum %{{.*}} axis 1 order <lanes = 64, block = 1024> : tensor<16x32xf32>
// SUMS: reduce prod %{{.*}} axis 0 order <lanes = 1, block = 256> : tensor<16x32xf32>
// SUMS: reduce max %{{.*}} axis 1 : tensor<16x32xf32>
// SUMS: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// SUMS-NEXT: %[[NEXT:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ACC]]
// SUMS-NEXT: scf.yield %[[NEXT]]
// SUMS: %[[SUM:.*]] = arith.addf %[[LOOP]], %{{.*}}
// SUMS-NEXT: tile.store %[[SUM]]
// The stored values have one form of NaN: a product that loops carry, and a computed tile, but not a loaded one.
// NANS: %[[LOOP:.*]] = scf.for
// NANS-NEXT: %[[NEXT:.*]] = tile.mma
// NANS-NEXT: scf.yield %[[NEXT]]
// NANS: %[[BITS:.*]] = arith.bitcast %[[LOOP]] : tensor<16x16xf32> to tensor<16x16xi32>
// NANS: %[[MAGNITUDE:.*]] = arith.andi %[[BITS]], %{{.*}}
// NANS: %[[ISNAN:.*]] = arith.cmpi ugt, %[[MAGNITUDE]], %{{.*}}
// NANS: arith.select %[[ISNAN]], %{{.*}}, %[[BITS]]
// NANS: tile.store %{{.*}}, %y
// NANS: %[[NEG:.*]] = arith.negf %{{.*}} : tensor<16x32xf32>
// NANS-NEXT: %[[ABS:.*]] = math.absf %[[NEG]]
// NANS-NEXT: %{{.*}} = arith.bitcast %[[ABS]]
// NANS: tile.store %{{.*}}, %x
// NANS-NOT: arith.bitcast
// NANS: tile.store %{{.*}}, %x
tile.kernel @strict(%x: !tile.view<16x32xf32>, %y: !tile.view<16x16xf32>) grid [] attributes {numerics = "strict", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16", "32"], access = readwrite>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["16", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %t = tile.load %x[%c0, %c0] extents [16, 32] : !tile.view<16x32xf32> -> tensor<16x32xf32>
  %s = tile.reduce sum %t axis 1 : tensor<16x32xf32> -> tensor<16xf32>
  %p = tile.reduce prod %t axis 0 : tensor<16x32xf32> -> tensor<32xf32>
  %m = tile.reduce max %t axis 1 : tensor<16x32xf32> -> tensor<16xf32>
  %b = tile.transpose %t : tensor<16x32xf32> -> tensor<32x16xf32>
  %c = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) {
    %next = tile.mma %t, %b, %acc : tensor<16x32xf32>, tensor<32x16xf32>, tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %c, %y[%c0, %c0] extents [16, 16] : tensor<16x16xf32>, !tile.view<16x16xf32>
  %n = arith.negf %t : tensor<16x32xf32>
  %a = math.absf %n : tensor<16x32xf32>
  tile.store %a, %x[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.store %t, %x[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}

// -----

// Other profiles promise neither.
// ALL-LABEL: tile.kernel @standard
// ALL-NOT: order
// ALL-NOT: arith.bitcast
// ALL: tile.return
tile.kernel @standard(%x: !tile.view<16x32xf32>) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16", "32"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [16, 32] : !tile.view<16x32xf32> -> tensor<16x32xf32>
  %s = tile.reduce sum %t axis 1 : tensor<16x32xf32> -> tensor<16xf32>
  %n = arith.negf %t : tensor<16x32xf32>
  tile.store %n, %x[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}
