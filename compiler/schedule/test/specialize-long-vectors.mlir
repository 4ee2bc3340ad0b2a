// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-specialize-long-vectors,graph.func(schedule-split-reductions))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-specialize-long-vectors{target=ptx:sm_90a})' | FileCheck %s --check-prefix=GPU

#x = #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>
#n = #tile.param<name = "N", kind = dim>
#r = #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = []>

// CHECK-LABEL: graph.func @total(
// CHECK-NOT: parts
// CHECK: graph.func @total.v0(
// CHECK-SAME: schedule.hints = {N = 131072 : i64}, schedule.variant_of = @total, schedule.when = ["N >= 131072"]
// CHECK: graph.reduce sum %{{.*}} axes [0] parts 65536
// GPU-NOT: total.v0
graph.func @total(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[], f32> attributes {params = [#x, #r, #n], returns = ["result"]} {
  %0 = graph.reduce sum %x axes [0] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[], f32>
  graph.return %0 : !graph.tensor<[], f32>
}
