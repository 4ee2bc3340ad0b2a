module {
  graph.func @f(%arg0: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>, #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>, #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %cst = arith.constant 1.000000e+00 : f32
    %0 = schedule.group map(%arg0) attributes {tile = array<i64: 8, 512>} : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> {
    ^bb0(%arg1: !graph.tensor<["M", "N"], f32>):
      %cst_0 = arith.constant 1.000000e+00 : f32
      %1 = graph.unary relu %arg1 : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
      %2 = graph.binary add %1, %cst_0 : (!graph.tensor<["M", "N"], f32>, f32) -> !graph.tensor<["M", "N"], f32>
      schedule.yield %2 : !graph.tensor<["M", "N"], f32>
    }
    graph.return %0 : !graph.tensor<["M", "N"], f32>
  }
}

