// RUN: tsr-opt %s --tile-simplify-indices --cse --canonicalize | FileCheck %s

// Lanes of an H x W domain: `i // W` and `i % W` as the importer writes them, the comparisons in i64. W is neither
// negative nor 0 in a lane.
// CHECK-LABEL: tile.kernel @rows
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: %[[P:.*]] = arith.divui %[[I]], %W : index
// CHECK-NEXT: %[[Q:.*]] = arith.remui %[[I]], %W : index
// CHECK-NEXT: %[[E:.*]] = tile.load_elem %x[%[[P]], %[[Q]]]
// CHECK-NEXT: tile.store_elem %[[E]], %y[%[[P]], %[[Q]]]
tile.kernel @rows(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %H: index, %W: index) grid ["ceildiv(H * W, 4096)"] attributes {lanes_per_program = 4096 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["H", "W"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["H", "W"]>,
    #tile.param<name = "H", kind = dim>, #tile.param<name = "W", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %z = arith.constant 0 : i64
  %m = arith.constant -1 : i64
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %lanes = arith.muli %H, %W : index
  %end = arith.minsi %last, %lanes : index
  scf.for %i = %first to %end step %c1 {
    %w = arith.index_cast %W : index to i64
    %isZero = arith.cmpi eq, %w, %z : i64
    %isMinus = arith.cmpi eq, %w, %m : i64
    %d0 = arith.select %isZero, %c1, %W : index
    %d = arith.select %isMinus, %c1, %d0 : index
    %negative = arith.subi %c0, %i : index
    %q0 = arith.floordivsi %i, %d : index
    %q1 = arith.select %isMinus, %negative, %q0 : index
    %q = arith.select %isZero, %c0, %q1 : index
    %wide = arith.index_cast %i : index to i64
    %one = arith.constant 1 : i64
    %e0 = arith.select %isZero, %one, %w : i64
    %e = arith.select %isMinus, %one, %e0 : i64
    %r64 = arith.remsi %wide, %e : i64
    %some = arith.cmpi ne, %r64, %z : i64
    %signs = arith.xori %r64, %e : i64
    %differ = arith.cmpi slt, %signs, %z : i64
    %moves = arith.andi %some, %differ : i1
    %r0 = arith.remsi %i, %d : index
    %r1 = arith.addi %r0, %d : index
    %r2 = arith.select %moves, %r1, %r0 : index
    %r = arith.select %isZero, %c0, %r2 : index
    %v = tile.load_elem %x[%q, %r] : !tile.view<?x?xf32> -> f32
    tile.store_elem %v, %y[%q, %r] : f32, !tile.view<?x?xf32>
  } {tile.lanes}
  tile.return
}

// A product of extents is positive where all of them are factors of the number of lanes. Another dim may be 0.
// CHECK-LABEL: tile.kernel @products
// CHECK: arith.constant true
// CHECK: scf.for
// CHECK: %[[D:.*]] = arith.divui
// CHECK: %[[N:.*]] = arith.cmpi eq, %N, %c0
// CHECK: arith.select %[[N]]
tile.kernel @products(%x: !tile.view<?x?xi64>, %b: !tile.view<?xi1>, %H: index, %W: index, %N: index) grid ["ceildiv(H * W, 4096)"] attributes {lanes_per_program = 4096 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = i64, access = write, dims = ["H", "W"]>,
    #tile.param<name = "b", kind = tensor, dtype = bool, access = write, dims = ["N"]>,
    #tile.param<name = "H", kind = dim>, #tile.param<name = "W", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %lanes = arith.muli %H, %W : index
  %end = arith.minsi %last, %lanes : index
  scf.for %i = %first to %end step %c1 {
    %area = arith.muli %W, %H : index
    %some = arith.cmpi ne, %area, %c0 : index
    tile.store_elem %some, %b[%i] : i1, !tile.view<?xi1>
    %q = arith.floordivsi %i, %area : index
    %n = arith.cmpi eq, %N, %c0 : index
    %s = arith.select %n, %c7, %q : index
    %wide = arith.index_cast %s : index to i64
    tile.store_elem %wide, %x[%q, %i] : i64, !tile.view<?x?xi64>
  } {tile.lanes}
  tile.return
}

// Nothing is known of a scalar parameter, or of a dim before the loop over lanes.
// CHECK-LABEL: tile.kernel @unknown
// CHECK: arith.cmpi eq, %n, %{{.*}} : index
// CHECK: arith.floordivsi %s, %{{.*}} : i64
// CHECK: arith.remsi %s, %{{.*}} : i64
tile.kernel @unknown(%y: !tile.view<?xi64>, %s: i64, %n: index) grid ["1"] attributes {params = [
    #tile.param<name = "y", kind = tensor, dtype = i64, access = write, dims = ["n"]>,
    #tile.param<name = "s", kind = scalar, dtype = i64>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %z = arith.constant 0 : i64
  %wide = arith.index_cast %n : index to i64
  %isZero = arith.cmpi eq, %wide, %z : i64
  %d = arith.select %isZero, %one, %wide : i64
  %q = arith.floordivsi %s, %d : i64
  %r = arith.remsi %s, %d : i64
  tile.store_elem %q, %y[%c0] : i64, !tile.view<?xi64>
  tile.store_elem %r, %y[%c1] : i64, !tile.view<?xi64>
  tile.return
}

// Loops and dims keep indices inside: i and j + 1 of a triangle, and row and column of a lane. Nothing keeps i + 1 or the
// element before a lane's own inside. Whether a loop goes up is not known of a step that is no constant.
// CHECK-LABEL: tile.kernel @inside
// CHECK: scf.for %[[I:.*]] = %{{.*}} to
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[I]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK: tile.load_elem %x[%[[I]], %[[NEXT]]] {in_bounds}
// CHECK: %[[BELOW:.*]] = arith.addi %[[I]], %c1
// CHECK: tile.load_elem %x[%[[BELOW]], %[[J]]] :
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: tile.load_elem %x[%c0, %[[K]]] :
// CHECK: %[[ROW:.*]] = arith.divui
// CHECK: %[[COLUMN:.*]] = arith.remui
// CHECK: tile.load_elem %x[%[[ROW]], %[[COLUMN]]] {in_bounds}
// CHECK: %[[LEFT:.*]] = arith.subi %[[COLUMN]], %c1
// CHECK: tile.store_elem %{{.*}}, %x[%[[ROW]], %[[LEFT]]] :
tile.kernel @inside(%x: !tile.view<?x?xf32>, %s: i64, %n: index) grid ["ceildiv(n * n, 4096)"] attributes {lanes_per_program = 4096 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["n", "n"]>,
    #tile.param<name = "s", kind = scalar, dtype = i64>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      %next = arith.addi %j, %c1 : index
      %a = tile.load_elem %x[%i, %next] : !tile.view<?x?xf32> -> f32
      %below = arith.addi %i, %c1 : index
      %b = tile.load_elem %x[%below, %j] : !tile.view<?x?xf32> -> f32
      %sum = arith.addf %a, %b : f32
      tile.store_elem %sum, %x[%c0, %c0] : f32, !tile.view<?x?xf32>
    }
  }
  %step = arith.index_cast %s : i64 to index
  scf.for %k = %c0 to %n step %step {
    %v = tile.load_elem %x[%c0, %k] : !tile.view<?x?xf32> -> f32
    tile.store_elem %v, %x[%c0, %c0] : f32, !tile.view<?x?xf32>
  }
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %lanes = arith.muli %n, %n : index
  %end = arith.minsi %last, %lanes : index
  scf.for %i = %first to %end step %c1 {
    %r = arith.divui %i, %n : index
    %c = arith.remui %i, %n : index
    %v = tile.load_elem %x[%r, %c] : !tile.view<?x?xf32> -> f32
    %left = arith.subi %c, %c1 : index
    tile.store_elem %v, %x[%r, %left] : f32, !tile.view<?x?xf32>
  } {tile.lanes}
  tile.return
}
