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

// Warps of a kernel with a product of a dtype that has an instruction: one for 1024 sums of the smallest, at least four; or what
// the program asks for.
// RUN: tsr-opt %s -pass-pipeline='builtin.module(schedule.kernel(schedule-decide{warps=8 most-warps=32 factors=bf16}))' | FileCheck %s --check-prefix=WARPS
// WARPS-LABEL: schedule.kernel @small
// WARPS-SAME: warps = 4 : i64
// CHECK-LABEL: schedule.kernel @small
// CHECK-NOT: warps = 4
schedule.kernel @small(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %a = arith.constant dense<1.0> : tensor<64x64xbf16>
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = tile.mma %a, %a, %z : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  }
}

// Of f32 no instruction multiplies: the target's default.
// WARPS-LABEL: schedule.kernel @wide
// WARPS-NOT: warps
schedule.kernel @wide(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    %p = tile.mma %z, %z, %z : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// WARPS-LABEL: schedule.kernel @asked
// WARPS-NOT: tunable num_warps
// WARPS-SAME: warps = 16 : i64
schedule.kernel @asked(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>], tunables = {num_warps = 16 : i64},
    fallbacks = ["tunable num_warps=16 has no effect: 'asked' does not read it"]} {
  schedule.grid () = () to () step () names [] {
  }
}

// WARPS-LABEL: schedule.kernel @refused
// WARPS-SAME: fallbacks = ["num_warps=6 has no effect: a program has a power of two of warps, at most 32"]
// WARPS-NOT: {{[ {]}}warps =
schedule.kernel @refused(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>], tunables = {num_warps = 6 : i64}} {
  schedule.grid () = () to () step () names [] {
    %a = arith.constant dense<1.0> : tensor<32x8xf32>
  }
}

// Without such a product every lane has an element of the largest tile or buffer, here of 40; scalars are one warp's.
// WARPS-LABEL: schedule.kernel @tiny
// WARPS-SAME: warps = 2 : i64
schedule.kernel @tiny(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %a = arith.constant dense<1.0> : tensor<16xf32>
    %b = tile.alloc_shared : !tile.buffer<5x8xf32, none>
  }
}

// A product with fewer sums than instructions of four warps have.
// WARPS-LABEL: schedule.kernel @tiny_product
// WARPS-SAME: warps = 1 : i64
schedule.kernel @tiny_product(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %a = arith.constant dense<1.0> : tensor<4x4xbf16>
    %z = arith.constant dense<0.0> : tensor<4x4xf32>
    %p = tile.mma %a, %a, %z : tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xf32>
  }
}

// WARPS-LABEL: schedule.kernel @scalars
// WARPS-SAME: warps = 1 : i64
schedule.kernel @scalars(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %a = arith.constant 1.0 : f32
  }
}

// Lanes are as many as the target likes.
// WARPS-LABEL: schedule.kernel @many_lanes
// WARPS-NOT: {{[ {]}}warps =
schedule.kernel @many_lanes(%M: index) attributes {params = [#tile.param<name = "M", kind = dim>]} {
  schedule.lanes %i to "M" {
  }
}
