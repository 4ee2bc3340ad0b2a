// RUN: tsr-opt %s --tile-hoist-invariants --cse | FileCheck %s

// The quotient and the remainder of `i // W` and `i % W`, guarded as the importer guards them, leave both loops.
// CHECK-LABEL: tile.kernel @nest
// CHECK: %[[P:.*]] = arith.floordivsi
// CHECK: %[[Q:.*]] = arith.remsi
// CHECK-NEXT: %[[X:.*]] = arith.addi %[[P]], %[[Q]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NOT: arith.floordivsi
// CHECK-NOT: arith.remsi
// CHECK: tile.load_elem %{{.*}}[%[[X]], %{{.*}}]
tile.kernel @nest(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %w: index, %i: index) grid ["1"] attributes {params = [
    #tile.param<access = readwrite, dims = ["w", "w"], dtype = f32, kind = tensor, name = "x">,
    #tile.param<access = readwrite, dims = ["i"], dtype = f32, kind = tensor, name = "y">,
    #tile.param<kind = dim, name = "w">,
    #tile.param<kind = dim, name = "i">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn1 = arith.constant -1 : i64
  %z = arith.constant 0 : i64
  scf.for %r = %c0 to %w step %c1 {
    scf.for %s = %c0 to %w step %c1 {
      %wide = arith.index_cast %w : index to i64
      %isZero = arith.cmpi eq, %wide, %z : i64
      %isMinus = arith.cmpi eq, %wide, %cn1 : i64
      %d0 = arith.select %isZero, %c1, %w : index
      %d = arith.select %isMinus, %c1, %d0 : index
      %p = arith.floordivsi %i, %d : index
      %q = arith.remsi %i, %d : index
      %at = arith.addi %p, %q : index
      %e = tile.load_elem %x[%at, %s] : !tile.view<?x?xf32> -> f32
      tile.store_elem %e, %y[%r] : f32, !tile.view<?xf32>
    }
  }
  tile.return
}

// What may trap stays: no guard, a guard against one of the two divisors only, or of another value.
// CHECK-LABEL: tile.kernel @trapping
// CHECK: scf.for
// CHECK: arith.floordivsi
// CHECK: arith.divui
// CHECK: arith.remsi
// CHECK: arith.remsi
tile.kernel @trapping(%x: !tile.view<?xf32>, %w: index, %i: index) grid ["1"] attributes {params = [
    #tile.param<access = readwrite, dims = ["w"], dtype = f32, kind = tensor, name = "x">,
    #tile.param<kind = dim, name = "w">,
    #tile.param<kind = dim, name = "i">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  scf.for %r = %c0 to %w step %c1 {
    %a = arith.floordivsi %i, %w : index
    %b = arith.divui %i, %w : index
    %isZero = arith.cmpi eq, %w, %c0 : index
    %d = arith.select %isZero, %c1, %w : index
    %c = arith.remsi %i, %d : index
    %other = arith.cmpi eq, %i, %c0 : index
    %o = arith.select %other, %c1, %w : index
    %e = arith.remsi %i, %o : index
    %ab = arith.addi %a, %b : index
    %ce = arith.addi %c, %e : index
    %at = arith.addi %ab, %ce : index
    tile.store_elem %f, %x[%at] : f32, !tile.view<?xf32>
  }
  tile.return
}

// Constant divisors need no guard, and 0 is enough for unsigned division. Tiles and what changes stay.
// CHECK-LABEL: tile.kernel @constant
// CHECK: arith.floordivsi
// CHECK: arith.remui
// CHECK: scf.for %[[R:.*]] =
// CHECK: arith.divsi %[[R]]
// CHECK: arith.addf {{.*}} : tensor<8xf32>
tile.kernel @constant(%x: !tile.view<?xf32>, %w: index, %i: index) grid ["1"] attributes {params = [
    #tile.param<access = readwrite, dims = ["w"], dtype = f32, kind = tensor, name = "x">,
    #tile.param<kind = dim, name = "w">,
    #tile.param<kind = dim, name = "i">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %t = arith.constant dense<1.0> : tensor<8xf32>
  %u = tile.load %x[%c0] extents [8] : !tile.view<?xf32> -> tensor<8xf32>
  scf.for %r = %c0 to %w step %c1 {
    %a = arith.floordivsi %i, %c7 : index
    %isZero = arith.cmpi eq, %w, %c0 : index
    %d = arith.select %isZero, %c1, %w : index
    %b = arith.remui %i, %d : index
    %c = arith.divsi %r, %c7 : index
    %s = arith.addf %t, %u : tensor<8xf32>
    %ab = arith.addi %a, %b : index
    %at = arith.addi %ab, %c : index
    tile.store %s, %x[%at] extents [8] : tensor<8xf32>, !tile.view<?xf32>
  }
  tile.return
}
