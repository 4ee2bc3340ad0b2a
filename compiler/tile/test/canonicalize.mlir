// RUN: tsr-opt %s -canonicalize -cse -split-input-file | FileCheck %s
// What folds, and what memory effects allow.

// CHECK-LABEL: tile.kernel @dims
// CHECK: %[[C:.*]] = arith.constant 64 : index
// CHECK: arith.addi %M, %[[C]]
tile.kernel @dims(%x: !tile.view<?x?xf32>, %y: !tile.view<?x64xf32>, %M: index, %D: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "D"], access = write>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["M", "64"], access = write>, #tile.param<name = "M", kind = dim>,
    #tile.param<name = "D", kind = dim>]} {
  %0 = tile.dim %x, 0 : !tile.view<?x?xf32>
  %1 = tile.dim %y, 1 : !tile.view<?x64xf32>
  %2 = arith.addi %0, %1 : index
  %e = tile.load_elem %x[%2, %2] : !tile.view<?x?xf32> -> f32
  tile.store_elem %e, %x[%2, %2] : f32, !tile.view<?x?xf32>
  tile.return
}

// -----

// CHECK-LABEL: func.func @splats
// CHECK: %[[C:.*]] = arith.constant dense<1.000000e+00> : tensor<4x8xf32>
// CHECK: return %[[C]], %[[C]], %[[C]]
func.func @splats() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %one = arith.constant 1.0 : f32
  %a = tile.broadcast %one : f32 -> tensor<4x8xf32>
  %line = arith.constant dense<1.0> : tensor<32xf32>
  %b = tile.reshape %line : tensor<32xf32> -> tensor<4x8xf32>
  %t = arith.constant dense<1.0> : tensor<8x4xf32>
  %c = tile.transpose %t : tensor<8x4xf32> -> tensor<4x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @inverses
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: f32)
// CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[S]] : f32 -> tensor<4x8xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[B]]
func.func @inverses(%x: tensor<4x8xf32>, %s: f32)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %t = tile.transpose %x : tensor<4x8xf32> -> tensor<8x4xf32>
  %tt = tile.transpose %t : tensor<8x4xf32> -> tensor<4x8xf32>
  %r = tile.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %rr = tile.reshape %r : tensor<32xf32> -> tensor<4x8xf32>
  %one = tile.concat %x axis 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = tile.broadcast %s : f32 -> tensor<4x1xf32>
  %bb = tile.broadcast %b : tensor<4x1xf32> -> tensor<4x8xf32>
  return %tt, %rr, %one, %bb : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Widening loses nothing, so bf16 -> f32 -> bf16 is nothing and bf16 -> f32 -> f64 one cast. Narrowing first does.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[X:.*]]: bf16, %[[Y:.*]]: f32)
// CHECK-DAG: %[[W:.*]] = tile.cast %[[X]] from bf16 to f64
// CHECK-DAG: %[[N:.*]] = tile.cast %[[Y]] from f32 to bf16
// CHECK-DAG: %[[B:.*]] = tile.cast %[[N]] from bf16 to f32
// CHECK-DAG: %[[T:.*]] = tile.cast %[[Y]] from f32 to tf32
// CHECK: return %[[X]], %[[W]], %[[B]], %[[T]]
func.func @casts(%x: bf16, %y: f32) -> (bf16, f64, f32, f32) {
  %0 = tile.cast %x from bf16 to f32 : bf16 -> f32
  %1 = tile.cast %0 from f32 to bf16 : f32 -> bf16
  %2 = tile.cast %0 from f32 to f64 : f32 -> f64
  %3 = tile.cast %y from f32 to bf16 : f32 -> bf16
  %4 = tile.cast %3 from bf16 to f32 : bf16 -> f32
  %5 = tile.cast %y from f32 to tf32 : f32 -> f32
  return %1, %2, %4, %5 : bf16, f64, f32, f32
}

// -----

// Literals are cast as the reference casts do: 8-bit floats saturate, u8 is read unsigned, tf32 keeps 10 bits.
// CHECK-LABEL: func.func @literals
// CHECK-DAG: %[[Q:.*]] = arith.constant 4.480000e+02 : f8E4M3FN
// CHECK-DAG: %[[U:.*]] = arith.constant 2.000000e+02 : f32
// CHECK-DAG: %[[T:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[I:.*]] = arith.constant -1 : i32
// CHECK: return %[[Q]], %[[U]], %[[T]], %[[I]]
func.func @literals() -> (f8E4M3FN, f32, tensor<4xf32>, i32) {
  %big = arith.constant 1.0e9 : f32
  %q = tile.cast %big from f32 to fp8_e4m3 : f32 -> f8E4M3FN
  %byte = arith.constant 200 : i8
  %u = tile.cast %byte from u8 to f32 : i8 -> f32
  %fine = arith.constant dense<1.0001> : tensor<4xf32>
  %t = tile.cast %fine from f32 to tf32 : tensor<4xf32> -> tensor<4xf32>
  %wide = arith.constant 4294967295 : i64
  %i = tile.cast %wide from i64 to i32 : i64 -> i32
  return %q, %u, %t, %i : f8E4M3FN, f32, tensor<4xf32>, i32
}

// -----

// CHECK-LABEL: func.func @mma_of_transposes
// CHECK-NEXT: tile.mma %arg0, %arg1, %arg2 {trans_a} : tensor<8x4xf32>, tensor<8x16xf32>, tensor<4x16xf32>
func.func @mma_of_transposes(%a: tensor<8x4xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %at = tile.transpose %a : tensor<8x4xf32> -> tensor<4x8xf32>
  %bt = tile.transpose %b : tensor<8x16xf32> -> tensor<16x8xf32>
  %m = tile.mma %at, %bt, %c {trans_b} : tensor<4x8xf32>, tensor<16x8xf32>, tensor<4x16xf32>
  return %m : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @full_mask
// CHECK-NEXT: return %arg0
func.func @full_mask(%x: tensor<4xf32>, %f: f32) -> tensor<4xf32> {
  %lo = arith.constant 0 : index
  %hi = arith.constant 9 : index
  %m = tile.mask %x, %f bounds(%lo to %hi) : tensor<4xf32>
  return %m : tensor<4xf32>
}

// -----

// Equal loads are one, but not across a store; an unused load, buffer or mma goes; a prefetch and an atomic stay.
// CHECK-LABEL: func.func @effects
// CHECK: tile.load
// CHECK-NOT: tile.load
// CHECK: tile.store
// CHECK: tile.load
// CHECK: tile.store
// CHECK-NOT: tile.alloc_shared
// CHECK-NOT: tile.mma
// CHECK: tile.prefetch
// CHECK: tile.atomic
func.func @effects(%v: !tile.view<?x?xf32>, %i: index, %s: f32) {
  %a = tile.load %v[%i, %i] extents [4, 4] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  %b = tile.load %v[%i, %i] extents [4, 4] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  %c = arith.addf %a, %b : tensor<4x4xf32>
  tile.store %c, %v[%i, %i] extents [4, 4] : tensor<4x4xf32>, !tile.view<?x?xf32>
  %d = tile.load %v[%i, %i] extents [4, 4] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  tile.store %d, %v[%i, %i] extents [4, 4] : tensor<4x4xf32>, !tile.view<?x?xf32>
  %unused = tile.alloc_shared : !tile.buffer<4x4xf32, none>
  %m = tile.mma %a, %b, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  tile.prefetch %v[%i, %i] extents [4, 4] : !tile.view<?x?xf32>
  %old = tile.atomic add relaxed device %s, %v[%i, %i] : f32, !tile.view<?x?xf32> -> f32
  return
}

// -----

// Lanes differ: their ids stay inside the loop over them.
// CHECK-LABEL: func.func @lanes
// CHECK: scf.for
// CHECK: tile.group_info
func.func @lanes(%v: !tile.view<?xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %id = tile.group_info lane_id : i32
    tile.store_elem %id, %v[%i] : i32, !tile.view<?xi32>
  }
  return
}
