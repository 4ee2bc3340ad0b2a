// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-split-reductions))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-split-reductions{target=ptx:sm_90a}))' | FileCheck %s --check-prefix=GPU

!mn = !graph.tensor<["M", "N"], f32>

// What only the reduction needs is computed in the merged shape; a mean divides by all elements.
// CHECK-LABEL: graph.func @mean
// CHECK: %[[X:.*]] = graph.reshape %{{.*}} : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M*N"], f32>
// CHECK: %[[S:.*]] = graph.binary mul %[[X]], %[[X]] : {{.*}} -> !graph.tensor<["M*N"], f32>
// CHECK: %[[P:.*]] = graph.reduce sum %[[S]] axes [0] parts 65536 : {{.*}} -> !graph.tensor<["ceildiv(M*N, 65536)"], f32>
// CHECK: %[[T:.*]] = graph.reduce sum %[[P]] axes [0]
// CHECK: graph.dim "M*N"
// CHECK: %[[Q:.*]] = graph.binary div %[[T]]
// CHECK: graph.reshape %[[Q]] : (!graph.tensor<[], f32>) -> !graph.tensor<[1, 1], f32>
graph.func @mean(%x: !mn) -> !graph.tensor<[1, 1], f32> {
  %0 = graph.binary mul %x, %x : (!mn, !mn) -> !mn
  %1 = graph.reduce mean %0 axes [0, 1] {keep_dims} : (!mn) -> !graph.tensor<[1, 1], f32>
  graph.return %1 : !graph.tensor<[1, 1], f32>
}

// Axes that are known to be short are one reduction; narrow floats are added in f32.
// CHECK-LABEL: graph.func @short
// CHECK: %[[X:.*]] = graph.reshape %{{.*}} -> !graph.tensor<["B", 20], bf16>
// CHECK: %[[W:.*]] = graph.cast %[[X]]
// CHECK: %[[S:.*]] = graph.reduce sum %[[W]] axes [1] : (!graph.tensor<["B", 20], f32>) -> !graph.tensor<["B"], f32>
// CHECK: graph.cast %[[S]]
graph.func @short(%x: !graph.tensor<["B", 4, 5], bf16>) -> !graph.tensor<["B"], bf16> {
  %0 = graph.reduce sum %x axes [1, 2] : (!graph.tensor<["B", 4, 5], bf16>) -> !graph.tensor<["B"], bf16>
  graph.return %0 : !graph.tensor<["B"], bf16>
}

// A row that is broadcast has one of the two axes only; a value that is returned has its own shape; a
// transposition reads other positions; axes that are apart, and a search for positions.
// CHECK-LABEL: graph.func @left
// CHECK-NOT: graph.reshape
// CHECK-NOT: parts
graph.func @left(%x: !mn, %y: !graph.tensor<["N"], f32>, %z: !graph.tensor<["B", "M", "N"], f32>)
    -> (!mn, !graph.tensor<[], f32>, !graph.tensor<[], f32>, !graph.tensor<[], f32>, !graph.tensor<["M"], f32>, !graph.tensor<[], i32>) {
  %0 = graph.binary add %x, %y : (!mn, !graph.tensor<["N"], f32>) -> !mn
  %1 = graph.reduce sum %0 axes [0, 1] : (!mn) -> !graph.tensor<[], f32>
  %2 = graph.unary exp %x : (!mn) -> !mn
  %3 = graph.reduce sum %2 axes [0, 1] : (!mn) -> !graph.tensor<[], f32>
  %4 = graph.transpose %x perm [1, 0] : (!mn) -> !graph.tensor<["N", "M"], f32>
  %5 = graph.reduce max %4 axes [0, 1] : (!graph.tensor<["N", "M"], f32>) -> !graph.tensor<[], f32>
  %6 = graph.reduce max %z axes [0, 2] : (!graph.tensor<["B", "M", "N"], f32>) -> !graph.tensor<["M"], f32>
  %7 = graph.reduce argmax %y axes [0] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[], i32>
  graph.return %2, %1, %3, %5, %6, %7 : !mn, !graph.tensor<[], f32>, !graph.tensor<[], f32>, !graph.tensor<[], f32>, !graph.tensor<["M"], f32>, !graph.tensor<[], i32>
}

// Only a vector that is known to be long has parts; of a GPU, which has many units, each one that is not known to be short.
// CHECK-LABEL: graph.func @vector
// CHECK-NOT: parts
// CHECK-LABEL: graph.func @find
// CHECK-NOT: parts
// GPU-LABEL: graph.func @vector
// GPU: graph.reduce sum %{{.*}} axes [0] parts 8192
// A search has positions of parts, and the lowest of those that have the extreme of all.
// GPU-LABEL: graph.func @find
// GPU: %[[I:.*]] = graph.reduce argmin %arg0 axes [0] parts 256 {{.*}} -> !graph.tensor<["ceildiv(M, 256)", "N"], i32>
// GPU: %[[V:.*]] = graph.gather %arg0[%[[I]]] along [-1, 1]
// GPU: %[[B:.*]] = graph.reduce min %[[V]] axes [0] {keep_dims}
// GPU: %[[E:.*]] = graph.binary eq %[[V]], %[[B]]
// GPU: %[[N:.*]] = graph.binary ne %[[V]], %[[V]]
// GPU: %[[W:.*]] = graph.binary or %[[E]], %[[N]]
// GPU: %[[P:.*]] = graph.select %[[W]], %[[I]], %{{.*}}
// GPU: %[[Y:.*]] = graph.reduce min %[[P]] axes [0]
// GPU: graph.select %{{.*}}, %{{.*}}, %[[Y]]
// GPU-LABEL: graph.func @columns
// GPU: graph.reduce sum %{{.*}} axes [0] parts 256 {{.*}} -> !graph.tensor<["ceildiv(M, 256)", "N"], f32>
// GPU: graph.reduce sum %{{.*}} axes [0] :
// GPU-LABEL: graph.func @few
// GPU-NOT: parts
// GPU-LABEL: graph.func @long
// CHECK-LABEL: graph.func @long
// CHECK: graph.reduce sum %{{.*}} axes [0] parts 65536
graph.func @vector(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[], f32> {
  %0 = graph.reduce sum %x axes [0] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[], f32>
  graph.return %0 : !graph.tensor<[], f32>
}
graph.func @find(%x: !mn) -> !graph.tensor<["N"], i32> {
  %0 = graph.reduce argmin %x axes [0] : (!mn) -> !graph.tensor<["N"], i32>
  graph.return %0 : !graph.tensor<["N"], i32>
}
graph.func @columns(%x: !mn) -> !graph.tensor<["N"], f32> {
  %0 = graph.reduce sum %x axes [0] : (!mn) -> !graph.tensor<["N"], f32>
  graph.return %0 : !graph.tensor<["N"], f32>
}
graph.func @few(%x: !mn, %y: !graph.tensor<[300, "N"], f32>) -> (!graph.tensor<["M"], f32>, !graph.tensor<["N"], f32>) {
  %0 = graph.reduce sum %x axes [1] : (!mn) -> !graph.tensor<["M"], f32>
  %1 = graph.reduce sum %y axes [0] : (!graph.tensor<[300, "N"], f32>) -> !graph.tensor<["N"], f32>
  graph.return %0, %1 : !graph.tensor<["M"], f32>, !graph.tensor<["N"], f32>
}
graph.func @long(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[], f32> attributes {schedule.hints = {N = 1000000}} {
  %0 = graph.reduce sum %x axes [0] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[], f32>
  graph.return %0 : !graph.tensor<[], f32>
}
