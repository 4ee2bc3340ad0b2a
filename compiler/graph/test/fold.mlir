// RUN: tsr-opt %s --pass-pipeline='builtin.module(tile-simplify)' | FileCheck %s

!x = !graph.tensor<["N", 9], f32>
!part = !graph.tensor<["N - K", 5], f32>
!few = !graph.tensor<["M", 2], f32>

// A slice of a slice is one of the whole tensor.
// CHECK-LABEL: graph.func @slices
// CHECK-NEXT: %[[S:.*]] = graph.slice %arg0 starts ["K + 3", "2"] steps [1, 6]
// CHECK-NEXT: graph.return %[[S]]
graph.func @slices(%x: !x) -> !few {
  %0 = graph.slice %x starts ["K", "8"] steps [1, -2] : (!x) -> !part
  %1 = graph.slice %0 starts ["3", "3"] steps [1, -3] : (!part) -> !few
  graph.return %1 : !few
}

// Steps of 1 are left out, and so is a start of 0.
// CHECK-LABEL: graph.func @boxes
// CHECK-NEXT: %[[S:.*]] = graph.slice %arg0 starts ["K", "4"] : (!graph.tensor<["N", 9], f32>) -> !graph.tensor<["M", 2], f32>
// CHECK-NEXT: graph.return %[[S]]
graph.func @boxes(%x: !x) -> !few {
  %0 = graph.slice %x starts ["0", "1"] : (!x) -> !graph.tensor<["N", 6], f32>
  %1 = graph.slice %0 starts ["K", "1"] steps [1, 1] : (!graph.tensor<["N", 6], f32>) -> !part
  %2 = graph.slice %1 starts ["0", "2"] : (!part) -> !few
  graph.return %2 : !few
}

// A start in a slice with a step is multiplied by it; a step of 0 repeats one element.
// CHECK-LABEL: graph.func @factors
// CHECK-NEXT: %[[S:.*]] = graph.slice %arg0 starts ["1 + K * 2", "3"] steps [2, 0]
// CHECK-NEXT: graph.return %[[S]]
graph.func @factors(%x: !x) -> !few {
  %0 = graph.slice %x starts ["1", "3"] steps [2, 0] : (!x) -> !part
  %1 = graph.slice %0 starts ["K", "1"] : (!part) -> !few
  graph.return %1 : !few
}

// An update between them may change what the second would read.
schedule.kernel @clear(%x: !tile.view<?x?xf32>, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = write, dims = ["N", "9"]>, #tile.param<name = "N", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
  }
}
// CHECK-LABEL: graph.func @updated
// CHECK: %[[S:.*]] = graph.slice %arg0
// CHECK: graph.launch
// CHECK: graph.slice %[[S]]
graph.func @updated(%x: !x) -> (!few, !x) {
  %0 = graph.slice %x starts ["K", "1"] : (!x) -> !part
  %1 = graph.launch @clear(write %x) : (!x) -> !x
  %2 = graph.slice %0 starts ["3", "0"] : (!part) -> !few
  graph.return %2, %1 : !few, !x
}
