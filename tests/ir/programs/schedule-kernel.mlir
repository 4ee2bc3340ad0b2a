module {
  graph.func @k.host(%arg0: !graph.tensor<["n"], f32>, %arg1: !graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32> attributes {numerics = "standard"} {
    %0 = graph.launch @k(read %arg0, write %arg1) : (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32>
    graph.return %0 : !graph.tensor<["n"], f32>
  }
  schedule.kernel @k(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>, #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>, #tile.param<name = "n", kind = dim>], schedule.fusion = "auto"} {
    %cst = arith.constant dense<1.000000e+00> : tensor<64xf32>
    schedule.grid (%i) = ("0") to ("n") step ("64") names ["i"] attributes {order = array<i64: 0>, placement = "any"} {
      %0 = tile.load %x[%i] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
      %1 = arith.addf %0, %cst : tensor<64xf32>
      tile.store %1, %y[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
    }
  }
}

