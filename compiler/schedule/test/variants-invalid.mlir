// RUN: tsr-opt %s -split-input-file -verify-diagnostics

!mn = !graph.tensor<["M", "N"], f32>
graph.func @none(%x: !mn) -> !mn {
  // expected-error @+1 {{has variants that cannot be chosen from: there are none}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = []} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

// A row in a tile needs a condition that it fits, and has all of the axis.
!mn = !graph.tensor<["M", "N"], f32>
graph.func @row(%x: !mn) -> !graph.tensor<["M"], f32> {
  // expected-error @+1 {{"a" has the body row, whose tile holds a whole row, and no condition that the reduced axis, the last one, has at most 64 elements}}
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "N <= 65", body = "row", order = tiles("64")>, #schedule.variant<"b", body = "tile", order = tiles("64")>]} : (!mn) -> !graph.tensor<["M"], f32> {
  ^bb0(%a: !mn):
    %1 = graph.reduce sum %a axes [1] : (!mn) -> !graph.tensor<["M"], f32>
    schedule.yield %1 : !graph.tensor<["M"], f32>
  }
  graph.return %0 : !graph.tensor<["M"], f32>
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @guarded(%x: !mn) -> !mn {
  // expected-error @+1 {{the last one, "a", has a condition, so that sizes are left without a variant}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "M <= 8", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @unguarded(%x: !mn) -> !mn {
  // expected-error @+1 {{"a" has no condition and is not the last}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact>, #schedule.variant<"b", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @twice(%x: !mn) -> !mn {
  // expected-error @+1 {{the name "a" occurs twice}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "M <= 8", body = "tile", order = exact>, #schedule.variant<"a", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @name(%x: !mn) -> !mn {
  // expected-error @+1 {{"1a" is not a name}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"1a", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @reserved(%x: !mn) -> !mn {
  // expected-error @+1 {{"tile" is not the name of a variant}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"tile", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @body(%x: !mn) -> !mn {
  // expected-error @+1 {{"a" has the body product.row; the bodies of kind map are tile}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "product.row", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @parameter(%x: !mn) -> !mn {
  // expected-error @+1 {{body tile of "a" has no parameter kc}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact, params = {kc = 4}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @some(%x: !mn) -> !mn {
  // expected-error @+1 {{"a" gives parameter columns of body tile no value}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact, params = {rows = 4}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @limits(%x: !mn) -> !mn {
  // expected-error @+1 {{parameter columns of "a" is 0, the body takes 1 to 262144}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact, params = {rows = 4, columns = 0}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @extent(%x: !mn) -> !mn {
  // expected-error @+1 {{parameter rows of "a" is an extent of a tile, which is a number}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact, params = {rows = "M", columns = 16}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @large(%x: !mn) -> !mn {
  // expected-error @+1 {{has a tile of 4096x4096 elements; at most 262144 fit a program}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", body = "tile", order = exact, params = {rows = 4096, columns = 4096}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @dim(%x: !mn) -> !mn {
  // expected-error @+1 {{a: unknown name 'K' at column 1; the names are M, N, cores, l1, l2, l3, fma_f32, fma_f64, fma_bf16, fma_i8, bw2, bw3, bwm, wake; in 'K <= 8'}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "K <= 8", body = "tile", order = exact>, #schedule.variant<"b", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @tensor(%x: !mn) -> !mn {
  // expected-error @+1 {{variant a: 'aligned(in1, 64)': unknown tensor 'in1'}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "aligned(in1, 64)", body = "tile", order = exact>, #schedule.variant<"b", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @order(%x: !mn) -> !mn attributes {numerics = "deterministic"} {
  // expected-error @+1 {{numerics profile deterministic: condition 1 depends on the machine or an address and chooses between order classes}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "cores >= 8", body = "tile", order = chain>, #schedule.variant<"b", body = "tile", order = dot>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @strict(%x: !mn) -> !mn attributes {numerics = "strict"} {
  // expected-error @+1 {{numerics profile strict: variants of the orders leaves and lanes64 exclude each other}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [#schedule.variant<"a", when = "M >= 8", body = "tile", order = leaves>, #schedule.variant<"b", body = "tile", order = lanes64>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

// expected-error @+1 {{'M': expected a comparison such as N == 64}}
#v = #schedule.variant<"a", when = "M", body = "tile", order = exact>

// -----

// expected-error @+1 {{'M // 0 == 1': divides by zero}}
#v = #schedule.variant<"a", when = "M // 0 == 1", body = "tile", order = exact>

// -----

// expected-error @+1 {{order 'sorted': expected exact, chain, leaves, lanes64, dot, extents, split(N) or tiles(N)}}
#v = #schedule.variant<"a", body = "tile", order = sorted>

// -----

// expected-error @+1 {{order 'split': it needs a number in parentheses}}
#v = #schedule.variant<"a", body = "tile", order = split>

// -----

// expected-error @+1 {{order 'chain(4)': it has no number}}
#v = #schedule.variant<"a", body = "tile", order = chain("4")>

// -----

// expected-error @+1 {{parameter rows occurs twice}}
#v = #schedule.variant<"a", body = "tile", order = exact, params = {rows = 1, rows = 2}>

// -----

// expected-error @+1 {{is no index expression}}
#v = #schedule.variant<"a", body = "tile", order = exact, cost = "1 +">
