// A slice is inside its tensor: its elements have no mask of their own, of which vectors of narrow elements would get as few
// lanes as there are 64-bit indices in a register (docs/decisions/0188).
// RUN: tsr compile %s --emit tile --target cpu:x86-64-v3 | FileCheck %s --implicit-check-not=where
// RUN: tsr compile %s --emit tile --target cpu:x86-64-v4 | FileCheck %s --implicit-check-not=where

// CHECK-LABEL: tile.kernel @columns.g0
// CHECK: %[[T:.*]] = tile.gather %in0[
// CHECK-NOT: arith.cmpi
// CHECK: tile.store %[[T]], %out0
// CHECK-LABEL: graph.func @columns
module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  graph.func @columns(%x: !graph.tensor<["M", "2*N"], i8>) -> !graph.tensor<["M", "N"], i8> attributes {numerics = "standard", params = [
      #tile.param<name = "x", kind = tensor, dtype = i8, access = read, dims = ["M", "2*N"]>,
      #tile.param<name = "result", kind = result, dtype = i8, access = write, dims = ["M", "N"]>,
      #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %0 = graph.slice %x starts ["0", "1"] steps [1, 2] : (!graph.tensor<["M", "2*N"], i8>) -> !graph.tensor<["M", "N"], i8>
    graph.return %0 : !graph.tensor<["M", "N"], i8>
  }
}
