// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(graph-own-storage))' | FileCheck %s

// A parameter and the same value again are copied; the first use keeps the value's own memory.
// CHECK-LABEL: graph.func @twice
// CHECK: %[[Y:.*]] = graph.unary exp
// CHECK: %[[X1:.*]] = graph.broadcast %{{.*}}
// CHECK: %[[Y1:.*]] = graph.broadcast %[[Y]]
// CHECK: graph.return %[[X1]], %[[Y]], %[[Y1]]
graph.func @twice(%x: !graph.tensor<["n"], f32>)
    -> (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>)
    attributes {returns = ["result0", "result1", "result2"], params = [
      {name = "x", kind = "tensor", dtype = "f32", access = "read", dims = ["n"]},
      {name = "result0", kind = "result", dtype = "f32", access = "write", dims = ["n"]},
      {name = "result1", kind = "result", dtype = "f32", access = "write", dims = ["n"]},
      {name = "result2", kind = "result", dtype = "f32", access = "write", dims = ["n"]},
      {name = "n", kind = "dim"}]} {
  %y = graph.unary exp %x : (!graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32>
  graph.return %x, %y, %y : !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>
}
