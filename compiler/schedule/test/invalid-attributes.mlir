// RUN: tsr-opt %s -split-input-file -verify-diagnostics
// The discardable attributes of the schedule dialect: names, places, values.

func.func @misspelt() attributes {schedule.fussion = "none"} { // expected-error {{has an unknown attribute "schedule.fussion"}}
  return
}

// -----

func.func @stages(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{has "schedule.stages" = 0 : i64; it must be an integer of at least 1 on scf.for}}
  scf.for %i = %c0 to %n step %c1 {
  } {schedule.stages = 0 : i64}
  return
}

// -----

// expected-error @+1 {{has "schedule.stages" = 2 : i64; it must be an integer of at least 1 on scf.for}}
func.func @place() attributes {schedule.stages = 2 : i64} {
  return
}

// -----

func.func @iterator(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{it must be "reduction" on scf.for}}
  scf.for %i = %c0 to %n step %c1 {
  } {schedule.iterator = "parallel"}
  return
}

// -----

// expected-error @+1 {{it must be "auto" or "none" on a function or kernel}}
tile.kernel @k() grid [] attributes {params = [], schedule.fusion = "some"} {
  tile.return
}

// -----

func.func @fuse(%a: f32) -> f32 {
  // expected-error @+1 {{has "schedule.fuse" = 0 : i64; it must be true or false}}
  %b = arith.addf %a, %a {schedule.fuse = 0 : i64} : f32
  return %b : f32
}

// -----

// expected-error @+1 {{it must be a dictionary on graph.func}}
func.func @hints() attributes {schedule.hints = {n = 4 : i64}} {
  return
}

// -----

// expected-error @+1 {{it must be a dictionary on graph.func}}
func.func @variants() attributes {schedule.variants = {}} {
  return
}

// -----

func.func @choice(%a: f32) -> f32 {
  // expected-error @+1 {{it must be an integer}}
  %b = arith.addf %a, %a {schedule.choice = "0"} : f32
  return %b : f32
}

// -----

func.func @decision(%a: f32) -> f32 {
  // expected-error @+1 {{it must be a dictionary}}
  %b = arith.addf %a, %a {schedule.decision = "blas"} : f32
  return %b : f32
}

// -----

// expected-error @+1 {{it must be the symbol of a function on graph.func, beside schedule.when}}
graph.func @f() attributes {schedule.variant_of = @g} {
  graph.return
}

// -----

// expected-error @+1 {{it must be the symbol of a function on graph.func, beside schedule.when}}
graph.func @f() attributes {schedule.variant_of = "g", schedule.when = ["N == 1"]} {
  graph.return
}

// -----

// expected-error @+1 {{it must be conditions such as "N == 64" on graph.func, beside schedule.variant_of}}
graph.func @f() attributes {schedule.when = ["N == 1"]} {
  graph.return
}

// -----

// expected-error @+1 {{it must be conditions such as "N == 64" on graph.func, beside schedule.variant_of}}
graph.func @f() attributes {schedule.variant_of = @g, schedule.when = []} {
  graph.return
}

// -----

// expected-error @+1 {{expected 'persistent'}}
#b = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], resident>

// -----

// expected-error @+1 {{role copy has 3 warps, which is no multiple of 4}}
#b = #schedule.block<roles = [copy: 3 warps, 40 registers, math: 8 warps, 232 registers]>

// -----

// expected-error @+1 {{role math has 260 registers, not a multiple of 8 from 24 to 256}}
#b = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 260 registers]>

// -----

// expected-error @+1 {{the roles have 36 warps; a block has at most 32}}
#b = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 32 warps, 24 registers]>

// -----

// expected-error @+1 {{it must be #schedule.block on a kernel}}
graph.func @f() attributes {schedule.block = "roles"} {
  graph.return
}

// -----

// expected-error @+1 {{with pingpong at least 2 groups of 4 warps take turns; role math has 4 warps}}
#b = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 232 registers], pingpong, persistent>

// -----

// expected-error @+1 {{sums = 2 is for sums in tensor memory; there is no role multiply}}
#b = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 232 registers], sums = 2, persistent>

// -----

// expected-error @+1 {{sums = 2 lets sums be stored while the block's next program multiplies; the grid is not persistent}}
#b = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2>

// -----

// expected-error @+1 {{role math has 232 registers; beside a role multiply registers are not divided}}
#b = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps, 232 registers], persistent>

// -----

// expected-error @+1 {{role math has 3 warps, which is no multiple of 4}}
#b = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 3 warps], persistent>

// -----

// expected-error @+1 {{role copy has 0 registers, not a multiple of 8 from 24 to 256}}
#b = #schedule.block<roles = [copy: 4 warps, math: 4 warps]>

// -----

// expected-error @+1 {{a cluster has 16 programs; at most 8 are possible}}
#b = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 24 registers], cluster = [16, 1], persistent>

// -----

// expected-error @+1 {{a cluster of [2, 2] programs is no row and no column of them}}
#b = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 24 registers], cluster = [2, 2]>

// -----

// expected-error @+1 {{a cluster of [-1, -1] programs is none: extents are at least 1}}
#b = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 24 registers], cluster = [-1, -1]>

// -----

// expected-error @+1 {{a cluster of [0, 1] programs is none: extents are at least 1}}
#b = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 24 registers], cluster = [0, 1]>
