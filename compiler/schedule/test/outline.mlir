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
// CHECK: graph.launch @normalize.g0(read %{{.*}}) dims ["M", "2*N"]

// PLAN: target.function_info "normalize" metadata
// PLAN-SAME: {kernel: normalize.g0, args: [x, result, M, 2*N]}
!t = !graph.tensor<["M", "2*N"], f32>
graph.func @normalize(%x: !t) -> !t attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "2*N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "2*N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 4, 128>} : (!t) -> !t {
  ^bb0(%a: !t):
    %1 = graph.reduce sum %a axes [1] {keep_dims} : (!t) -> !graph.tensor<["M", 1], f32>
    %2 = graph.binary div %a, %1 : (!t, !graph.tensor<["M", 1], f32>) -> !t
    schedule.yield %2 : !t
  }
  graph.return %0 : !t
}

// A tile is searched for the position of its largest element only if that is larger than all before it, in any row. A row that
// fits one tile is searched without a walk.
// CHECK-LABEL: schedule.kernel @largest.g0
// CHECK: scf.for
// CHECK: tile.reduce max %{{.*}} axis 1 : tensor<4x128xf32> -> tensor<4xf32>
// CHECK-NOT: tile.arg_reduce
// CHECK: %[[ANY:.*]] = tile.reduce max %{{.*}} axis 0 : tensor<4xi32> -> i32
// CHECK: %[[WINS:.*]] = arith.cmpi ne, %[[ANY]]
// CHECK: scf.if %[[WINS]]
// CHECK: tile.arg_reduce max
// CHECK: scf.if
// CHECK: tile.arg_reduce max
// CHECK-NOT: tile.arg_reduce
// CHECK-LABEL: graph.func @largest
!p = !graph.tensor<["M"], i32>
graph.func @largest(%x: !graph.tensor<["M", "N"], f32>) -> !p {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 4, 128>} : (!graph.tensor<["M", "N"], f32>) -> !p {
  ^bb0(%a: !graph.tensor<["M", "N"], f32>):
    %1 = graph.reduce argmax %a axes [1] : (!graph.tensor<["M", "N"], f32>) -> !p
    schedule.yield %1 : !p
  }
  graph.return %0 : !p
}

// The exponentials of a softmax are computed once: they lie in the result from the sum on.
// CHECK-LABEL: schedule.kernel @softmax.g0
// CHECK-SAME: name = "out0", kind = result, dtype = f32, access = write
// CHECK: tile.reduce max
// CHECK: tile.exp %
// CHECK: tile.store %{{.*}}, %out0
// CHECK: tile.barrier
// CHECK: tile.load %out0
// CHECK: tile.reduce sum
// CHECK-NOT: tile.exp %
// CHECK: tile.load %out0
// CHECK: arith.divf
// CHECK: tile.store %{{.*}}, %out0
// CHECK-LABEL: graph.func @softmax
!s = !graph.tensor<["M", "N"], f32>
!r = !graph.tensor<["M", 1], f32>
graph.func @softmax(%x: !s) -> !s {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 4, 128>} : (!s) -> !s {
  ^bb0(%a: !s):
    %1 = graph.reduce max %a axes [1] {keep_dims} : (!s) -> !r
    %2 = graph.binary sub %a, %1 : (!s, !r) -> !s
    %3 = graph.unary exp %2 : (!s) -> !s
    %4 = graph.reduce sum %3 axes [1] {keep_dims} : (!s) -> !r
    %5 = graph.binary div %3, %4 : (!s, !r) -> !s
    schedule.yield %5 : !s
  }
  graph.return %0 : !s
}

// Equal groups share a kernel.
// CHECK-LABEL: schedule.kernel @layers.g0
// CHECK-NOT: schedule.kernel @layers.g1
// CHECK-LABEL: graph.func @layers
// CHECK: graph.launch @layers.g0
// CHECK: graph.launch @layers.g0
!v = !graph.tensor<["n"], f32>
graph.func @layers(%x: !v) -> !v {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 1, 256>} : (!v) -> !v {
  ^bb0(%a: !v):
    %1 = graph.unary exp %a : (!v) -> !v
    schedule.yield %1 : !v
  }
  %2 = schedule.group map(%0) attributes {tile = array<i64: 1, 256>} : (!v) -> !v {
  ^bb0(%a: !v):
    %1 = graph.unary exp %a : (!v) -> !v
    schedule.yield %1 : !v
  }
  graph.return %2 : !v
}

// The same operations on other operands are not equal.
// CHECK: schedule.kernel @swapped.g0
// CHECK: schedule.kernel @swapped.g1
graph.func @swapped(%x: !v, %y: !v) -> (!v, !v) {
  %0 = schedule.group map(%x, %y) attributes {tile = array<i64: 1, 256>} : (!v, !v) -> !v {
  ^bb0(%a: !v, %b: !v):
    %1 = graph.binary sub %a, %b : (!v, !v) -> !v
    schedule.yield %1 : !v
  }
  %2 = schedule.group map(%x, %y) attributes {tile = array<i64: 1, 256>} : (!v, !v) -> !v {
  ^bb0(%a: !v, %b: !v):
    %1 = graph.binary sub %b, %a : (!v, !v) -> !v
    schedule.yield %1 : !v
  }
  graph.return %0, %2 : !v, !v
}

// The metadata names what a product applies before it stores; an operation on an operand of that is not part of it.
// CHECK: schedule.kernel @product.g0
// CHECK-SAME: epilogue = ["add", "gelu"]
!m = !graph.tensor<["M", "M"], f32>
graph.func @product(%x: !m, %bias: !m) -> !m {
  %0 = schedule.group matmul(%x, %bias) attributes {tile = array<i64: 64, 64, 64>} : (!m, !m) -> !m {
  ^bb0(%a: !m, %b: !m):
    %2 = graph.matmul %a, %a : (!m, !m) -> !m
    %1 = graph.unary exp %b : (!m) -> !m
    %3 = graph.binary add %2, %1 : (!m, !m) -> !m
    %4 = graph.unary gelu %3 : (!m) -> !m
    schedule.yield %4 : !m
  }
  graph.return %0 : !m
}

// A variant shares the kernels of its function where its groups are equal.
// CHECK: schedule.kernel @both.g0
// CHECK: tile.load %in0[%{{.*}}, %{{.*}}] extents [4, 128]
// CHECK: schedule.kernel @both.g1
// CHECK-LABEL: graph.func @both(
// CHECK: graph.launch @both.g0
// CHECK: graph.launch @both.g1
// CHECK-NOT: schedule.kernel @both.v0.g1
// CHECK: schedule.kernel @both.v0.g0
// CHECK: tile.load %in0[%{{.*}}, %{{.*}}] extents [1, 32]
// CHECK-LABEL: graph.func @both.v0(
// CHECK-SAME: schedule.variant_of = @both, schedule.when = ["N == 32"]
// CHECK: graph.launch @both.v0.g0
// CHECK: graph.launch @both.g1

// PLAN: target.function_info "both" metadata
// PLAN-SAME: variants:\0A  - {entry: both.v0, when: [\22N == 32\22]}
// PLAN: target.function_info "both.v0" metadata
// PLAN-NOT: variants
// PLAN-SAME: {kernel: both.v0.g0, args: [x, t0, M, N]}
// PLAN-SAME: {kernel: both.g1, args: [t0, result, M, N]}
!b = !graph.tensor<["M", "N"], f32>
graph.func @both(%x: !b) -> !b attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 4, 128>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary exp %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  %2 = schedule.group map(%0) attributes {tile = array<i64: 2, 64>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary tanh %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  graph.return %2 : !b
}
graph.func @both.v0(%x: !b) -> !b attributes {returns = ["result"], schedule.variant_of = @both, schedule.when = ["N == 32"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 1, 32>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary exp %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  %2 = schedule.group map(%0) attributes {tile = array<i64: 2, 64>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary tanh %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  graph.return %2 : !b
}

// One that launches the same kernels in the same way is of no use.
// CHECK-LABEL: graph.func @alone(
// CHECK-NOT: alone.v0
// PLAN: target.function_info "alone" metadata
// PLAN-NOT: alone.v0
graph.func @alone(%x: !b) -> !b attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 4, 128>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary exp %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  graph.return %0 : !b
}
graph.func @alone.v0(%x: !b) -> !b attributes {returns = ["result"], schedule.variant_of = @alone, schedule.when = ["N == 32"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 4, 128>} : (!b) -> !b {
  ^bb0(%a: !b):
    %1 = graph.unary exp %a : (!b) -> !b
    schedule.yield %1 : !b
  }
  graph.return %0 : !b
}

// A program for each part, which ends where the part or the axis does.
// CHECK-LABEL: schedule.kernel @parts.g0
// CHECK: schedule.grid (%i0) = ("0") to ("dim1") step ("1") names ["i0"]
// CHECK: arith.muli
// CHECK: scf.for
// CHECK: tile.store_elem %{{.*}}, %out0[%{{.*}}]
!line = !graph.tensor<["N"], f32>
!parts = !graph.tensor<["ceildiv(N, 64)"], f32>
graph.func @parts(%x: !line) -> !parts attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["ceildiv(N, 64)"]>,
    #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 64>} : (!line) -> !parts {
  ^bb0(%a: !line):
    %1 = graph.reduce sum %a axes [0] parts 64 : (!line) -> !parts
    schedule.yield %1 : !parts
  }
  graph.return %0 : !parts
}

// A part that is one tile has no loop; positions are those along the axis.
// CHECK-LABEL: schedule.kernel @places.g0
// CHECK: %[[FIRST:.*]] = arith.muli
// CHECK-NOT: scf.for
// CHECK: %[[LOCAL:.*]] = tile.arg_reduce max
// CHECK: arith.addi
// CHECK: tile.store_elem %{{.*}}, %out0[%{{.*}}] : i32
!places = !graph.tensor<["ceildiv(N, 64)"], i32>
graph.func @places(%x: !line) -> !places attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>,
    #tile.param<name = "result", kind = result, dtype = i32, access = write, dims = ["ceildiv(N, 64)"]>,
    #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 64>} : (!line) -> !places {
  ^bb0(%a: !line):
    %1 = graph.reduce argmax %a axes [0] parts 64 : (!line) -> !places
    schedule.yield %1 : !places
  }
  graph.return %0 : !places
}

// A scan in parts goes on from what is before its part; nothing is before the first.
// CHECK-LABEL: schedule.kernel @goes_on.g0
// CHECK: schedule.grid (%i0) = ("0") to ("dim1") step ("1") names ["i0"]
// CHECK: %[[ISFIRST:.*]] = arith.cmpi eq
// CHECK: arith.maxsi
// CHECK: tile.load_elem %in1
// CHECK: arith.select
// CHECK: scf.for
// CHECK: tile.scan sum
// CHECK: tile.store %{{.*}}, %out0
!whole = !graph.tensor<["N"], i32>
graph.func @goes_on(%x: !whole, %c: !places) -> !whole attributes {returns = ["result"], params = [
    #tile.param<name = "x", kind = tensor, dtype = i32, access = read, dims = ["N"]>,
    #tile.param<name = "c", kind = tensor, dtype = i32, access = read, dims = ["ceildiv(N, 64)"]>,
    #tile.param<name = "result", kind = result, dtype = i32, access = write, dims = ["N"]>,
    #tile.param<name = "N", kind = dim>]} {
  %0 = schedule.group scan(%x, %c) attributes {tile = array<i64: 1, 16>} : (!whole, !places) -> !whole {
  ^bb0(%a: !whole, %b: !places):
    %1 = graph.scan sum %a axis 0 parts 64 after %b : (!whole, !places) -> !whole
    schedule.yield %1 : !whole
  }
  graph.return %0 : !whole
}

// Queries are split over programs; each has all columns of its rows, however few keys a tile has.
// CHECK-LABEL: schedule.kernel @attend.g0
// CHECK: schedule.grid (%i0, %i1) = ("0", "0") to ("H", "S") step ("1", "32") names ["i0", "i1"]
// CHECK: tile.store %{{.*}}, %out0[%{{.*}}, %{{.*}}, %{{.*}}] extents [-1, 32, 128]
!heads = !graph.tensor<["H", "S", 128], f32>
graph.func @attend(%q: !heads, %k: !heads) -> !heads attributes {returns = ["result"], params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, access = read, dims = ["H", "S", "128"]>,
    #tile.param<name = "k", kind = tensor, dtype = f32, access = read, dims = ["H", "S", "128"]>,
    #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["H", "S", "128"]>,
    #tile.param<name = "H", kind = dim>, #tile.param<name = "S", kind = dim>]} {
  %0 = schedule.group attention(%q, %k) attributes {tile = array<i64: 32, 64>} : (!heads, !heads) -> !heads {
  ^bb0(%a: !heads, %b: !heads):
    %1 = graph.attention %a, %b, %b : (!heads, !heads, !heads) -> !heads
    schedule.yield %1 : !heads
  }
  graph.return %0 : !heads
}

// A kernel views a tensor of rank 0 as one element, and the launch passes it as it is.
// CHECK-LABEL: schedule.kernel @scaled.g0(%in0: !tile.view<1xf32>, %in1: !tile.view<?xf32>, %out0: !tile.view<?xf32>
// CHECK-LABEL: graph.func @scaled
// CHECK: graph.launch @scaled.g0(read %{{.*}}, read %{{.*}}) dims ["N"] : (!graph.tensor<[], f32>, !graph.tensor<["N"], f32>)
graph.func @scaled(%k: !graph.tensor<[], f32>, %x: !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32> {
  %0 = schedule.group map(%k, %x) attributes {tile = array<i64: 1, 64>}
      : (!graph.tensor<[], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32> {
  ^bb0(%a: !graph.tensor<[], f32>, %b: !graph.tensor<["N"], f32>):
    %1 = graph.binary mul %a, %b : (!graph.tensor<[], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
    schedule.yield %1 : !graph.tensor<["N"], f32>
  }
  graph.return %0 : !graph.tensor<["N"], f32>
}
