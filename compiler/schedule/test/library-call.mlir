// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-outline)' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-outline,target-describe-functions)' | FileCheck %s --check-prefix=PLAN
// RUN: not tsr-opt %s --pass-pipeline='builtin.module(schedule-outline{target=ptx:sm_90})' 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: sed 's/attributes {returns/attributes {numerics = "deterministic", returns/' %s | not tsr-opt --pass-pipeline='builtin.module(schedule-outline)' 2>&1 | FileCheck %s --check-prefix=PROFILE

// GPU: TSR_UNIMPLEMENTED: graph.matmul has no variant 'blas' here: backend ptx calls no libraries
// PROFILE: TSR_UNIMPLEMENTED: graph.matmul has no variant 'blas' here: numerics profile deterministic fixes the order of summation

// CHECK-LABEL: graph.func @batched
// CHECK: graph.library_call "blas.gemm.f32.nt.a"(%{{.*}}, %{{.*}}) dims ["B * (H + 1)", "M", "K", "N"] {schedule.decision = {by = "ir", choice = "blas"}}
// PLAN: {call: blas.gemm.f32.nt.a, args: [x, w, result, B * (H + 1), M, K, N]}
// PLAN-SAME: {op: matmul, step: 0, choice: blas, by: ir}
!x = !graph.tensor<["B", "H + 1", "M", "K"], f32>
!w = !graph.tensor<["N", "K"], f32>
!y = !graph.tensor<["B", "H + 1", "M", "N"], f32>
graph.func @batched(%x: !x, %w: !w) -> !y attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["B", "H", "M", "K"]>,
    #tile.param<name = "w", kind = tensor, dtype = f32, access = read, dims = ["N", "K"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["B", "H", "M", "N"]>,
    #tile.param<name = "B", kind = dim>, #tile.param<name = "H", kind = dim>, #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>,
    #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group matmul(%x, %w) attributes {tile = array<i64: 96, 256, 256>, variant = "blas"} : (!x, !w) -> !y {
  ^bb0(%a: !x, %b: !w):
    %1 = graph.matmul %a, %b {trans_b} : (!x, !w) -> !y
    schedule.yield %1 : !y
  }
  graph.return %0 : !y
}
