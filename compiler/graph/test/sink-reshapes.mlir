// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(graph-sink-reshapes))' | FileCheck %s

// The columns of a matrix and what is computed from them. A tensor beside them gets their axes; a reshape back is none.
// CHECK-LABEL: graph.func @columns
// CHECK-SAME: (%[[X:.*]]: !graph.tensor<["N", 2], f32>, %[[C:.*]]: !graph.tensor<["N"], f32>)
// CHECK: %[[S:.*]] = graph.slice %[[X]] starts ["0", "1"]
// CHECK: %[[W:.*]] = graph.reshape %[[C]] : {{.*}} -> !graph.tensor<["N", 1], f32>
// CHECK: %[[P:.*]] = graph.binary mul %[[S]], %[[W]] : {{.*}} -> !graph.tensor<["N", 1], f32>
// CHECK: %[[E:.*]] = graph.unary exp %[[P]] : {{.*}} -> !graph.tensor<["N", 1], f32>
// CHECK: graph.concat %[[E]], %[[S]] axis 1
graph.func @columns(%x: !graph.tensor<["N", 2], f32>, %c: !graph.tensor<["N"], f32>) -> !graph.tensor<["N", 2], f32> {
  %s = graph.slice %x starts ["0", "1"] : (!graph.tensor<["N", 2], f32>) -> !graph.tensor<["N", 1], f32>
  %0 = graph.reshape %s : (!graph.tensor<["N", 1], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.binary mul %0, %c : (!graph.tensor<["N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %2 = graph.unary exp %1 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %3 = graph.reshape %2 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N", 1], f32>
  %4 = graph.reshape %0 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N", 1], f32>
  %5 = graph.concat %3, %4 axis 1 : (!graph.tensor<["N", 1], f32>, !graph.tensor<["N", 1], f32>) -> !graph.tensor<["N", 2], f32>
  graph.return %5 : !graph.tensor<["N", 2], f32>
}

// A tensor without the axes before the dropped one stays as it is; the result has the dtype of the comparison.
// CHECK-LABEL: graph.func @middle
// CHECK: %[[S:.*]] = graph.slice
// CHECK: graph.reshape %{{.*}} : (!graph.tensor<["B", 1], f32>) -> !graph.tensor<["B", 1, 1], f32>
// CHECK: %[[P:.*]] = graph.binary mul %[[S]], %{{.*}} -> !graph.tensor<["B", 1, "N"], f32>
// CHECK: %[[L:.*]] = graph.binary lt %[[P]], %arg1 : {{.*}} -> !graph.tensor<["B", 1, "N"], i1>
// CHECK: graph.reshape %[[L]] : {{.*}} -> !graph.tensor<["B", "N"], i1>
graph.func @middle(%x: !graph.tensor<["B", 2, "N"], f32>, %c: !graph.tensor<["N"], f32>, %d: !graph.tensor<["B", 1], f32>) -> !graph.tensor<["B", "N"], i1> {
  %s = graph.slice %x starts ["0", "1", "0"] : (!graph.tensor<["B", 2, "N"], f32>) -> !graph.tensor<["B", 1, "N"], f32>
  %0 = graph.reshape %s : (!graph.tensor<["B", 1, "N"], f32>) -> !graph.tensor<["B", "N"], f32>
  %1 = graph.binary mul %0, %d : (!graph.tensor<["B", "N"], f32>, !graph.tensor<["B", 1], f32>) -> !graph.tensor<["B", "N"], f32>
  %2 = graph.binary lt %1, %c : (!graph.tensor<["B", "N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["B", "N"], i1>
  graph.return %2 : !graph.tensor<["B", "N"], i1>
}

// What a reduction reads is part of its group, and what is computed beside the column stays in its own.
// CHECK-LABEL: graph.func @kept
// CHECK: graph.reshape
// CHECK: graph.unary exp %{{.*}} -> !graph.tensor<["N"], f32>
// CHECK: graph.binary add %{{.*}} -> !graph.tensor<["N"], f32>
// CHECK: graph.unary neg %{{.*}} -> !graph.tensor<["N"], f32>
// CHECK: graph.reduce
graph.func @kept(%x: !graph.tensor<["N", 2], f32>, %c: !graph.tensor<["N"], f32>) -> (!graph.tensor<["N"], f32>, !graph.tensor<[], f32>) {
  %s = graph.slice %x starts ["0", "0"] : (!graph.tensor<["N", 2], f32>) -> !graph.tensor<["N", 1], f32>
  %0 = graph.reshape %s : (!graph.tensor<["N", 1], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.unary exp %c : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %2 = graph.binary add %0, %1 : (!graph.tensor<["N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %3 = graph.unary neg %0 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %4 = graph.reduce sum %3 axes [0] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[], f32>
  graph.return %2, %4 : !graph.tensor<["N"], f32>, !graph.tensor<[], f32>
}

// Rows of a matrix: the dropped axis is the first one.
// CHECK-LABEL: graph.func @rows
// CHECK-SAME: (%[[X:.*]]: !graph.tensor<["M", "N"], f32>, %[[C:.*]]: !graph.tensor<["N"], f32>, %[[D:.*]]: !graph.tensor<[], f32>)
// CHECK: %[[S:.*]] = graph.slice %[[X]]
// CHECK: %[[E:.*]] = graph.unary exp %[[S]] : {{.*}} -> !graph.tensor<[1, "N"], f32>
// CHECK: %[[W:.*]] = graph.reshape %[[C]] : {{.*}} -> !graph.tensor<[1, "N"], f32>
// CHECK: %[[P:.*]] = graph.binary mul %[[E]], %[[W]] : {{.*}} -> !graph.tensor<[1, "N"], f32>
// CHECK: %[[A:.*]] = graph.binary add %[[P]], %[[D]] : {{.*}} -> !graph.tensor<[1, "N"], f32>
// CHECK: graph.reshape %[[A]] : {{.*}} -> !graph.tensor<["N"], f32>
graph.func @rows(%x: !graph.tensor<["M", "N"], f32>, %c: !graph.tensor<["N"], f32>, %d: !graph.tensor<[], f32>) -> !graph.tensor<["N"], f32> {
  %s = graph.slice %x starts ["0", "0"] : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<[1, "N"], f32>
  %0 = graph.reshape %s : (!graph.tensor<[1, "N"], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.unary exp %0 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %2 = graph.binary mul %1, %c : (!graph.tensor<["N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %3 = graph.binary add %2, %d : (!graph.tensor<["N"], f32>, !graph.tensor<[], f32>) -> !graph.tensor<["N"], f32>
  graph.return %3 : !graph.tensor<["N"], f32>
}
