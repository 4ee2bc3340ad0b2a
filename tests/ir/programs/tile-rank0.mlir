module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  tile.kernel @f.g0(%in0: !tile.view<1xf32>, %in1: !tile.view<?xf32>, %out0: !tile.view<?xf32>, %N: index) grid ["ceildiv(N, 4096)"] attributes {numerics = "standard", params = [#tile.param<name = "in0", kind = tensor, dtype = f32, access = read, dims = ["1"]>, #tile.param<name = "in1", kind = tensor, dtype = f32, access = read, dims = ["N"]>, #tile.param<name = "out0", kind = result, dtype = f32, access = write, dims = ["N"]>, #tile.param<name = "N", kind = dim>], schedule.fusion = "auto", scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %c4096 = arith.constant 4096 : index
    %c0 = arith.constant 0 : index
    %0 = tile.program_id 0 : index
    %1 = arith.muli %0, %c4096 : index
    %2 = tile.load_elem %in0[%c0] : !tile.view<1xf32> -> f32
    %3 = tile.load %in1[%1] extents [4096] : !tile.view<?xf32> -> tensor<4096xf32>
    %4 = arith.subi %N, %1 : index
    %5 = arith.minsi %4, %c4096 : index
    %6 = arith.maxsi %5, %c0 : index
    %7 = tile.broadcast %2 : f32 -> tensor<4096xf32>
    %8 = arith.mulf %7, %3 : tensor<4096xf32>
    tile.store %8, %out0[%1] extents [4096] bounds(%c0 to %6) : tensor<4096xf32>, !tile.view<?xf32>
    tile.return
  }
  graph.func @f(%arg0: !graph.tensor<[], f32>, %arg1: !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32> attributes {numerics = "standard", params = [#tile.param<name = "k", kind = tensor, dtype = f32, access = read, dims = []>, #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["N"]>, #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["N"]>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %0 = graph.launch @f.g0(read %arg0, read %arg1) dims ["N"] : (!graph.tensor<[], f32>, !graph.tensor<["N"], f32>) -> !graph.tensor<["N"], f32>
    graph.return %0 : !graph.tensor<["N"], f32>
  }
}

