// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-form-groups),schedule-outline)' | FileCheck %s
// What is cast ends where the tensor that is read ends: positions are not compared with the extent. What is
// computed from integers has no end that the tile pipeline knows of.

// CHECK-LABEL: @widened.g0
// CHECK-NOT: tile.iota
// CHECK: tile.reduce sum
graph.func @widened(%x: !graph.tensor<["M", "N"], ui8>) -> !graph.tensor<["M"], i32> attributes {} {
  %0 = graph.cast %x : (!graph.tensor<["M", "N"], ui8>) -> !graph.tensor<["M", "N"], i32>
  %1 = graph.reduce sum %0 axes [1] : (!graph.tensor<["M", "N"], i32>) -> !graph.tensor<["M"], i32>
  graph.return %1 : !graph.tensor<["M"], i32>
}

// CHECK-LABEL: @squares.g0
// CHECK: tile.iota
// CHECK: tile.reduce sum
graph.func @squares(%x: !graph.tensor<["M", "N"], i32>) -> !graph.tensor<["M"], i32> attributes {} {
  %0 = graph.binary mul %x, %x : (!graph.tensor<["M", "N"], i32>, !graph.tensor<["M", "N"], i32>) -> !graph.tensor<["M", "N"], i32>
  %1 = graph.reduce sum %0 axes [1] : (!graph.tensor<["M", "N"], i32>) -> !graph.tensor<["M"], i32>
  graph.return %1 : !graph.tensor<["M"], i32>
}
