// Tiles and variants of groups for GPUs: maps along one axis, transposes, rows of unknown length, parts of a sum.
// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-form-groups{target=ptx:sm_90a}))' | FileCheck %s

!x = !graph.tensor<["B", "H", "W", 3], f32>
!mn = !graph.tensor<["M", "N"], f32>

// CHECK-LABEL: graph.func @flat
// CHECK: schedule.group map{{.*}}{tile = array<i64: 1, 1024>{{.*}}<["3*B*H*W"], f32>
graph.func @flat(%x: !x) -> !x {
  %0 = graph.unary exp %x : (!x) -> !x
  graph.return %0 : !x
}

// CHECK-LABEL: graph.func @turned
// CHECK: schedule.group map{{.*}}{tile = array<i64: 32, 32>
// CHECK-NOT: schedule.variant
graph.func @turned(%x: !mn) -> !graph.tensor<["N", "M"], f32> {
  %0 = graph.transpose %x perm [1, 0] : (!mn) -> !graph.tensor<["N", "M"], f32>
  graph.return %0 : !graph.tensor<["N", "M"], f32>
}

// CHECK-LABEL: graph.func @rows
// CHECK: schedule.group reduce{{.*}}{tile = array<i64: 1, 2048>
// CHECK-SAME: "short", when = "N <= 256", body = "tile", order = tiles("256"), params = {columns = 256, rows = 4}
// CHECK-SAME: "general", body = "tile", order = tiles("2048"), params = {columns = 2048, rows = 1}
graph.func @rows(%x: !mn) -> !graph.tensor<["M"], f32> {
  %0 = graph.reduce sum %x axes [1] : (!mn) -> !graph.tensor<["M"], f32>
  graph.return %0 : !graph.tensor<["M"], f32>
}

// Rows that are read again have variants that keep them in registers, of a warp and of the block.
// CHECK-LABEL: graph.func @shifted
// CHECK: schedule.group reduce{{.*}}{tile = array<i64: 1, 2048>
// CHECK-SAME: "short", when = "N <= 256", body = "row", order = tiles("256"), params = {columns = 256, rows = 4}
// CHECK-SAME: "warp", when = "N <= 1024", body = "row", order = tiles("1024"), params = {columns = 1024, rows = 8}
// CHECK-SAME: "block", when = "N <= 8192", body = "row", order = tiles("8192"), params = {columns = 8192, rows = 1}
// CHECK-SAME: "general", body = "tile", order = tiles("2048"), params = {columns = 2048, rows = 1}
graph.func @shifted(%x: !mn) -> !mn {
  %0 = graph.reduce max %x axes [1] {keep_dims} : (!mn) -> !graph.tensor<["M", 1], f32>
  %1 = graph.binary sub %x, %0 : (!mn, !graph.tensor<["M", 1], f32>) -> !mn
  graph.return %1 : !mn
}

// A call whose rows fit: the general one is for others.
// CHECK-LABEL: graph.func @likely
// CHECK: schedule.group reduce{{.*}}{tile = array<i64: 2, 2048>
// CHECK-SAME: "row", when = "N <= 2048", body = "row", order = tiles("2048"), params = {columns = 2048, rows = 2}
// CHECK-SAME: "general", body = "tile", order = tiles("2048"), params = {columns = 2048, rows = 1}
graph.func @likely(%x: !mn) -> !mn attributes {schedule.hints = {M = 100, N = 1500}} {
  %0 = graph.reduce max %x axes [1] {keep_dims} : (!mn) -> !graph.tensor<["M", 1], f32>
  %1 = graph.binary sub %x, %0 : (!mn, !graph.tensor<["M", 1], f32>) -> !mn
  graph.return %1 : !mn
}

// CHECK-LABEL: graph.func @biased
// CHECK: schedule.group map{{.*}}{tile = array<i64: 2, 512>
// CHECK-SAME: "short", when = "N <= 64", body = "tile", order = exact, params = {columns = 64, rows = 64}
graph.func @biased(%x: !mn, %b: !graph.tensor<["N"], f32>) -> !mn {
  %0 = graph.binary add %x, %b : (!mn, !graph.tensor<["N"], f32>) -> !mn
  graph.return %0 : !mn
}

// A row alone, and its parts.
// CHECK-LABEL: graph.func @vector
// CHECK: schedule.group reduce{{.*}}{tile = array<i64: 1, 8192>
// CHECK: schedule.group reduce{{.*}}{tile = array<i64: 1, 8192>
graph.func @vector(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[], f32> {
  %0 = graph.reduce sum %x axes [0] parts 8192 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["ceildiv(N, 8192)"], f32>
  %1 = graph.reduce sum %0 axes [0] : (!graph.tensor<["ceildiv(N, 8192)"], f32>) -> !graph.tensor<[], f32>
  graph.return %1 : !graph.tensor<[], f32>
}
