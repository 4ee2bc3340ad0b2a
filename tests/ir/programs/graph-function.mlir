module {
  graph.func @f(%arg0: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>, #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>, #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %0 = graph.unary relu %arg0 : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
    %cst = arith.constant 1.000000e+00 : f32
    %1 = graph.binary add %0, %cst : (!graph.tensor<["M", "N"], f32>, f32) -> !graph.tensor<["M", "N"], f32>
    graph.return %1 : !graph.tensor<["M", "N"], f32>
  }
}

