// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-unroll-reductions))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-unroll-reductions{target=ptx:sm_90a}))' | FileCheck %s --check-prefix=GPU

!picture = !graph.tensor<["H", 2, "W", 2], f32>
!half = !graph.tensor<["H", "W"], f32>

// Rows of a window are added first; a mean divides once.
// CHECK-LABEL: graph.func @windows
// CHECK: %[[A:.*]] = graph.slice %arg0 starts ["0", "0", "0", "0"] : {{.*}} -> !graph.tensor<["H", 1, "W", 1], f32>
// CHECK: %[[B:.*]] = graph.slice %arg0 starts ["0", "0", "0", "1"]
// CHECK: %[[T:.*]] = graph.binary add %[[A]], %[[B]]
// CHECK: %[[C:.*]] = graph.slice %arg0 starts ["0", "1", "0", "0"]
// CHECK: %[[D:.*]] = graph.slice %arg0 starts ["0", "1", "0", "1"]
// CHECK: %[[U:.*]] = graph.binary add %[[C]], %[[D]]
// CHECK: %[[S:.*]] = graph.binary add %[[T]], %[[U]]
// CHECK: %[[Z:.*]] = graph.binary add %[[S]], %cst
// CHECK: %[[M:.*]] = graph.binary div %[[Z]], %cst
// CHECK: graph.reshape %[[M]] : (!graph.tensor<["H", 1, "W", 1], f32>) -> !graph.tensor<["H", "W"], f32>
// CHECK-NOT: graph.reduce
graph.func @windows(%x: !picture) -> !half {
  %0 = graph.reduce mean %x axes [1, 3] : (!picture) -> !half
  graph.return %0 : !half
}

// With fixed reductions a mean divides along each axis.
// CHECK-LABEL: graph.func @strict
// CHECK-COUNT-3: graph.binary div
// CHECK-NOT: graph.binary div
graph.func @strict(%x: !picture) -> !half attributes {numerics = "strict"} {
  %0 = graph.reduce mean %x axes [1, 3] : (!picture) -> !half
  graph.return %0 : !half
}

// The last axis is folded by halves, another one in order.
// CHECK-LABEL: graph.func @last
// CHECK-COUNT-5: graph.slice
// CHECK: %[[A:.*]] = graph.binary maximum
// CHECK: %[[B:.*]] = graph.binary maximum %[[A]]
// CHECK: %[[C:.*]] = graph.binary maximum
// CHECK: graph.binary maximum %[[B]], %[[C]]
graph.func @last(%x: !graph.tensor<["N", 5], f32>) -> !graph.tensor<["N"], f32> {
  %0 = graph.reduce max %x axes [1] : (!graph.tensor<["N", 5], f32>) -> !graph.tensor<["N"], f32>
  graph.return %0 : !graph.tensor<["N"], f32>
}

// What only the reduction needs is computed of each slice. Narrow floats are added in f32.
// CHECK-LABEL: graph.func @computed
// CHECK: %[[X:.*]] = graph.slice %arg0 starts ["0", "0"]
// CHECK: %[[C:.*]] = graph.slice %arg1 starts ["0"]
// CHECK: %[[P:.*]] = graph.binary mul %[[X]], %[[C]] : {{.*}} -> !graph.tensor<["N", 1], f16>
// CHECK: graph.cast %[[P]] : {{.*}} -> !graph.tensor<["N", 1], f32>
// CHECK-NOT: !graph.tensor<["N", 2], f32>
graph.func @computed(%x: !graph.tensor<["N", 2], f16>, %c: !graph.tensor<[2], f16>) -> !graph.tensor<["N"], f16> {
  %0 = graph.binary mul %x, %c : (!graph.tensor<["N", 2], f16>, !graph.tensor<[2], f16>) -> !graph.tensor<["N", 2], f16>
  %1 = graph.reduce sum %0 axes [1] : (!graph.tensor<["N", 2], f16>) -> !graph.tensor<["N"], f16>
  graph.return %1 : !graph.tensor<["N"], f16>
}

// Short rows whose result is broadcast again, too. What others read as well is computed again.
// CHECK-LABEL: graph.func @rows
// CHECK: %[[D:.*]] = graph.binary sub %arg0, %arg1
// CHECK: %[[A:.*]] = graph.slice %arg0 starts ["0", "0"]
// CHECK: %[[P:.*]] = graph.binary sub %[[A]], %arg1 : {{.*}} -> !graph.tensor<["N", 1], f32>
// CHECK: graph.binary mul %[[P]], %[[P]]
// CHECK: graph.slice %arg0 starts ["0", "1"]
// CHECK: %[[S:.*]] = graph.binary add {{.*}}, %cst
// CHECK: graph.binary div %[[D]], %[[S]]
// A thread has a row of its own.
// GPU-LABEL: graph.func @rows
// GPU: graph.reduce
graph.func @rows(%x: !graph.tensor<["N", 2], f32>, %m: !graph.tensor<["N", 1], f32>) -> !graph.tensor<["N", 2], f32> {
  %0 = graph.binary sub %x, %m : (!graph.tensor<["N", 2], f32>, !graph.tensor<["N", 1], f32>) -> !graph.tensor<["N", 2], f32>
  %1 = graph.binary mul %0, %0 : (!graph.tensor<["N", 2], f32>, !graph.tensor<["N", 2], f32>) -> !graph.tensor<["N", 2], f32>
  %2 = graph.reduce sum %1 axes [1] {keep_dims} : (!graph.tensor<["N", 2], f32>) -> !graph.tensor<["N", 1], f32>
  %3 = graph.binary div %0, %2 : (!graph.tensor<["N", 2], f32>, !graph.tensor<["N", 1], f32>) -> !graph.tensor<["N", 2], f32>
  graph.return %3 : !graph.tensor<["N", 2], f32>
}

// A long last axis, an axis of unknown length, columns whose result is broadcast again, and positions stay.
// CHECK-LABEL: graph.func @others
// CHECK-COUNT-4: graph.reduce
// CHECK-NOT: graph.slice
graph.func @others(%x: !graph.tensor<["N", 8], f32>, %y: !graph.tensor<[2, "N"], f32>)
    -> (!graph.tensor<["N"], f32>, !graph.tensor<[2], f32>, !graph.tensor<[1, "N"], f32>, !graph.tensor<["N"], i32>) {
  %0 = graph.reduce sum %x axes [1] : (!graph.tensor<["N", 8], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.reduce sum %y axes [1] : (!graph.tensor<[2, "N"], f32>) -> !graph.tensor<[2], f32>
  %2 = graph.reduce sum %y axes [0] {keep_dims} : (!graph.tensor<[2, "N"], f32>) -> !graph.tensor<[1, "N"], f32>
  %3 = graph.reduce argmax %y axes [0] : (!graph.tensor<[2, "N"], f32>) -> !graph.tensor<["N"], i32>
  graph.return %0, %1, %2, %3 : !graph.tensor<["N"], f32>, !graph.tensor<[2], f32>, !graph.tensor<[1, "N"], f32>, !graph.tensor<["N"], i32>
}

// CHECK-LABEL: graph.func @unfused
// CHECK: graph.reduce
graph.func @unfused(%x: !picture) -> !half attributes {schedule.fusion = "none"} {
  %0 = graph.reduce mean %x axes [1, 3] : (!picture) -> !half
  graph.return %0 : !half
}
