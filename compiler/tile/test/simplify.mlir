// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile-simplify)' | FileCheck %s

// Scalars fold, and values of which a mask does not depend; what may be masked does not, nor do loops that run once.
// CHECK-LABEL: tile.kernel @k
tile.kernel @k(%x: !tile.view<?xi32>, %o: !tile.view<?xi32>, %n: index) grid [] attributes {params = [
    {name = "x", kind = "tensor", dtype = "i32", dims = ["n"], access = "read"},
    {name = "o", kind = "tensor", dtype = "i32", dims = ["n"], access = "write"}, {name = "n", kind = "dim"}]} {
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
