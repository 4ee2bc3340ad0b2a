module {
  tile.kernel @f.g0(%in0: !tile.view<?x?xf32>, %out0: !tile.view<?x?xf32>, %M: index, %N: index) grid ["ceildiv(M, 8)", "ceildiv(N, 512)"] attributes {numerics = "standard", params = [#tile.param<name = "in0", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>, #tile.param<name = "out0", kind = result, dtype = f32, access = write, dims = ["M", "N"]>, #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], schedule.fusion = "auto", scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c8 = arith.constant 8 : index
    %cst = arith.constant dense<1.000000e+00> : tensor<8x512xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<8x512xf32>
    %0 = tile.program_id 0 : index
    %1 = arith.muli %0, %c8 : index
    %2 = tile.program_id 1 : index
    %3 = arith.muli %2, %c512 : index
    %4 = tile.load %in0[%1, %3] extents [8, 512] : !tile.view<?x?xf32> -> tensor<8x512xf32>
    %5 = arith.subi %c0, %1 : index
    %6 = arith.maxsi %5, %c0 : index
    %7 = arith.subi %M, %1 : index
    %8 = arith.minsi %7, %c8 : index
    %9 = arith.subi %c0, %3 : index
    %10 = arith.maxsi %9, %c0 : index
    %11 = arith.subi %N, %3 : index
    %12 = arith.minsi %11, %c512 : index
    %13 = arith.maximumf %4, %cst_0 : tensor<8x512xf32>
    %14 = arith.addf %13, %cst : tensor<8x512xf32>
    tile.store %14, %out0[%1, %3] extents [8, 512] bounds(%6 to %8, %10 to %12) : tensor<8x512xf32>, !tile.view<?x?xf32>
    tile.return
  }
  graph.func @f(%arg0: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>, #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>, #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %0 = graph.launch @f.g0(read %arg0) dims ["M", "N"] : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
    graph.return %0 : !graph.tensor<["M", "N"], f32>
  }
}

