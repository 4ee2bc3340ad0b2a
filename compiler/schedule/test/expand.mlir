// RUN: tsr-opt %s -schedule-expand -split-input-file | FileCheck %s

// The order permutes the axes of the launch; each variable is from + id * step; what stands before the grid stays.
// CHECK-LABEL: tile.kernel @grid(%x: !tile.view<?x?xf32>, %n: i32, %u: i8, %M: index)
// CHECK-SAME: grid ["ceildiv(M * 2, 64)", "M", "ceildiv(M - n, u % 7)"]
// CHECK-SAME: decisions = {stages = 3 : i64}
// CHECK: %[[BEFORE:.*]] = arith.constant 5 : index
// CHECK: %[[P0:.*]] = tile.program_id 0
// CHECK: %[[J:.*]] = arith.addi
// CHECK: %[[P1:.*]] = tile.program_id 1
// CHECK: %[[K:.*]] = arith.addi
// CHECK: %[[P2:.*]] = tile.program_id 2
// CHECK: arith.index_castui %u : i8 to index
// CHECK: arith.remsi
// CHECK: %[[N:.*]] = arith.index_cast %n : i32 to index
// CHECK: %[[I:.*]] = arith.addi %[[N]]
// CHECK: scf.for %{{.*}} = %[[I]] to %[[J]] step %[[K]]
// CHECK: tile.prefetch %x[%[[BEFORE]], %[[BEFORE]]]
// CHECK: tile.return
schedule.kernel @grid(%x: !tile.view<?x?xf32>, %n: i32, %u: i8, %M: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "M"], access = read>,
    #tile.param<name = "n", kind = scalar, dtype = i32>, #tile.param<name = "u", kind = scalar, dtype = u8>,
    #tile.param<name = "M", kind = dim>]} {
  %before = arith.constant 5 : index
  schedule.grid (%i, %j, %k) = ("n", "0", "0") to ("M", "M * 2", "M") step ("mod(u, 7)", "64", "1") names ["i", "j", "k"]
      attributes {order = array<i64: 1, 2, 0>, placement = "any"} {
    scf.for %l = %i to %j step %k {
      tile.prefetch %x[%before, %before] extents [8, 8] : !tile.view<?x?xf32>
    } {schedule.stages = 3 : i64}
  }
}

// -----

// The kernel has the order of its programs, and reports it.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-SAME: decisions = {group_rows = 4 : i64}
// CHECK-SAME: group_rows = 4 : i64
schedule.kernel @rows(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid (%i, %j) = ("0", "0") to ("M", "M") step ("1", "1") names ["i", "j"]
      attributes {group_rows = 4 : i64, order = array<i64: 0, 1>, placement = "any"} {
  }
}

// -----

// One program.
// CHECK-LABEL: tile.kernel @one() grid []
// CHECK-NEXT: tile.return
schedule.kernel @one() attributes {params = []} {
  schedule.grid () = () to () step () names [] attributes {order = array<i64>, placement = "any"} {
  }
}

// -----

// CHECK-LABEL: tile.kernel @lanes
// CHECK-SAME: grid ["ceildiv(n + 1, 256)"] attributes {lanes_per_program = 256 : i64
// CHECK: %[[L:.*]] = arith.constant 256 : index
// CHECK: %[[P:.*]] = tile.program_id 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[P]], %[[L]]
// CHECK: %[[SUM:.*]] = arith.addi %[[FIRST]], %[[L]]
// CHECK: %[[COUNT:.*]] = arith.addi %n
// CHECK: %[[LAST:.*]] = arith.minsi %[[SUM]], %[[COUNT]]
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: tile.load_elem %x[%[[I]]]
// CHECK: } {tile.lanes}
schedule.kernel @lanes(%x: !tile.view<?xf32>, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>, #tile.param<name = "n", kind = dim>]} {
  schedule.lanes %i to "n + 1" {
    %e = tile.load_elem %x[%i] : !tile.view<?xf32> -> f32
  } {lanes_per_program = 256}
}
