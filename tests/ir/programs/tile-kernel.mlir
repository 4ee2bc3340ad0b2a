module {
  graph.func @k.host(%arg0: !graph.tensor<["n"], f32>, %arg1: !graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32> attributes {numerics = "standard"} {
    %0 = graph.launch @k(read %arg0, write %arg1) dims ["n"] : (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32>
    graph.return %0 : !graph.tensor<["n"], f32>
  }
  tile.kernel @k(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>, #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>, #tile.param<name = "n", kind = dim>], schedule.fusion = "auto", scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %cst = arith.constant dense<1.000000e+00> : tensor<64xf32>
    %0 = tile.program_id 0 : index
    %1 = arith.muli %0, %c64 : index
    %2 = tile.load %x[%1] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    %3 = arith.subi %c0, %1 : index
    %4 = arith.maxsi %3, %c0 : index
    %5 = arith.subi %n, %1 : index
    %6 = arith.minsi %5, %c64 : index
    %7 = arith.addf %2, %cst : tensor<64xf32>
    tile.store %7, %y[%1] extents [64] bounds(%4 to %6) : tensor<64xf32>, !tile.view<?xf32>
    tile.return
  }
}

