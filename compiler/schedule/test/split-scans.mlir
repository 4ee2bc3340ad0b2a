// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-split-scans{target=ptx:sm_90a}))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-split-scans{target=cpu:x86-64-v3}))' | FileCheck %s --check-prefix=CPU

!n = !graph.tensor<["N"], i32>
!mn = !graph.tensor<["M", "N"], i32>
!fmn = !graph.tensor<["M", "N"], f32>

// CPU-NOT: after

// CHECK-LABEL: graph.func @vector
// CHECK: %[[P:.*]] = graph.reduce sum %arg0 axes [0] parts 8192 : {{.*}} -> !graph.tensor<["ceildiv(N, 8192)"], i32>
// CHECK: %[[C:.*]] = graph.scan sum %[[P]] axis 0 :
// CHECK: graph.scan sum %arg0 axis 0 parts 8192 after %[[C]] :
graph.func @vector(%x: !n) -> !n {
  %0 = graph.scan sum %x axis 0 : (!n) -> !n
  graph.return %0 : !n
}

// Along an outer axis; extremes of floats have the same bits in any order.
// CHECK-LABEL: graph.func @columns
// CHECK: graph.reduce min %arg0 axes [0] parts 256
// CHECK: graph.scan min %arg0 axis 0 parts 256 after
graph.func @columns(%x: !fmn) -> !fmn {
  %0 = graph.scan min %x axis 0 : (!fmn) -> !fmn
  graph.return %0 : !fmn
}

// Rows of which the call has few, and long ones.
// CHECK-LABEL: graph.func @few
// CHECK: graph.scan prod %arg0 axis 1 parts 8192 after
graph.func @few(%x: !mn) -> !mn attributes {schedule.hints = {M = 3, N = 100000}} {
  %0 = graph.scan prod %x axis 1 : (!mn) -> !mn
  graph.return %0 : !mn
}

// Rows of unknown number, many rows, short rows, and sums of floats, whose bits depend on the order.
// CHECK-LABEL: graph.func @rows
// CHECK-NOT: after
graph.func @rows(%x: !mn) -> !mn {
  %0 = graph.scan sum %x axis 1 : (!mn) -> !mn
  graph.return %0 : !mn
}
graph.func @many(%x: !mn) -> !mn attributes {schedule.hints = {M = 1000, N = 100000}} {
  %0 = graph.scan sum %x axis 1 : (!mn) -> !mn
  graph.return %0 : !mn
}
graph.func @short(%x: !mn) -> !mn attributes {schedule.hints = {M = 3, N = 16383}} {
  %0 = graph.scan sum %x axis 1 : (!mn) -> !mn
  graph.return %0 : !mn
}
graph.func @floats(%x: !fmn) -> !fmn {
  %0 = graph.scan sum %x axis 0 : (!fmn) -> !fmn
  graph.return %0 : !fmn
}
