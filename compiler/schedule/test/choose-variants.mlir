// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-choose-variants,schedule-form-groups))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-choose-variants))' | FileCheck %s --check-prefix=LIST

!mn = !graph.tensor<["M", "N"], f32>
!mk = !graph.tensor<["M", "K"], f32>
!kn = !graph.tensor<["K", "N"], f32>

// A library's product stands alone, its epilogue behind it; the other one keeps its own.
// CHECK-LABEL: graph.func @two
// CHECK-NOT: schedule.variants
// CHECK: %[[P:.*]] = schedule.group matmul(%arg0, %arg1) attributes
// CHECK-SAME: schedule.decision = {by = "mine", choice = "blas", legal = ["tile", "blas"]}
// CHECK-SAME: variant = "blas"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.matmul %{{[a-z0-9]+}}, %{{[a-z0-9]+}} :
// CHECK-NEXT: schedule.yield
// CHECK: %[[F:.*]] = graph.reshape %[[P]]
// CHECK: schedule.group map(%[[F]])
// CHECK: schedule.group matmul({{.*}} variant = "tile"
// CHECK: graph.matmul
// CHECK: graph.unary
graph.func @two(%x: !mk, %w: !kn) -> (!mn, !mn) attributes {schedule.variants = {
    "0" = {by = "mine", choice = "blas", legal = ["tile", "blas"]}, "1" = {by = "mine", choice = "tile"}}} {
  %0 = graph.matmul %x, %w : (!mk, !kn) -> !mn
  %1 = graph.unary exp %0 : (!mn) -> !mn
  %2 = graph.matmul %x, %w : (!mk, !kn) -> !mn
  %3 = graph.unary exp %2 : (!mn) -> !mn
  graph.return %1, %3 : !mn, !mn
}

// An empty dictionary asks for the numbers; no attribute, for nothing.
// LIST-LABEL: graph.func @list
// LIST: graph.matmul {{.*}} {schedule.choice = 0 : i64}
graph.func @list(%x: !mk, %w: !kn) -> !mn attributes {schedule.variants = {}} {
  %0 = graph.matmul %x, %w : (!mk, !kn) -> !mn
  graph.return %0 : !mn
}
// LIST-LABEL: graph.func @none
// LIST-NOT: schedule.choice
graph.func @none(%x: !mk, %w: !kn) -> !mn {
  %0 = graph.matmul %x, %w : (!mk, !kn) -> !mn
  graph.return %0 : !mn
}
