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

// Query heads that share a key head are its queries. A causal mask of one query hides nothing.
// CHECK-LABEL: graph.func @shared
// CHECK-SAME: (%[[Q:.*]]: !graph.tensor<["B", "G*H", 1, 64], f32>
// CHECK: %[[R:.*]] = graph.reshape %[[Q]] : {{.*}} -> !graph.tensor<["B", "H", "G*H // max(H, 1)", 64], f32>
// CHECK: %[[A:.*]] = graph.attention %[[R]], %{{.*}}, %{{.*}} mask %{{.*}} -> !graph.tensor<["B", "H", "G*H // max(H, 1)", 64], f32>
// CHECK-NOT: causal
// CHECK: graph.reshape %[[A]] : {{.*}} -> !graph.tensor<["B", "G*H", 1, 64], f32>
graph.func @shared(%q: !graph.tensor<["B", "G*H", 1, 64], f32>, %k: !graph.tensor<["B", "H", "S", 64], f32>, %m: !graph.tensor<["B", 1, 1, "S"], i1>) -> !graph.tensor<["B", "G*H", 1, 64], f32> {
  %0 = graph.attention %q, %k, %k mask %m {causal} : (!graph.tensor<["B", "G*H", 1, 64], f32>, !graph.tensor<["B", "H", "S", 64], f32>, !graph.tensor<["B", "H", "S", 64], f32>, !graph.tensor<["B", 1, 1, "S"], i1>) -> !graph.tensor<["B", "G*H", 1, 64], f32>
  graph.return %0 : !graph.tensor<["B", "G*H", 1, 64], f32>
}

// CHECK-LABEL: graph.func @several
// CHECK: graph.attention %{{.*}} -> !graph.tensor<[2, "4*S", 64], f32>
graph.func @several(%q: !graph.tensor<[8, "S", 64], f32>, %k: !graph.tensor<[2, "T", 64], f32>) -> !graph.tensor<[8, "S", 64], f32> {
  %0 = graph.attention %q, %k, %k : (!graph.tensor<[8, "S", 64], f32>, !graph.tensor<[2, "T", 64], f32>, !graph.tensor<[2, "T", 64], f32>) -> !graph.tensor<[8, "S", 64], f32>
  graph.return %0 : !graph.tensor<[8, "S", 64], f32>
}

// A causal mask of several queries, a bias of each head and extents without a quotient keep their heads.
// CHECK-LABEL: graph.func @apart
// CHECK-NOT: graph.reshape
// CHECK: graph.return
graph.func @apart(%q: !graph.tensor<[8, "S", 64], f32>, %k: !graph.tensor<[2, "S", 64], f32>, %b: !graph.tensor<[8, 1, "S"], f32>, %r: !graph.tensor<["H", "S", 64], f32>) {
  %0 = graph.attention %q, %k, %k {causal} : (!graph.tensor<[8, "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>) -> !graph.tensor<[8, "S", 64], f32>
  %1 = graph.attention %q, %k, %k bias %b : (!graph.tensor<[8, "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>, !graph.tensor<[8, 1, "S"], f32>) -> !graph.tensor<[8, "S", 64], f32>
  %2 = graph.attention %r, %k, %k : (!graph.tensor<["H", "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>, !graph.tensor<[2, "S", 64], f32>) -> !graph.tensor<["H", "S", 64], f32>
  graph.return
}

// Channels of a converted picture are converted channels. The second picture is used as a whole, too.
// CHECK-LABEL: graph.func @parts
// CHECK-SAME: (%[[X:.*]]: !graph.tensor<["H", "W", 3], ui8>, %[[Y:.*]]: !graph.tensor<["N"], ui8>
// CHECK: %[[S:.*]] = graph.slice %[[X]] starts ["0", "0", "1"] : {{.*}} -> !graph.tensor<["H", "W", 1], ui8>
// CHECK: %[[R:.*]] = graph.reshape %[[S]] : {{.*}} -> !graph.tensor<["H", "W"], ui8>
// CHECK: graph.cast %[[R]] : {{.*}} -> !graph.tensor<["H", "W"], f32>
// CHECK: %[[C:.*]] = graph.cast %[[Y]]
// CHECK: graph.slice %[[C]]
graph.func @parts(%x: !graph.tensor<["H", "W", 3], ui8>, %y: !graph.tensor<["N"], ui8>) {
  %0 = graph.cast %x : (!graph.tensor<["H", "W", 3], ui8>) -> !graph.tensor<["H", "W", 3], f32>
  %1 = graph.slice %0 starts ["0", "0", "1"] : (!graph.tensor<["H", "W", 3], f32>) -> !graph.tensor<["H", "W", 1], f32>
  %2 = graph.reshape %1 : (!graph.tensor<["H", "W", 1], f32>) -> !graph.tensor<["H", "W"], f32>
  %3 = graph.cast %y : (!graph.tensor<["N"], ui8>) -> !graph.tensor<["N"], f32>
  %4 = graph.slice %3 starts ["1"] : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N - 1"], f32>
  %5 = graph.unary abs %3 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  graph.return
}
