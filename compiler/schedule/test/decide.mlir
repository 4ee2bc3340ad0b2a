// RUN: tsr-opt %s -schedule-decide | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(schedule.kernel(schedule-decide{lanes-per-program=128}))' | FileCheck %s --check-prefix=FEW
// RUN: tsr-opt %s -schedule-decide -o %t.mlir && tsr-opt %t.mlir -schedule-decide | diff %t.mlir -

// Open decisions are filled; one that is there is kept.
// CHECK: schedule.grid (%i, %j)
// CHECK-SAME: attributes {order = array<i64: 1, 0>, placement = "any"}
// CHECK: } {schedule.stages = 3 : i64}
// CHECK: } {schedule.stages = 1 : i64}
schedule.kernel @grid(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid (%i, %j) = ("0", "0") to ("M", "M") step ("64", "64") names ["i", "j"]
      attributes {order = array<i64: 1, 0>} {
    %one = arith.constant 1 : index
    scf.for %k = %i to %M step %one {
    } {schedule.stages = 3 : i64}
    scf.for %k = %i to %M step %one {
    }
  }
}

// CHECK: schedule.grid (%i) =
// CHECK-SAME: attributes {order = array<i64: 0>, placement = "any"}
schedule.kernel @placed(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("M") step ("64") names ["i"] attributes {placement = "any"} {
  }
}

// CHECK: lanes_per_program = 4096 : i64, placement = "any"
// FEW: lanes_per_program = 128 : i64
schedule.kernel @lanes(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  schedule.lanes %i to "n" {
  }
}

// CHECK: lanes_per_program = 512 : i64, placement = "any"
// FEW: lanes_per_program = 512 : i64
schedule.kernel @lanes_given(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  schedule.lanes %i to "n" {
  } {lanes_per_program = 512}
}
