// RUN: tsr-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(schedule-outline)'

graph.func @f(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[1], f32> attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["1"]>,
    #tile.param<name = "N", kind = dim>]} {
  // expected-error@+1 {{the group needs 'K', which is no expression of the dims of its tensors; give it a graph.dim of that}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 1, 16>} : (!graph.tensor<["N"], f32>) -> !graph.tensor<[1], f32> {
  ^bb0(%a: !graph.tensor<["N"], f32>):
    %1 = graph.slice %a starts ["K"] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[1], f32>
    schedule.yield %1 : !graph.tensor<[1], f32>
  }
  graph.return %0 : !graph.tensor<[1], f32>
}

// -----

// The language has / for floats only, and bitwise operations for integers only.
graph.func @quotient(%x: !graph.tensor<["N"], i32>) -> !graph.tensor<["N"], i32> {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 1, 16>} : (!graph.tensor<["N"], i32>) -> !graph.tensor<["N"], i32> {
  ^bb0(%a: !graph.tensor<["N"], i32>):
    // expected-error@+1 {{TSR_UNIMPLEMENTED: this operation on dtype i32}}
    %1 = graph.binary div %a, %a : (!graph.tensor<["N"], i32>, !graph.tensor<["N"], i32>) -> !graph.tensor<["N"], i32>
    schedule.yield %1 : !graph.tensor<["N"], i32>
  }
  graph.return %0 : !graph.tensor<["N"], i32>
}

// -----

graph.func @bits(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32> {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 1, 16>} : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32> {
  ^bb0(%a: !graph.tensor<["N"], f32>):
    // expected-error@+1 {{TSR_UNIMPLEMENTED: this operation on dtype f32}}
    %1 = graph.binary and %a, %a : (!graph.tensor<["N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
    schedule.yield %1 : !graph.tensor<["N"], f32>
  }
  graph.return %0 : !graph.tensor<["N"], f32>
}

// -----

// A dim of a kernel that no tensor of the launch has.
schedule.kernel @k(%x: !tile.view<?xf32>, %n: index, %m: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>, #tile.param<name = "m", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("m") step ("1") names ["i"] {
  }
}
graph.func @f(%x: !graph.tensor<["n"], f32>) {
  // expected-error@+1 {{needs dims: no tensor has 'm' as an extent by itself}}
  graph.launch @k(read %x) : (!graph.tensor<["n"], f32>) -> ()
  graph.return
}
