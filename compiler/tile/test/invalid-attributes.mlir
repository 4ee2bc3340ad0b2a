// RUN: tsr-opt %s -split-input-file -verify-diagnostics
// The discardable attributes of the tile dialect: names, places, values.

func.func @misspelt(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has an unknown attribute "tile.materialise"}}
  %b = arith.addf %a, %a {tile.materialise} : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// expected-error @+1 {{has "tile.lanes"; it must be a unit attribute on scf.for}}
func.func @lanes() attributes {tile.lanes} {
  return
}

// -----

func.func @materialize(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{it must be a unit attribute}}
  %b = arith.addf %a, %a {tile.materialize = true} : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @scratch(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{it must be an array of byte offsets}}
  %b = arith.addf %a, %a {tile.scratch = array<i64: -64>} : tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @private(%a: f32) -> f32 {
  // expected-error @+1 {{has "tile.private" = 0 : i64; it must be a byte offset on tile.atomic}}
  %b = arith.addf %a, %a {tile.private = 0 : i64} : f32
  return %b : f32
}

// -----

func.func @strided(%a: f32) -> f32 {
  // expected-error @+1 {{it must be a unit attribute on tile.mma}}
  %b = arith.addf %a, %a {tile.strided} : f32
  return %b : f32
}

// -----

func.func @private_value(%a: f32) -> f32 {
  // expected-error @+1 {{it must be a unit attribute on tile.atomic}}
  %b = arith.addf %a, %a {tile.private_value} : f32
  return %b : f32
}

// -----

// expected-error @+1 {{"M +" is no index expression: expected a number, a name or '(' at column 4, found the end}}
func.func private @index() attributes {expr = #tile.index<"M +">}

// -----

// expected-error @+1 {{"f(M)" is no index expression: unknown name 'f' at column 1}}
tile.kernel @axis(%M: index) grid ["f(M)"] attributes {params = [#tile.param<name = "M", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{"N" is no index expression: unknown name 'N' at column 1}}
tile.kernel @unknown(%M: index) grid ["N"] attributes {params = [#tile.param<name = "M", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{it must be an array of {says, value} on a kernel}}
tile.kernel @checks() grid [] attributes {tile.checks = [{value = "1"}], params = []} {
  tile.return
}

// -----

// expected-error @+1 {{it must be an array of {says, value} on a kernel}}
func.func @checks() attributes {tile.checks = []} {
  return
}

// -----

// expected-error @+1 {{checks "K - 1", which is no expression of dims and integer scalars}}
tile.kernel @checks() grid [] attributes {tile.checks = [{says = "K > 0", value = "K - 1"}], params = []} {
  tile.return
}
