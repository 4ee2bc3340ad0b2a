// RUN: tsr-opt %s --pass-pipeline='builtin.module(graph.func(graph-own-storage))' | FileCheck %s

// A parameter and the same value again are copied; the first use keeps the value's own memory.
// CHECK-LABEL: graph.func @twice
// CHECK: %[[Y:.*]] = graph.unary exp
// CHECK: %[[X1:.*]] = graph.broadcast %{{.*}}
// CHECK: %[[Y1:.*]] = graph.broadcast %[[Y]]
// CHECK: graph.return %[[X1]], %[[Y]], %[[Y1]]
graph.func @twice(%x: !graph.tensor<["n"], f32>)
    -> (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>)
    attributes {returns = ["result0", "result1", "result2"], params = [
      #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
      #tile.param<name = "result0", kind = result, dtype = f32, access = write, dims = ["n"]>,
      #tile.param<name = "result1", kind = result, dtype = f32, access = write, dims = ["n"]>,
      #tile.param<name = "result2", kind = result, dtype = f32, access = write, dims = ["n"]>,
      #tile.param<name = "n", kind = dim>]} {
  %y = graph.unary exp %x : (!graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32>
  graph.return %x, %y, %y : !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>
}

// A launch that reads the same memory under other dims updates a copy. The parameter gets its new value last:
// %old still reads what lies there.
schedule.kernel @update(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %m: index, %n: index, %k: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["m", "n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = read, dims = ["k"]>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
  }
}
// CHECK-LABEL: graph.func @beside
// CHECK-SAME: (%[[X0:.*]]: !graph
// CHECK: %[[FLAT:.*]] = graph.reshape %[[X0]]
// CHECK: %[[COPY:.*]] = graph.broadcast %[[X0]]
// CHECK: %[[NEW:.*]] = graph.launch @update(readwrite %[[COPY]], read %[[FLAT]])
// CHECK: %[[OLD:.*]] = graph.broadcast %[[FLAT]]
// CHECK: %[[X:.*]] = graph.broadcast %[[NEW]]
// CHECK: graph.return %[[X]], %[[OLD]]
graph.func @beside(%x: !graph.tensor<["m", "n"], f32>) -> (!graph.tensor<["m", "n"], f32>, !graph.tensor<["m*n"], f32>)
    attributes {returns = ["x", "result"], params = [
      #tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["m", "n"]>,
      #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["m*n"]>,
      #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %flat = graph.reshape %x : (!graph.tensor<["m", "n"], f32>) -> !graph.tensor<["m*n"], f32>
  %new = graph.launch @update(readwrite %x, read %flat)
      : (!graph.tensor<["m", "n"], f32>, !graph.tensor<["m*n"], f32>) -> !graph.tensor<["m", "n"], f32>
  graph.return %new, %flat : !graph.tensor<["m", "n"], f32>, !graph.tensor<["m*n"], f32>
}
