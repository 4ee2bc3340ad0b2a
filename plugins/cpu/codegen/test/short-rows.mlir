// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-order-reductions,tile-plan-memory),cpu-lower-tile)' | FileCheck %s

// The lanes of four short rows are folded together: the first step has the halves of two of them in a vector.
// CHECK-LABEL: func.func @tsr_kernel_most(
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23] : vector<16xf32>, vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<4xf32>
tile.kernel @most(%x: !tile.view<8x32xf32>, %y: !tile.view<8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [8, 32] : !tile.view<8x32xf32> -> tensor<8x32xf32>
  %s = tile.reduce max %t axis 1 : tensor<8x32xf32> -> tensor<8xf32>
  tile.store %s, %y[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.return
}

// -----

// Sums, odd numbers of rows and long rows are folded row by row.
// CHECK-LABEL: func.func @tsr_kernel_rows(
// CHECK-NOT: [0, 1, 2, 3, 4, 5, 6, 7, 24
tile.kernel @rows(%x: !tile.view<8x32xf32>, %z: !tile.view<7x32xf32>, %w: !tile.view<8x256xf32>, %y: !tile.view<8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "32"], access = read>,
    #tile.param<name = "z", kind = tensor, dtype = f32, dims = ["7", "32"], access = read>,
    #tile.param<name = "w", kind = tensor, dtype = f32, dims = ["8", "256"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [8, 32] : !tile.view<8x32xf32> -> tensor<8x32xf32>
  %u = tile.load %z[%c0, %c0] extents [7, 32] : !tile.view<7x32xf32> -> tensor<7x32xf32>
  %v = tile.load %w[%c0, %c0] extents [8, 256] : !tile.view<8x256xf32> -> tensor<8x256xf32>
  %s = tile.reduce sum %t axis 1 : tensor<8x32xf32> -> tensor<8xf32>
  %m = tile.reduce max %u axis 1 : tensor<7x32xf32> -> tensor<7xf32>
  %n = tile.reduce max %v axis 1 : tensor<8x256xf32> -> tensor<8xf32>
  tile.store %s, %y[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.store %m, %y[%c0] extents [7] : tensor<7xf32>, !tile.view<8xf32>
  tile.store %n, %y[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.return
}
