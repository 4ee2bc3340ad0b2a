// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// Indices that are chosen by positions are mostly neighbours, which one load reads.
// CHECK-LABEL: func.func @tsr_kernel_rotated
// CHECK: %[[AGREE:.*]] = arith.cmpi eq
// CHECK: %[[BOTH:.*]] = arith.andi
// CHECK: %[[ALL:.*]] = vector.reduction <and>
// CHECK: scf.if %[[ALL]]
// CHECK: llvm.load %{{.*}} -> vector<{{[0-9]+}}xf32>
// CHECK: else
// CHECK: llvm.intr.masked.gather
tile.kernel @rotated(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %p = tile.program_id 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0> : tensor<64xi64>
  %one = arith.constant dense<1> : tensor<64xi64>
  %i = arith.muli %p, %c64 : index
  %i32 = arith.index_cast %i : index to i32
  %place = tile.iota %i32 : i32 -> tensor<64xi32>
  %at = tile.cast %place from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %before = arith.subi %at, %one : tensor<64xi64>
  %isBefore = arith.cmpi slt, %before, %zero : tensor<64xi64>
  %from = arith.select %isBefore, %zero, %before : tensor<64xi1>, tensor<64xi64>
  %t = tile.gather %x[%from] extents [-1] : !tile.view<?xf32>, tensor<64xi64> -> tensor<64xf32>
  tile.store %t, %y[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Those that are read from memory may be anywhere.
// CHECK-LABEL: func.func @tsr_kernel_taken
// CHECK-NOT: vector.reduction
// CHECK: llvm.intr.masked.gather
tile.kernel @taken(%x: !tile.view<?xf32>, %at: !tile.view<?xi64>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "at", kind = tensor, dtype = i64, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %p = tile.program_id 0 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %p, %c64 : index
  %from = tile.load %at[%i] extents [64] : !tile.view<?xi64> -> tensor<64xi64>
  %t = tile.gather %x[%from] extents [-1] : !tile.view<?xf32>, tensor<64xi64> -> tensor<64xf32>
  tile.store %t, %y[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}
