// RUN: tsr-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(target-describe-functions)'

// expected-error @+1 {{is a variant of @g, which is no function with its params}}
graph.func @f() attributes {schedule.variant_of = @g, schedule.when = ["N == 1"]} {
  graph.return
}

// -----

#n = #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>
#m = #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M"]>
graph.func @f(%x: !graph.tensor<["N"], f32>) attributes {returns = [], params = [#n, #tile.param<name = "N", kind = dim>]} {
  graph.return
}
// expected-error @+1 {{is a variant of @f, which is no function with its params}}
graph.func @f.v0(%x: !graph.tensor<["M"], f32>) attributes {returns = [], params = [#m, #tile.param<name = "M", kind = dim>],
    schedule.variant_of = @f, schedule.when = ["M == 1"]} {
  graph.return
}

// -----

graph.func @f() {
  graph.return
}
graph.func @f.v0() attributes {schedule.variant_of = @f, schedule.when = ["N == 1"]} {
  graph.return
}
// expected-error @+1 {{is a variant of @f.v0, which is no function with its params}}
graph.func @f.v1() attributes {schedule.variant_of = @f.v0, schedule.when = ["N == 2"]} {
  graph.return
}
