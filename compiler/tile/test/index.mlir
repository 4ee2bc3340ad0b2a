// RUN: tsr-opt %s | FileCheck %s
// RUN: tsr-opt %s --mlir-print-op-generic | tsr-opt | FileCheck %s
// #tile.index is the text of its expression, without parentheses and blanks that it does not need.

// CHECK: func.func private @attributes() attributes
// CHECK-SAME: calls = #tile.index<"ceildiv(M * (N - 1), min(64, -k)) + M % 3">
// CHECK-SAME: product = #tile.index<"2 * B*H">
// CHECK-SAME: sum = #tile.index<"M + N - 1">
func.func private @attributes() attributes {
  calls = #tile.index<"ceildiv(M*(N-1), min(64,-k)) + (mod(M, 3))">, product = #tile.index<"2 * B*H">, sum = #tile.index<"(M+N)-1">}

// CHECK-LABEL: tile.kernel @axes
// CHECK-SAME: grid ["ceildiv(M - 1, 64)", "M"]
tile.kernel @axes(%M: index) grid ["ceildiv((M)-1, 64)", "M"] attributes {params = [#tile.param<name = "M", kind = dim>]} {
  tile.return
}
