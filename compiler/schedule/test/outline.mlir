// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-outline)' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-outline,target-describe-functions)' | FileCheck %s --check-prefix=PLAN

// One walk for the sum, one that stores; rows and columns of the tile as decided.
// CHECK-LABEL: schedule.kernel @normalize.g0(%in0: !tile.view<?x?xf32>, %out0: !tile.view<?x?xf32>, %M: index,
// CHECK: schedule.grid (%i0) = ("0") to ("M") step ("4") names ["i0"]
// CHECK: scf.for
// CHECK: tile.load %in0[%{{.*}}, %{{.*}}] extents [4, 128]
// CHECK: tile.reduce sum %{{.*}} axis 1 : tensor<4x128xf32> -> tensor<4xf32>
// CHECK: scf.for
// CHECK: arith.divf
// CHECK: tile.store %{{.*}}, %out0[%{{.*}}, %{{.*}}] extents [4, 128]

// CHECK-LABEL: graph.func @normalize
// CHECK: graph.launch @normalize.g0(%{{.*}}) {dims = ["M", "2*N"], effects = ["read"]}

// PLAN: target.function_info "normalize" metadata
// PLAN-SAME: {kernel: normalize.g0, args: [x, result, M, 2*N]}
!t = !graph.tensor<["M", "2*N"], f32>
graph.func @normalize(%x: !t) -> !t attributes {returns = ["result"], params = [
    {name = "x", kind = "tensor", dtype = "f32", access = "read", dims = ["M", "2*N"]},
    {name = "result", kind = "result", dtype = "f32", access = "write", dims = ["M", "2*N"]},
    {name = "M", kind = "dim"}, {name = "N", kind = "dim"}]} {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 4, 128>} : (!t) -> !t {
  ^bb0(%a: !t):
    %1 = graph.reduce sum %a axes [1] {keep_dims} : (!t) -> !graph.tensor<["M", 1], f32>
    %2 = graph.binary div %a, %1 : (!t, !graph.tensor<["M", 1], f32>) -> !t
    schedule.yield %2 : !t
  }
  graph.return %0 : !t
}
