// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-simplify)' | FileCheck %s
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-simplify{explicit-masks})' | FileCheck %s --check-prefix=ALL

// Scalars fold, and values of which a mask does not depend; what may be masked does not, nor do loops that run once.
// CHECK-LABEL: tile.kernel @k
tile.kernel @k(%x: !tile.view<?xi32>, %o: !tile.view<?xi32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %yes = arith.constant true
  // CHECK-NOT: tile.broadcast
  %z = tile.broadcast %zero : i32 -> tensor<8xi32>
  // CHECK-NOT: arith.addi %c0
  %at = arith.addi %c0, %c0 : index
  // CHECK: %[[T:.*]] = tile.load %x[%c0]
  %t = tile.load %x[%at] extents [8] : !tile.view<?xi32> -> tensor<8xi32>
  // CHECK: %[[A:.*]] = arith.andi %[[T]]
  %a = arith.andi %t, %z : tensor<8xi32>
  // CHECK: %[[B:.*]] = arith.xori %[[A]], %[[A]]
  %b = arith.xori %a, %a : tensor<8xi32>
  // CHECK: %[[C:.*]] = arith.subi %[[B]], %[[T]]
  // CHECK: %[[D:.*]] = arith.subi %[[C]], %[[B]]
  %c = arith.subi %b, %t : tensor<8xi32>
  %d = arith.subi %c, %b : tensor<8xi32>
  // CHECK: %[[L:.*]] = scf.for
  %l = scf.for %i = %c0 to %c1 step %c1 iter_args(%v = %z) -> (tensor<8xi32>) {
    // CHECK: arith.addi
    %w = arith.addi %v, %d : tensor<8xi32>
    scf.yield %w : tensor<8xi32>
  }
  // A branch that is known is taken: its values keep their masks.
  // CHECK-NOT: scf.if
  %r = scf.if %yes -> (tensor<8xi32>) {
    scf.yield %l : tensor<8xi32>
  } else {
    scf.yield %t : tensor<8xi32>
  }
  // CHECK: tile.store %[[L]]
  tile.store %r, %o[%c0] extents [8] : tensor<8xi32>, !tile.view<?xi32>
  tile.return
}

// With explicit masks all of it folds.
// ALL-LABEL: tile.kernel @k
// ALL-NOT: arith.andi
// ALL-NOT: scf.for
// ALL: tile.store

// -----

// Arithmetic that saturates folds in neither mode, also where a loop that ran once was inlined around it: APFloat's 448 + 448
// is NaN. Casts and comparisons fold, and arithmetic of other dtypes beside it.
// CHECK-LABEL: func.func @saturating
// CHECK: arith.addf {{.*}} : f8E4M3FN
// CHECK: scf.for
// CHECK: arith.divf {{.*}} : tensor<4xf6E2M3FN>
// ALL-LABEL: func.func @saturating
// ALL-DAG: %[[YES:.*]] = arith.constant true
// ALL-DAG: %[[SIX:.*]] = arith.constant dense<6.000000e+00> : tensor<4xf32>
// ALL: %[[A:.*]] = arith.addf {{.*}} : f8E4M3FN
// ALL-NOT: scf.for
// ALL: %[[M:.*]] = arith.divf {{.*}} : tensor<4xf6E2M3FN>
// ALL-NEXT: return %[[A]], %[[M]], %[[YES]], %[[SIX]]
func.func @saturating() -> (f8E4M3FN, tensor<4xf6E2M3FN>, i1, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %largest = arith.constant 4.48e+02 : f8E4M3FN
  %zeros = arith.constant dense<0.0> : tensor<4xf6E2M3FN>
  %threes = arith.constant dense<3.0> : tensor<4xf32>
  %a = arith.addf %largest, %largest : f8E4M3FN
  %m = scf.for %i = %c0 to %c1 step %c1 iter_args(%v = %zeros) -> (tensor<4xf6E2M3FN>) {
    %w = arith.divf %v, %zeros : tensor<4xf6E2M3FN>
    scf.yield %w : tensor<4xf6E2M3FN>
  }
  %yes = arith.cmpf oeq, %largest, %largest : f8E4M3FN
  %six = arith.addf %threes, %threes : tensor<4xf32>
  return %a, %m, %yes, %six : f8E4M3FN, tensor<4xf6E2M3FN>, i1, tensor<4xf32>
}
