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

// expected-error @+1 {{entry 0 of params is no dictionary with a name}}
tile.kernel @k(%n: index) grid [] attributes {params = [{kind = "dim"}]} {
  tile.return
}

// -----

// expected-error @+1 {{has two parameters named 'n'}}
tile.kernel @k(%n: index, %m: index) grid []
    attributes {params = [{name = "n", kind = "dim"}, {name = "n", kind = "dim"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'n' needs kind "tensor", "result", "scalar" or "dim"}}
tile.kernel @k(%n: index) grid [] attributes {params = [{name = "n", kind = "size"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'a' is out of order: tensors, results, scalars, dims}}
tile.kernel @k(%n: index, %a: f32) grid []
    attributes {params = [{name = "n", kind = "dim"}, {name = "a", kind = "scalar", dtype = "f32"}]} {
  tile.return
}

// -----

// expected-error @+1 {{dim 'n' must be of type index, not 'i64'}}
tile.kernel @k(%n: i64) grid [] attributes {params = [{name = "n", kind = "dim"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'a' needs a dtype of the language}}
tile.kernel @k(%a: f32) grid [] attributes {params = [{name = "a", kind = "scalar", dtype = "f31"}]} {
  tile.return
}

// -----

// expected-error @+1 {{scalar 'a' has dtype f64 but type 'f32'}}
tile.kernel @k(%a: f32) grid [] attributes {params = [{name = "a", kind = "scalar", dtype = "f64"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' is a tensor and must be a !tile.view}}
tile.kernel @k(%x: f32) grid [] attributes {params = [{name = "x", kind = "tensor", dtype = "f32"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' has dtype bf16 but type '!tile.view<4xf32>'}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [{name = "x", kind = "tensor", dtype = "bf16"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' needs access "read", "write" or "readwrite"}}
tile.kernel @k(%x: !tile.view<4xf32>) grid [] attributes {params = [{name = "x", kind = "tensor", dtype = "f32"}]} {
  tile.return
}

// -----

// expected-error @+1 {{parameter 'x' needs one entry of dims per dim of '!tile.view<4xf32>'}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [{name = "x", kind = "tensor", dtype = "f32", access = "read", dims = []}]} {
  tile.return
}

// -----

// expected-error @+1 {{dims of parameter 'x' are strings}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [{name = "x", kind = "tensor", dtype = "f32", access = "read", dims = [4]}]} {
  tile.return
}

// -----

// expected-error @+1 {{dim 0 of parameter 'x' is "5" but its type says 4}}
tile.kernel @k(%x: !tile.view<4xf32>) grid []
    attributes {params = [{name = "x", kind = "tensor", dtype = "f32", access = "read", dims = ["5"]}]} {
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
