// wrong: the grid has one axis, whose number is 0
module {
  tile.kernel @k(%x: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["n"]>, #tile.param<name = "n", kind = dim>], scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %c64 = arith.constant 64 : index
    %i = tile.program_id 1 : index
    %at = arith.muli %i, %c64 : index
    %v = tile.load %x[%at] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    %y = arith.addf %v, %v : tensor<64xf32>
    tile.store %y, %x[%at] extents [64] : tensor<64xf32>, !tile.view<?xf32>
    tile.return
  }
}

// right
module {
  tile.kernel @k(%x: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {numerics = "standard", params = [#tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["n"]>, #tile.param<name = "n", kind = dim>], scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64} {
    %c64 = arith.constant 64 : index
    %i = tile.program_id 0 : index
    %at = arith.muli %i, %c64 : index
    %v = tile.load %x[%at] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    %y = arith.addf %v, %v : tensor<64xf32>
    tile.store %y, %x[%at] extents [64] : tensor<64xf32>, !tile.view<?xf32>
    tile.return
  }
}
