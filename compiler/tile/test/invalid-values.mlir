// RUN: tsr-opt %s -split-input-file -verify-diagnostics
// Shapes, casts, reductions, products.

func.func @f(%x: tensor<4xf32>, %c: tensor<8xi1>) {
  // expected-error @+1 {{has a condition 'tensor<8xi1>' for 'tensor<4xf32>'}}
  %t = tile.where %c, %x, %x : tensor<8xi1>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{changes the element type from 'f32' to 'f64'}}
  %t = tile.broadcast %x : f32 -> tensor<4xf64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{keeps the rank: 'tensor<4xf32>' cannot become 'tensor<4x4xf32>'}}
  %t = tile.broadcast %x : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{repeats axes of extent 1 only}}
  %t = tile.broadcast %x : tensor<4x2xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{takes 4 elements from 5 on of an axis of 8}}
  %t = tile.slice %x [0, 5] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{takes 2 elements from -1 on of an axis of 4}}
  %t = tile.slice %x [-1, 0] : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{keeps the rank and has one offset per axis}}
  %t = tile.slice %x [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{changes the element type from 'f32' to 'f64'}}
  %t = tile.slice %x [0, 0] : tensor<4x8xf32> -> tensor<4x4xf64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 2 is outside a tile of rank 1}}
  %t = tile.expand_dims %x axis 2 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{gives 'tensor<1x4xf32>', not 'tensor<4x1xf32>'}}
  %t = tile.expand_dims %x axis 0 : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{the number of elements differs}}
  %t = tile.reshape %x : tensor<4x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs a tile of rank 2 or more}}
  %t = tile.transpose %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{gives 'tensor<8x4xf32>', not 'tensor<4x8xf32>'}}
  %t = tile.transpose %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs at least one tile}}
  %t = "tile.concat"() {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is outside a tile of rank 1}}
  %t = tile.concat %x, %x axis 1 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>) {
  // expected-error @+1 {{which differ in more than axis 0}}
  %t = tile.concat %x, %y axis 0 : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{gives 'tensor<8xf32>', not 'tensor<9xf32>'}}
  %t = tile.concat %x, %x axis 0 : tensor<4xf32>, tensor<4xf32> -> tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %f: f32, %i: index) {
  // expected-error @+1 {{has 1 bounds for a tile of rank 2}}
  %t = tile.mask %x, %f bounds(%i to %i) : tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'f31' is no dtype of the language}}
  %t = tile.cast %x from f31 to f64 : f32 -> f64
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'f31' is no dtype of the language}}
  %t = "tile.cast"(%x) {from = "f31", to = "f64"} : (f32) -> f64
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{values of bf16 are of type 'bf16', not 'f32'}}
  %t = tile.cast %x from bf16 to f64 : f32 -> f64
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{keeps the shape: 'tensor<4xf32>' to 'f64'}}
  %t = tile.cast %x from f32 to f64 : tensor<4xf32> -> f64
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is outside 'tensor<4xf32>'}}
  %t = tile.scan sum %x axis 1 : tensor<4xf32>
  return
}

// -----

func.func @sort_extent(%x: tensor<4x5xi32>) {
  // expected-error @+1 {{gives 'tensor<4x8xi32>', not 'tensor<4x5xi32>'}}
  %t = tile.sort %x axis 1 : tensor<4x5xi32> -> tensor<4x5xi32>
  return
}

// -----

func.func @sort_axis(%x: tensor<4xi32>) {
  // expected-error @+1 {{axis 1 is outside}}
  %t = tile.sort %x axis 1 : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @flip_axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{axis 1 is outside a tile of rank 1}}
  %t = tile.flip %x axis 1 : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{is unsigned but works on 'f32'}}
  %t = tile.reduce max %x axis 0 unsigned : tensor<4xf32> -> f32
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{gives 'tensor<4xf32>', not 'tensor<8xf32>'}}
  %t = tile.reduce max %x axis 1 : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{multiplies matrices: operands and accumulator have rank 2}}
  %t = tile.mma %a, %c, %c : tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{inner extents differ: 4x8 times 4x4}}
  %t = tile.mma %a, %c, %c : tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %c: tensor<8x8xf32>) {
  // expected-error @+1 {{the product is 4x4 but the accumulator is 8x8}}
  %t = tile.mma %a, %a, %c {trans_b} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xbf16>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{operands share a dtype: 'bf16' and 'f32'}}
  %t = tile.mma %a, %c, %c : tensor<4x4xbf16>, tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xi8>, %c: tensor<4x4xf32>) {
  // expected-error @+1 {{operands of 'i8' accumulate in i32, not 'f32'}}
  %t = tile.mma %a, %a, %c : tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{is unsigned but works on 'f32'}}
  %t = tile.mma %a, %a, %a unsigned : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @f(%s: i64, %o: tensor<4xi64>) {
  // expected-error @+1 {{an offset of type 'tensor<4xi64>' does not give 'f32'}}
  %t = tile.rand %s, %o : i64, tensor<4xi64> -> f32
  return
}

// -----

tile.kernel @limits(%n: index) grid [] attributes {params = [#tile.param<name = "n", kind = dim>]} {
  %a = arith.constant dense<1.0> : tensor<8x8xf32>
  // expected-error @+1 {{has no limits or three: rows, columns and depth}}
  %p = tile.mma %a, %a, %a limits(%n) : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.return
}

// -----

func.func @odd_rows(%x: tensor<3x8xbf16>) -> tensor<1x8xi32> {
  // expected-error @+1 {{needs an even number of rows of bf16, not 'tensor<3x8xbf16>'}}
  %w = tile.pair_rows %x : tensor<3x8xbf16> -> tensor<1x8xi32>
  return %w : tensor<1x8xi32>
}

// -----

func.func @words(%x: tensor<4x8xbf16>) -> tensor<2x8xi16> {
  // expected-error @+1 {{gives 'tensor<2x8xi32>', not 'tensor<2x8xi16>'}}
  %w = tile.pair_rows %x : tensor<4x8xbf16> -> tensor<2x8xi16>
  return %w : tensor<2x8xi16>
}
