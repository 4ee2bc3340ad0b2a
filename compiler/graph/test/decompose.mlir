// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(graph-decompose))' | FileCheck %s

// CHECK-LABEL: graph.func @softmax
// CHECK: %[[M:.*]] = graph.reduce max %{{.*}} axes [1] {keep_dims}
// CHECK: %[[D:.*]] = graph.binary sub %{{.*}}, %[[M]]
// CHECK: %[[E:.*]] = graph.unary exp %[[D]]
// CHECK: %[[S:.*]] = graph.reduce sum %[[E]] axes [1] {keep_dims}
// CHECK: graph.binary div %[[E]], %[[S]]
graph.func @softmax(%x: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> {
  %0 = graph.softmax %x axis 1 : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
  graph.return %0 : !graph.tensor<["M", "N"], f32>
}

// Several axes: the last one first. Narrow floats add in f32 and round once.
// CHECK-LABEL: graph.func @sum
// CHECK: graph.cast %{{.*}} -> !graph.tensor<["M", "N"], f32>
// CHECK: graph.reduce sum %{{.*}} axes [1]
// CHECK: graph.reduce sum %{{.*}} axes [0]
// CHECK: graph.cast %{{.*}} -> !graph.tensor<[], bf16>
graph.func @sum(%x: !graph.tensor<["M", "N"], bf16>) -> !graph.tensor<[], bf16> {
  %0 = graph.reduce sum %x axes [0, 1] : (!graph.tensor<["M", "N"], bf16>) -> !graph.tensor<[], bf16>
  graph.return %0 : !graph.tensor<[], bf16>
}
