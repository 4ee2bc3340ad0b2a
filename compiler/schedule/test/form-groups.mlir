// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(schedule-form-groups))' | FileCheck %s
// RUN: sed 's/attributes {}/attributes {schedule.fusion = "none"}/' %s | tsr-opt --pass-pipeline='builtin.module(graph.func(schedule-form-groups))' | FileCheck %s --check-prefix=NONE

!mn = !graph.tensor<["M", "N"], f32>

// Bias, activation and residual are the product's epilogue.
// CHECK-LABEL: graph.func @epilogue
// CHECK: schedule.group matmul({{.*}}) attributes {tile = array<i64: 48, 64, 256>, variants = [#schedule.variant<"general", body = "tile", order = extents, cost = "{{.*}}">]}
// CHECK: graph.matmul
// CHECK: graph.binary add
// CHECK: graph.unary gelu
// CHECK: graph.binary add
// CHECK: schedule.yield
// CHECK-NOT: schedule.group
// CHECK: graph.return
// NONE-LABEL: graph.func @epilogue
// NONE-COUNT-4: schedule.group
graph.func @epilogue(%x: !graph.tensor<["M", "K"], f32>, %w: !graph.tensor<["K", "N"], f32>,
                     %b: !graph.tensor<["N"], f32>, %r: !mn) -> !mn attributes {} {
  %0 = graph.matmul %x, %w : (!graph.tensor<["M", "K"], f32>, !graph.tensor<["K", "N"], f32>) -> !mn
  %1 = graph.binary add %0, %b : (!mn, !graph.tensor<["N"], f32>) -> !mn
  %2 = graph.unary gelu %1 : (!mn) -> !mn
  %3 = graph.binary add %2, %r : (!mn, !mn) -> !mn
  graph.return %3 : !mn
}

// The first request that holds for the target gives the tile; there are then no variants.
// A target that does not exist is reported.
// CHECK-LABEL: graph.func @specialized
// CHECK-SAME: fallbacks = ["@ts.op.specialize for 'none' has no effect: there is no such target", "@ts.op.specialize for 'cpu:none' has no effect: there is no such target"]
// CHECK: schedule.group matmul({{.*}}) attributes {schedule.decision = {by = "@ts.op.specialize", choice = "tile"}, tile = array<i64: 16, 24, 40>, variant = "tile"}
// CHECK: schedule.group matmul({{.*}}) attributes {tile = array<i64: 48, 64, 256>
graph.func @specialized(%x: !graph.tensor<["N", "N"], f32>) -> (!graph.tensor<["N", "N"], f32>, !graph.tensor<["N", "N"], f32>) {
  %0 = graph.matmul %x, %x {specialize = [{backend = "ptx", tile_sizes = array<i64: 8, 8, 8>}, {arch = "none", tile_sizes = array<i64: 8, 8, 8>}, {backend = "cpu", tile_sizes = array<i64: 16, 24, 40>}, {tile_sizes = array<i64: 32, 32, 32>}]} : (!graph.tensor<["N", "N"], f32>, !graph.tensor<["N", "N"], f32>) -> !graph.tensor<["N", "N"], f32>
  %1 = graph.matmul %0, %x {specialize = [{backend = "cpu", arch = "none", tile_sizes = array<i64: 8, 8, 8>}]} : (!graph.tensor<["N", "N"], f32>, !graph.tensor<["N", "N"], f32>) -> !graph.tensor<["N", "N"], f32>
  graph.return %0, %1 : !graph.tensor<["N", "N"], f32>, !graph.tensor<["N", "N"], f32>
}

// A sum along rows that is then used along columns cannot stay in the group: its axes differ.
// CHECK-LABEL: graph.func @misaligned
// CHECK-COUNT-2: schedule.group
graph.func @misaligned(%x: !graph.tensor<["N", "N"], f32>) -> !graph.tensor<["N", "N"], f32> {
  %0 = graph.reduce sum %x axes [1] : (!graph.tensor<["N", "N"], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.binary add %x, %0 : (!graph.tensor<["N", "N"], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N", "N"], f32>
  graph.return %1 : !graph.tensor<["N", "N"], f32>
}

// A dim is a scalar of the host; what is made of it is computed in the group.
// CHECK-LABEL: graph.func @dim
// CHECK: %[[N:.*]] = graph.dim "N" : i64
// CHECK: schedule.group map(%{{.*}}, %[[N]])
// CHECK: graph.broadcast %{{.*}} : (i64) -> !graph.tensor<[], i64>
// CHECK: graph.cast
// CHECK: graph.binary div
graph.func @dim(%x: !mn) -> !mn {
  %0 = graph.dim "N" : !graph.tensor<[], i64>
  %1 = graph.cast %0 : (!graph.tensor<[], i64>) -> !graph.tensor<[], f32>
  %2 = graph.binary div %x, %1 : (!mn, !graph.tensor<[], f32>) -> !mn
  graph.return %2 : !mn
}

// A slice whose start is of a dim that no tensor of the group has: the dim is an input.
// CHECK-LABEL: graph.func @element
// CHECK: %[[K:.*]] = graph.dim "K" : i64
// CHECK: schedule.group map(%{{.*}}, %[[K]])
graph.func @element(%x: !graph.tensor<["N"], f32>) -> !graph.tensor<[1], f32> {
  %0 = graph.slice %x starts ["K"] : (!graph.tensor<["N"], f32>) -> !graph.tensor<[1], f32>
  graph.return %0 : !graph.tensor<[1], f32>
}

// A dim may be an expression. It is found as an operand of a start, not as a part of its text: "2*S + T" is an input.
// CHECK-LABEL: graph.func @operands
// CHECK-NOT: graph.dim
// CHECK: %[[START:.*]] = graph.dim "2*S + T" : i64
// CHECK-NOT: graph.dim
// CHECK: schedule.group map(%{{.*}}, %{{.*}}, %[[START]])
!st = !graph.tensor<["S+T"], f32>
graph.func @operands(%x: !st, %y: !graph.tensor<["M"], f32>) -> !graph.tensor<["S + T"], f32> {
  %0 = graph.slice %y starts ["2 * (S + T)"] : (!graph.tensor<["M"], f32>) -> !st
  %1 = graph.slice %y starts ["2*S + T"] : (!graph.tensor<["M"], f32>) -> !st
  %2 = graph.binary add %0, %1 : (!st, !st) -> !st
  %3 = graph.binary add %x, %2 : (!st, !st) -> !st
  graph.return %3 : !st
}

// A cast to a wider type is computed where it is read: by both groups, each for itself, and of a row beside the whole.
// CHECK-LABEL: graph.func @widened
// CHECK: schedule.group map(%arg0, %arg1)
// CHECK-COUNT-2: graph.cast
// CHECK: schedule.yield
// CHECK: schedule.group reduce(%arg0)
// CHECK-COUNT-1: graph.cast
// CHECK: schedule.yield
// CHECK-NOT: graph.cast
// CHECK: graph.return
// NONE-LABEL: graph.func @widened
// NONE-COUNT-4: schedule.group
graph.func @widened(%x: !graph.tensor<["M", "N"], bf16>, %r: !graph.tensor<["N"], bf16>) -> (!mn, !graph.tensor<["M"], f32>) attributes {} {
  %0 = graph.cast %x : (!graph.tensor<["M", "N"], bf16>) -> !mn
  %1 = graph.cast %r : (!graph.tensor<["N"], bf16>) -> !graph.tensor<["N"], f32>
  %2 = graph.binary mul %0, %1 : (!mn, !graph.tensor<["N"], f32>) -> !mn
  %3 = graph.reduce max %0 axes [1] : (!mn) -> !graph.tensor<["M"], f32>
  graph.return %2, %3 : !mn, !graph.tensor<["M"], f32>
}

// So is a slice: one group reads the tensor at three places.
// CHECK-LABEL: graph.func @stencil
// CHECK-COUNT-1: schedule.group map(%arg0)
// CHECK-COUNT-3: graph.slice
// CHECK: schedule.yield
// CHECK-NOT: schedule.group
// CHECK: graph.return
!part = !graph.tensor<["N - 2"], f32>
graph.func @stencil(%x: !graph.tensor<["N"], f32>) -> !part {
  %0 = graph.slice %x starts ["0"] : (!graph.tensor<["N"], f32>) -> !part
  %1 = graph.slice %x starts ["1"] : (!graph.tensor<["N"], f32>) -> !part
  %2 = graph.slice %x starts ["2"] : (!graph.tensor<["N"], f32>) -> !part
  %3 = graph.binary add %0, %1 : (!part, !part) -> !part
  %4 = graph.binary add %3, %2 : (!part, !part) -> !part
  graph.return %4 : !part
}

// A product and the host need it as a tensor: it is stored.
// CHECK-LABEL: graph.func @stored
// CHECK: schedule.group map(
// CHECK: graph.cast
// CHECK: schedule.group matmul
// CHECK-NOT: graph.cast
// CHECK: graph.return
graph.func @stored(%x: !graph.tensor<["M", "K"], bf16>, %w: !graph.tensor<["K", "N"], f32>) -> !mn attributes {} {
  %0 = graph.cast %x : (!graph.tensor<["M", "K"], bf16>) -> !graph.tensor<["M", "K"], f32>
  %1 = graph.matmul %0, %w : (!graph.tensor<["M", "K"], f32>, !graph.tensor<["K", "N"], f32>) -> !mn
  graph.return %1 : !mn
}

// What only a reduction reads is no epilogue.
// CHECK-LABEL: graph.func @reduced
// CHECK: schedule.group matmul
// CHECK-NEXT: bb0
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: schedule.yield
// CHECK: schedule.group reduce
// CHECK: graph.binary mul
// CHECK: graph.reduce sum
graph.func @reduced(%x: !graph.tensor<["M", "K"], f32>, %w: !graph.tensor<["K", "N"], f32>) -> !graph.tensor<["M"], f32> attributes {} {
  %0 = graph.matmul %x, %w : (!graph.tensor<["M", "K"], f32>, !graph.tensor<["K", "N"], f32>) -> !mn
  %1 = graph.binary mul %0, %0 : (!mn, !mn) -> !mn
  %2 = graph.reduce sum %1 axes [1] : (!mn) -> !graph.tensor<["M"], f32>
  graph.return %2 : !graph.tensor<["M"], f32>
}

// Elementwise operations on whole tensors and single elements: one axis, whatever the tensors' are.
// CHECK-LABEL: graph.func @collapsed
// CHECK: %[[FLAT:.*]] = graph.reshape %arg0 : (!graph.tensor<["M", 3, "N"], f32>) -> !graph.tensor<["3*M*N"], f32>
// CHECK: %[[SUM:.*]] = schedule.group map(%[[FLAT]], %arg1) attributes {tile = array<i64: 1, 4096>}
// CHECK: graph.binary add %{{.*}}, %{{.*}} : (!graph.tensor<["3*M*N"], f32>, !graph.tensor<[], f32>)
// CHECK: graph.reshape %[[SUM]] : (!graph.tensor<["3*M*N"], f32>) -> !graph.tensor<["M", 3, "N"], f32>
!m3n = !graph.tensor<["M", 3, "N"], f32>
graph.func @collapsed(%x: !m3n, %s: !graph.tensor<[], f32>) -> !m3n {
  %0 = graph.unary exp %x : (!m3n) -> !m3n
  %1 = graph.binary add %0, %s : (!m3n, !graph.tensor<[], f32>) -> !m3n
  graph.return %1 : !m3n
}

// Neighbouring axes that a broadcast tensor has, or lacks, together are one; the others stay.
// CHECK-LABEL: graph.func @images
// CHECK-DAG: %[[IMAGES:.*]] = graph.reshape %arg0 : (!graph.tensor<["B", "C", "H", "W"], f32>) -> !graph.tensor<["B", "C", "H*W"], f32>
// CHECK-DAG: %[[BIAS:.*]] = graph.reshape %arg1 : (!graph.tensor<["C", 1, 1], f32>) -> !graph.tensor<["C", 1], f32>
// CHECK: %[[SUM:.*]] = schedule.group map(%[[IMAGES]], %[[BIAS]])
// CHECK: graph.reshape %[[SUM]] : (!graph.tensor<["B", "C", "H*W"], f32>) -> !graph.tensor<["B", "C", "H", "W"], f32>
// CHECK: %[[PIXELS:.*]] = graph.reshape %arg0 : (!graph.tensor<["B", "C", "H", "W"], f32>) -> !graph.tensor<["B*C*H", "W"], f32>
// CHECK: schedule.group map(%[[PIXELS]], %arg2)
!bchw = !graph.tensor<["B", "C", "H", "W"], f32>
graph.func @images(%x: !bchw, %b: !graph.tensor<["C", 1, 1], f32>, %w: !graph.tensor<["W"], f32>) -> (!bchw, !bchw) {
  %0 = graph.binary add %x, %b : (!bchw, !graph.tensor<["C", 1, 1], f32>) -> !bchw
  %1 = graph.binary mul %x, %w : (!bchw, !graph.tensor<["W"], f32>) -> !bchw
  graph.return %0, %1 : !bchw, !bchw
}

// What is broadcast along an axis, or read at other places, needs the axes.
// CHECK-LABEL: graph.func @axes
// CHECK-NOT: graph.reshape
// CHECK: graph.return
graph.func @axes(%x: !mn, %b: !graph.tensor<["N"], f32>, %c: !graph.tensor<["M", 1], f32>) -> (!mn, !graph.tensor<["N", "M"], f32>) {
  %0 = graph.binary add %x, %b : (!mn, !graph.tensor<["N"], f32>) -> !mn
  %1 = graph.binary add %0, %c : (!mn, !graph.tensor<["M", 1], f32>) -> !mn
  %2 = graph.transpose %x perm [1, 0] : (!mn) -> !graph.tensor<["N", "M"], f32>
  graph.return %1, %2 : !mn, !graph.tensor<["N", "M"], f32>
}

// A gather is in the group that computes its indices, a reduction in the group that reads a reversed slice.
// CHECK-LABEL: graph.func @gathers
// CHECK: schedule.group map
// CHECK: graph.iota 1
// CHECK: graph.gather
// CHECK: graph.unary exp
// CHECK: schedule.yield
// CHECK: schedule.group reduce
// CHECK: graph.slice {{.*}} steps [1, -1]
// CHECK: graph.reduce argmax
// CHECK: schedule.yield
// CHECK-NOT: schedule.group
// CHECK: graph.return
graph.func @gathers(%x: !mn) -> (!mn, !graph.tensor<["M"], i32>) {
  %0 = graph.iota 1 : !graph.tensor<["M", "N"], i32>
  %1 = graph.gather %x[%0] along [0, -1] : (!mn, !graph.tensor<["M", "N"], i32>) -> !mn
  %2 = graph.unary exp %1 : (!mn) -> !mn
  %3 = graph.slice %x starts ["0", "N - 1"] steps [1, -1] : (!mn) -> !mn
  %4 = graph.reduce argmax %3 axes [1] : (!mn) -> !graph.tensor<["M"], i32>
  graph.return %2, %4 : !mn, !graph.tensor<["M"], i32>
}

// What surrounds a scan is in its group; a reduction of its result is not.
// CHECK-LABEL: graph.func @scans
// CHECK: schedule.group scan
// CHECK: graph.unary exp
// CHECK: graph.scan sum
// CHECK: graph.unary neg
// CHECK: schedule.yield
// CHECK: schedule.group reduce
// CHECK: graph.return
graph.func @scans(%x: !mn) -> !graph.tensor<["M"], f32> {
  %0 = graph.unary exp %x : (!mn) -> !mn
  %1 = graph.scan sum %0 axis 1 : (!mn) -> !mn
  %2 = graph.unary neg %1 : (!mn) -> !mn
  %3 = graph.reduce max %2 axes [1] : (!mn) -> !graph.tensor<["M"], f32>
  graph.return %3 : !graph.tensor<["M"], f32>
}

// The pairs of a tensor are apart; the axes before them are one.
// CHECK-LABEL: graph.func @pairs
// CHECK: graph.slice %{{.*}} starts ["0", "1"] : (!graph.tensor<["M*N", 2], f32>) -> !graph.tensor<["M*N", 1], f32>
// CHECK: graph.unary exp
graph.func @pairs(%x: !graph.tensor<["M", "N", 2], f32>) -> !graph.tensor<["M", "N", 1], f32> {
  %0 = graph.slice %x starts ["0", "0", "1"] : (!graph.tensor<["M", "N", 2], f32>) -> !graph.tensor<["M", "N", 1], f32>
  %1 = graph.unary exp %0 : (!graph.tensor<["M", "N", 1], f32>) -> !graph.tensor<["M", "N", 1], f32>
  graph.return %1 : !graph.tensor<["M", "N", 1], f32>
}

// A slice that takes a part of both axes leaves both.
// CHECK-LABEL: graph.func @inner
// CHECK: graph.slice %{{.*}} starts ["1", "1"] : (!graph.tensor<["M", "N"], f32>)
graph.func @inner(%x: !mn) -> !graph.tensor<["M - 1", "N - 1"], f32> {
  %0 = graph.slice %x starts ["1", "1"] : (!mn) -> !graph.tensor<["M - 1", "N - 1"], f32>
  graph.return %0 : !graph.tensor<["M - 1", "N - 1"], f32>
}

// A concat computes the slices that it joins. The axes after the one along which it joins are part of that one,
// also in starts; a start that does not follow from the kernel's dims is passed to it.
// CHECK-LABEL: graph.func @roll
// CHECK: %[[X:.*]] = graph.reshape %{{.*}} -> !graph.tensor<["M*N"], f32>
// CHECK: %[[C:.*]] = graph.dim "3*N" : i64
// CHECK: %[[D:.*]] = graph.dim "N * (M - 3)" : i64
// CHECK: schedule.group concat(%[[X]], %[[C]], %[[D]])
// CHECK: %[[A:.*]] = graph.slice %{{.*}} starts ["N * (M - 3)"] : (!graph.tensor<["M*N"], f32>) -> !graph.tensor<["3*N"], f32>
// CHECK: %[[B:.*]] = graph.slice %{{.*}} starts ["0"] : (!graph.tensor<["M*N"], f32>) -> !graph.tensor<["N * (M - 3)"], f32>
// CHECK: graph.concat %[[A]], %[[B]] axis 0
// CHECK-NOT: schedule.group
// CHECK: graph.return
graph.func @roll(%x: !mn) -> !mn {
  %0 = graph.slice %x starts ["M - 3", "0"] : (!mn) -> !graph.tensor<[3, "N"], f32>
  %1 = graph.slice %x starts ["0", "0"] : (!mn) -> !graph.tensor<["M - 3", "N"], f32>
  %2 = graph.concat %0, %1 axis 0 : (!graph.tensor<[3, "N"], f32>, !graph.tensor<["M - 3", "N"], f32>) -> !mn
  graph.return %2 : !mn
}

// Columns that alternate in memory are computed where they are joined, and the axes before theirs are one.
// CHECK-LABEL: graph.func @alternating
// CHECK: schedule.group concat({{.*}}) attributes {{.*}} : (!graph.tensor<["M*N", 1], f32>, f32) ->
// CHECK: graph.unary exp
// CHECK: graph.binary mul
// CHECK: graph.concat {{.*}} axis 1 : ({{.*}}) -> !graph.tensor<["M*N", 2], f32>
// CHECK-NOT: schedule.group
// CHECK: graph.return
graph.func @alternating(%x: !graph.tensor<["M", "N", 1], f32>, %s: f32) -> !graph.tensor<["M", "N", 2], f32> {
  %0 = graph.unary exp %x : (!graph.tensor<["M", "N", 1], f32>) -> !graph.tensor<["M", "N", 1], f32>
  %1 = graph.binary mul %x, %s : (!graph.tensor<["M", "N", 1], f32>, f32) -> !graph.tensor<["M", "N", 1], f32>
  %2 = graph.concat %0, %1 axis 2 : (!graph.tensor<["M", "N", 1], f32>, !graph.tensor<["M", "N", 1], f32>) -> !graph.tensor<["M", "N", 2], f32>
  graph.return %2 : !graph.tensor<["M", "N", 2], f32>
}

// A column that something else reads has a group of its own.
// CHECK-LABEL: graph.func @alternatingAndKept
// CHECK: schedule.group map
// CHECK: graph.unary exp
// CHECK: schedule.group concat
// CHECK-NOT: graph.unary
// CHECK: graph.concat
graph.func @alternatingAndKept(%x: !graph.tensor<["M", 1], f32>) -> (!graph.tensor<["M", 2], f32>, !graph.tensor<["M", 1], f32>) {
  %0 = graph.unary exp %x : (!graph.tensor<["M", 1], f32>) -> !graph.tensor<["M", 1], f32>
  %1 = graph.concat %x, %0 axis 1 : (!graph.tensor<["M", 1], f32>, !graph.tensor<["M", 1], f32>) -> !graph.tensor<["M", 2], f32>
  graph.return %1, %0 : !graph.tensor<["M", 2], f32>, !graph.tensor<["M", 1], f32>
}

// A slice with a step along the joined axis keeps the axes after it apart.
// CHECK-LABEL: graph.func @mirrored
// CHECK: schedule.group concat
// CHECK: graph.slice %{{.*}} starts ["1", "0"] steps [-1, 1]
// CHECK: graph.concat %{{.*}} axis 0 : (!graph.tensor<[2, "N"], f32>, !graph.tensor<["M", "N"], f32>)
// CHECK-NOT: schedule.group
// CHECK: graph.return
graph.func @mirrored(%x: !mn) -> !graph.tensor<["M + 2", "N"], f32> {
  %0 = graph.slice %x starts ["1", "0"] steps [-1, 1] : (!mn) -> !graph.tensor<[2, "N"], f32>
  %1 = graph.concat %0, %x axis 0 : (!graph.tensor<[2, "N"], f32>, !mn) -> !graph.tensor<["M + 2", "N"], f32>
  graph.return %1 : !graph.tensor<["M + 2", "N"], f32>
}

// Axes that a transpose moves together are one axis.
// CHECK-LABEL: graph.func @together
// CHECK: graph.reshape %{{.*}} -> !graph.tensor<["A*B", "C"], f32>
// CHECK: graph.transpose %{{.*}} perm [1, 0] : (!graph.tensor<["A*B", "C"], f32>) -> !graph.tensor<["C", "A*B"], f32>
// CHECK: graph.unary exp {{.*}} : (!graph.tensor<["C", "A*B"], f32>)
graph.func @together(%x: !graph.tensor<["A", "B", "C"], f32>) -> !graph.tensor<["C", "A", "B"], f32> {
  %0 = graph.transpose %x perm [2, 0, 1] : (!graph.tensor<["A", "B", "C"], f32>) -> !graph.tensor<["C", "A", "B"], f32>
  %1 = graph.unary exp %0 : (!graph.tensor<["C", "A", "B"], f32>) -> !graph.tensor<["C", "A", "B"], f32>
  graph.return %1 : !graph.tensor<["C", "A", "B"], f32>
}

// A tensor that is also read in another order keeps its axes.
// CHECK-LABEL: graph.func @twoOrders
// CHECK: graph.transpose %{{.*}} perm [2, 0, 1]
graph.func @twoOrders(%x: !graph.tensor<["A", "A", "A"], f32>) -> !graph.tensor<["A", "A", "A"], f32> {
  %0 = graph.transpose %x perm [2, 0, 1] : (!graph.tensor<["A", "A", "A"], f32>) -> !graph.tensor<["A", "A", "A"], f32>
  %1 = graph.binary add %0, %x : (!graph.tensor<["A", "A", "A"], f32>, !graph.tensor<["A", "A", "A"], f32>) -> !graph.tensor<["A", "A", "A"], f32>
  graph.return %1 : !graph.tensor<["A", "A", "A"], f32>
}

// Each product begins a group; what reads both makes them one.
// CHECK-LABEL: graph.func @merged
// CHECK: schedule.group map
// CHECK-COUNT-2: graph.binary mul
// CHECK: graph.binary add
// CHECK: schedule.yield
// CHECK-NOT: schedule.group
// CHECK: graph.return
// NONE-LABEL: graph.func @merged
// NONE-COUNT-3: schedule.group
graph.func @merged(%a: !mn, %b: !mn, %c: !mn, %d: !mn) -> !mn attributes {} {
  %0 = graph.binary mul %a, %b : (!mn, !mn) -> !mn
  %1 = graph.binary mul %c, %d : (!mn, !mn) -> !mn
  %2 = graph.binary add %0, %1 : (!mn, !mn) -> !mn
  graph.return %2 : !mn
}

// What reads the first has no results, but needs them before.
// CHECK-LABEL: graph.func @looked
// CHECK: schedule.group map
// CHECK: graph.launch @look
// CHECK: schedule.group map
graph.func @looked(%a: !mn, %b: !mn) -> !mn attributes {} {
  %0 = graph.binary mul %a, %b : (!mn, !mn) -> !mn
  graph.launch @look(read %0) : (!mn) -> ()
  %1 = graph.binary sub %a, %b : (!mn, !mn) -> !mn
  %2 = graph.binary add %0, %1 : (!mn, !mn) -> !mn
  graph.return %2 : !mn
}
schedule.kernel @look(%x: !tile.view<?x?xf32>, %m: index, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "N"], access = read>, #tile.param<name = "M", kind = dim>,
    #tile.param<name = "N", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("M") step ("16") names ["i"] {
  }
}

// The product, which is computed between them, reads the first. A row is computed once, not for every row.
// CHECK-LABEL: graph.func @apart
// CHECK: schedule.group map
// CHECK: schedule.group matmul
// CHECK: schedule.group map
// CHECK-LABEL: graph.func @rows
// CHECK-COUNT-2: schedule.group map
graph.func @apart(%a: !mn, %b: !mn, %w: !graph.tensor<["N", "N"], f32>) -> (!mn, !mn) attributes {} {
  %0 = graph.binary mul %a, %b : (!mn, !mn) -> !mn
  %1 = graph.matmul %0, %w : (!mn, !graph.tensor<["N", "N"], f32>) -> !mn
  %2 = graph.binary sub %a, %b : (!mn, !mn) -> !mn
  %3 = graph.binary add %0, %2 : (!mn, !mn) -> !mn
  graph.return %1, %3 : !mn, !mn
}
graph.func @rows(%a: !mn, %b: !mn, %r: !graph.tensor<["N"], f32>) -> !mn attributes {} {
  %0 = graph.unary exp %r : (!graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
  %1 = graph.binary mul %a, %b : (!mn, !mn) -> !mn
  %2 = graph.binary add %1, %0 : (!mn, !graph.tensor<["N"], f32>) -> !mn
  graph.return %2 : !mn
}
