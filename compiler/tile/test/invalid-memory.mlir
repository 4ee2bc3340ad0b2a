// RUN: tsr-opt %s -split-input-file -verify-diagnostics
// Accesses to global tensors and shared buffers.

func.func @f(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{has 1 starts for 2 dims}}
  %t = tile.load %x[%i] extents [4, 4] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>, %x: !tile.view<?xf32>, %c: tensor<8xi1>, %i: index) {
  // expected-error @+1 {{has flags 'tensor<8xi1>' for 'tensor<4xf32>'}}
  tile.store %t, %x[%i] extents [4] where %c : tensor<8xi1> : tensor<4xf32>, !tile.view<?xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{has 1 extents for 2 dims}}
  %t = tile.load %x[%i, %i] extents [4] : !tile.view<?x?xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %i: index) {
  // expected-error @+1 {{extent -2 is neither positive nor -1}}
  tile.prefetch %x[%i] extents [-2] : !tile.view<?xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %i: index) {
  // expected-error @+1 {{every dim is an integer index: that is an element, not a tile}}
  tile.prefetch %x[%i] extents [-1] : !tile.view<?xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %i: index) {
  // expected-error @+1 {{extents [4] do not give the shape of 'tensor<8xf32>'}}
  %t = tile.load %x[%i] extents [4] : !tile.view<?xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?xui8>, %i: index, %t: tensor<4xf32>) {
  // expected-error @+1 {{memory of 'ui8' holds values of 'i8', not 'f32'}}
  tile.store %t, %x[%i] extents [4] : tensor<4xf32>, !tile.view<?xui8>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %i: index, %t: tensor<4x4xf32>) {
  // expected-error @+1 {{has 1 bounds for a tile of rank 2}}
  tile.store %t, %x[%i, %i] extents [4, 4] bounds(%i to %i) : tensor<4x4xf32>, !tile.view<?x?xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{has 1 indices for 2 dims}}
  %e = tile.load_elem %x[%i] : !tile.view<?x?xf32> -> f32
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %i: index, %e: f64) {
  // expected-error @+1 {{memory of 'f32' holds values of 'f32', not 'f64'}}
  tile.store_elem %e, %x[%i] : f64, !tile.view<?xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %i: tensor<4xindex>, %e: f32) {
  // expected-error @+1 {{index of type 'tensor<4xindex>' does not go with a value of type 'f32'}}
  %o = "tile.atomic"(%e, %x, %i) {kind = 0 : i32, order = 0 : i32, scope = 1 : i32}
      : (f32, !tile.view<?xf32>, tensor<4xindex>) -> f32
  return
}

// -----

func.func @f(%x: !tile.view<?xi8>, %i: index, %e: i8) {
  // expected-error @+1 {{is unsigned but the memory is of 'i8'}}
  %o = tile.atomic max relaxed device %e, %x[%i] unsigned : i8, !tile.view<?xi8> -> i8
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{align 24 is no power of two}}
  %b = tile.alloc_shared {align = 24} : !tile.buffer<4xf32, none>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{offset 8 is not a multiple of align 16}}
  %b = tile.alloc_shared {offset = 8} : !tile.buffer<4xf32, none>
  return
}

// -----

func.func @f(%b: !tile.buffer<4xf32, none>) {
  // expected-error @+1 {{the whole of '!tile.buffer<4xf32, none>' is not 'tensor<8xf32>'}}
  %t = tile.buffer_read %b : !tile.buffer<4xf32, none> -> tensor<8xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<4xf32, none>, %t: tensor<4xf32>, %i: index) {
  // expected-error @+1 {{has starts but no extents}}
  "tile.buffer_write"(%t, %b, %i) : (tensor<4xf32>, !tile.buffer<4xf32, none>, index) -> ()
  return
}

// -----

func.func @f(%x: !tile.view<?xf32>, %b: !tile.buffer<4xf32, none>, %i: index) {
  // expected-error @+1 {{extents [8] do not give the shape of '!tile.buffer<4xf32, none>'}}
  tile.cp_async %x[%i] extents [8] to %b : !tile.view<?xf32>, !tile.buffer<4xf32, none>
  return
}

// -----

func.func @f(%x: !tile.view<?xbf16>, %b: !tile.buffer<4xf32, none>, %i: index) {
  // expected-error @+1 {{element types differ}}
  tile.cp_async %x[%i] extents [4] to %b : !tile.view<?xbf16>, !tile.buffer<4xf32, none>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{a relaxed fence orders nothing}}
  tile.fence relaxed device
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{has no tile of indices}}
  %t = tile.gather %x[%i, %i] extents [-1, 4] : !tile.view<?x?xf32>, index, index -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %r: tensor<4xi64>, %s: tensor<5xi64>) {
  // expected-error @+1 {{has indices of the shapes 'tensor<4xi64>' and 'tensor<5xi64>'}}
  %t = tile.gather %x[%r, %s] extents [-1, -1] : !tile.view<?x?xf32>, tensor<4xi64>, tensor<5xi64> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %r: tensor<4xi64>, %i: index) {
  // expected-error @+1 {{extents [-1, 8] and indices 'tensor<4xi64>' do not give the shape of 'tensor<8x4xf32>'}}
  %t = tile.gather %x[%r, %i] extents [-1, 8] : !tile.view<?x?xf32>, tensor<4xi64>, index -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<?x?xf32>, %r: tensor<4xi64>, %i: index) {
  // expected-error @+1 {{extent 4 is neither that of a slice nor -1}}
  %t = tile.gather %x[%r, %i] extents [4, 8] : !tile.view<?x?xf32>, tensor<4xi64>, index -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>, %x: !tile.view<?xf32>, %c: tensor<8xi1>, %r: tensor<4xi64>) {
  // expected-error @+1 {{has flags 'tensor<8xi1>' for 'tensor<4xf32>'}}
  tile.scatter %t, %x[%r] extents [-1] where %c : tensor<8xi1> : tensor<4xf32>, !tile.view<?xf32>, tensor<4xi64>
  return
}
