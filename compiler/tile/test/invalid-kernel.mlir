// RUN: tsr-opt %s -split-input-file -verify-diagnostics
// The rules of params, the grid and extents.

// expected-error @+1 {{attribute 'numerics' failed to satisfy constraint: string attribute}}
tile.kernel @k() grid [] attributes {numerics = 7, params = []} {
  tile.return
}

// -----

// expected-error @+1 {{has 1 arguments but 0 params}}
tile.kernel @k(%n: index) grid [] attributes {params = []} {
  tile.return
}

// -----

// expected-error @+1 {{attribute 'params' failed to satisfy constraint: array of #tile.param}}
tile.kernel @k(%n: index) grid [] attributes {params = [{kind = "dim"}]} {
  tile.return
}

// -----

// expected-error @+2 {{struct is missing required parameter: name}}
tile.kernel @k(%n: index) grid []
    attributes {params = [#tile.param<kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has two parameters named 'n'}}
tile.kernel @k(%n: index, %m: index) grid []
    attributes {params = [#tile.param<name = "n", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+2 {{expected ::tessera::tile::ParamKind to be one of: tensor, result, scalar, dim}}
// expected-error @+1 {{failed to parse Tile_ParamAttr parameter 'kind'}}
tile.kernel @k(%n: index) grid [] attributes {params = [#tile.param<name = "n", kind = size>]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'a' is out of order: tensors, results, scalars, dims}}
tile.kernel @k(%n: index, %a: f32) grid []
    attributes {params = [#tile.param<name = "n", kind = dim>, #tile.param<name = "a", kind = scalar, dtype = f32>]} {
  tile.return
}

// -----

// expected-error @+1 {{dim 'n' must be of type index, not 'i64'}}
tile.kernel @k(%n: i64) grid [] attributes {params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+2 {{'f31' is not a dtype of the language}}
// expected-error @+1 {{failed to parse Tile_ParamAttr parameter 'dtype'}}
tile.kernel @k(%a: f32) grid [] attributes {params = [#tile.param<name = "a", kind = scalar, dtype = f31>]} {
  tile.return
}

// -----

// expected-error @+1 {{scalar 'a' has dtype f64 but type 'f32'}}
tile.kernel @k(%a: f32) grid [] attributes {params = [#tile.param<name = "a", kind = scalar, dtype = f64>]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' is a tensor and must be a !tile.view}}
tile.kernel @k(%x: f32) grid []
    attributes {params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = []>]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' has dtype bf16 but type '!tile.view<4xf32>'}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [#tile.param<name = "x", kind = tensor, dtype = bf16, access = read, dims = ["4"]>]} {
  tile.return
}

// -----

// expected-error @+1 {{tensor 'x' needs access read, write or readwrite}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [#tile.param<name = "x", kind = tensor, dtype = f32>]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' needs one entry of dims per dim of '!tile.view<4xf32>'}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = []>]} {
  tile.return
}

// -----

// expected-error @+2 {{tensor 'x' needs dims that are strings}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = [4]>]} {
  tile.return
}

// -----

// expected-error @+1 {{dim 0 of parameter 'x' is "5" but its type says 4}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["5"]>]} {
  tile.return
}

// -----

// expected-error @+1 {{has no results: they are caller-allocated arguments}}
tile.kernel @k() -> f32 grid [] attributes {params = []} {
  tile.return
}

// -----

tile.kernel @k() grid ["4"] attributes {params = []} {
  // expected-error @+1 {{axis 1 is outside the grid of 1 axes}}
  %p = tile.program_id 1 : index
  tile.return
}

// -----

func.func @dim(%x: !tile.view<4xf32>) {
  // expected-error @+1 {{dim 1 is outside '!tile.view<4xf32>'}}
  %n = tile.dim %x, 1 : !tile.view<4xf32>
  return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype f32 cannot have the default 1.000000e+300 : f64}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, default_value = 1.0e300 : f64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype f32 cannot have the default 1.000000e+00 : f32}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, default_value = 1.0 : f32>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype f32 cannot have the default 1 : i64}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, default_value = 1 : i64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype f16 cannot have the default 6.553600e+04 : f64}}
tile.kernel @k(%a: f16) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f16, default_value = 65536.0 : f64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype f32 cannot have the default 1.000000e-01 : f64}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, default_value = 0.1 : f64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype i8 cannot have the default 300 : i64}}
tile.kernel @k(%a: i8) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = i8, default_value = 300 : i64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype i32 cannot have the default 1.500000e+00 : f64}}
tile.kernel @k(%a: i32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = i32, default_value = 1.5 : f64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype i32 cannot have the default 7 : i32}}
tile.kernel @k(%a: i32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = i32, default_value = 7 : i32>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype bool cannot have the default 2 : i64}}
tile.kernel @k(%a: i1) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = bool, default_value = 2 : i64>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype i64 cannot have the default "7"}}
tile.kernel @k(%a: i64) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = i64, default_value = "7">]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' of dtype u8 cannot have the default -1 : i64}}
tile.kernel @k(%a: i8) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = u8, default_value = -1 : i64>]} {
  tile.return
}

// -----

// expected-error @+1 {{dim 'n' has a dtype; a dim has only a name}}
tile.kernel @k(%n: index) grid [] attributes {params = [#tile.param<name = "n", kind = dim, dtype = i64>]} {
  tile.return
}

// -----

// expected-error @+1 {{scalar 'a' needs a dtype}}
tile.kernel @k(%a: f32) grid [] attributes {params = [#tile.param<name = "a", kind = scalar>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' has an access; only memory has one}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, access = read>]} {
  tile.return
}

// -----

// expected-error @+2 {{scalar 'a' has dims; only a tensor or a result has them}}
tile.kernel @k(%a: f32) grid [] attributes {params = [
    #tile.param<name = "a", kind = scalar, dtype = f32, dims = []>]} {
  tile.return
}

// -----

// expected-error @+2 {{tensor 'x' needs dims}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read>]} {
  tile.return
}

// -----

// expected-error @+2 {{tensor 'x' has a default; only a scalar may have one}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["4"], default_value = 1.0 : f64>]} {
  tile.return
}

// -----

// expected-error @+1 {{a parameter needs a name}}
tile.kernel @k(%n: index) grid [] attributes {params = [#tile.param<name = "", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+2 {{tensor 'x' needs one stride per dim, each a string}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["4"], strides = ["1", "4"]>]} {
  tile.return
}

// -----

// expected-error @+1 {{stride 0 of parameter 'x' is "s", which is no expression of dims among the parameters}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["4"], strides = ["s"]>]} {
  tile.return
}

// -----

// expected-error @+1 {{stride 0 of parameter 'x' is "-1", which is no expression of dims among the parameters}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["4"], strides = ["-1"]>]} {
  tile.return
}

// -----

// expected-error @+1 {{group_rows groups rows of two axes; the grid has 1}}
tile.kernel @k() grid ["4"] attributes {params = [], group_rows = 2 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of [-1, -1] programs; extents are at least 1}}
tile.kernel @negative(%n: index) grid ["n", "n"] attributes {cluster = array<i64: -1, -1>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of [0, 1] programs; extents are at least 1}}
tile.kernel @zero(%n: index) grid ["n", "n"] attributes {cluster = array<i64: 0, 1>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of [2, 2] programs, which is no row and no column of them}}
tile.kernel @square(%n: index) grid ["n", "n"] attributes {cluster = array<i64: 2, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of [2]; it has two extents}}
tile.kernel @line(%n: index) grid ["n", "n"] attributes {cluster = array<i64: 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of rows and columns; its grid needs two axes and has 1}}
tile.kernel @axes(%n: index) grid ["n"] attributes {cluster = array<i64: 1, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// -----

// expected-error @+1 {{has a cluster of [1, 2] programs, which does not divide its grid}}
tile.kernel @divided(%n: index) grid ["n", "3"] attributes {cluster = array<i64: 1, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}
