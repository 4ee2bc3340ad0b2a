module {
  graph.func @f(%arg0: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes {numerics = "standard", params = [{access = "read", dims = ["M", "N"], dtype = "f32", kind = "tensor", name = "x"}, {access = "write", dims = ["M", "N"], dtype = "f32", kind = "result", name = "result"}, {kind = "dim", name = "M"}, {kind = "dim", name = "N"}], returns = ["result"]} {
    %0 = graph.unary relu %arg0 : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
    %cst = arith.constant 1.000000e+00 : f32
    %1 = graph.binary add %0, %cst : (!graph.tensor<["M", "N"], f32>, f32) -> !graph.tensor<["M", "N"], f32>
    graph.return %1 : !graph.tensor<["M", "N"], f32>
  }
}

