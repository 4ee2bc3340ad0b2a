// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=32},tile-fuse,tile-order-reductions))' | FileCheck %s --check-prefixes=ALL,VECTORS
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=32},tile-fuse,tile-order-reductions{threads=256}))' | FileCheck %s --check-prefixes=ALL,THREADS

// The lanes are of the widest element that is computed on the way; each thread has those of 16 bytes. An order that is there stays.
// ALL-LABEL: tile.kernel @standard
// VECTORS: reduce sum %{{.*}} axis 1 order <lanes = 8, chains = [4, 1]> : tensor<4x512xf32>
// VECTORS: reduce sum %{{.*}} axis 1 order <lanes = 4, chains = [4, 1]> : tensor<4x512xf64>
// VECTORS: reduce max %{{.*}} axis 0 order <lanes = 1> : tensor<4x512xf32>
// THREADS: reduce sum %{{.*}} axis 1 order <lanes = 256> : tensor<4x512xf32>
// THREADS: reduce sum %{{.*}} axis 1 order <lanes = 256> : tensor<4x512xf64>
// THREADS: reduce max %{{.*}} axis 0 order <lanes = 1> : tensor<4x512xf32>
// ALL: reduce sum %{{.*}} axis 1 order <lanes = 2> : tensor<4x512xf32>
tile.kernel @standard(%x: !tile.view<4x512xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["4", "512"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [4, 512] : !tile.view<4x512xf32> -> tensor<4x512xf32>
  %s = tile.reduce sum %t axis 1 : tensor<4x512xf32> -> tensor<4xf32>
  %w = tile.cast %t from f32 to f64 : tensor<4x512xf32> -> tensor<4x512xf64>
  %d = tile.reduce sum %w axis 1 : tensor<4x512xf64> -> tensor<4xf64>
  %m = tile.reduce max %t axis 0 : tensor<4x512xf32> -> tensor<512xf32>
  %o = tile.reduce sum %t axis 1 order <lanes = 2> : tensor<4x512xf32> -> tensor<4xf32>
  tile.return
}

// `fast` permits more chains of sums of floats, where several columns do not hide latency.
// ALL-LABEL: tile.kernel @fast
// VECTORS: reduce sum %{{.*}} axis 1 order <lanes = 8, chains = [8, 4, 1]>
// VECTORS: reduce max %{{.*}} axis 1 order <lanes = 8, chains = [4, 1]>
// VECTORS: reduce sum %{{.*}} axis 0 order <lanes = 1> : tensor<512x32xf32>
// VECTORS: reduce sum %{{.*}} axis 0 order <lanes = 1, chains = [4, 1]> : tensor<512x8xf32>
// THREADS: reduce sum %{{.*}} axis 1 order <lanes = 1>
tile.kernel @fast(%x: !tile.view<512x32xf32>, %y: !tile.view<512x8xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["512", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["512", "8"], access = read>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [512, 32] : !tile.view<512x32xf32> -> tensor<512x32xf32>
  %u = tile.load %y[%c0, %c0] extents [512, 8] : !tile.view<512x8xf32> -> tensor<512x8xf32>
  %s = tile.reduce sum %t axis 1 : tensor<512x32xf32> -> tensor<512xf32>
  %m = tile.reduce max %t axis 1 : tensor<512x32xf32> -> tensor<512xf32>
  %a = tile.reduce sum %t axis 0 : tensor<512x32xf32> -> tensor<32xf32>
  %b = tile.reduce sum %u axis 0 : tensor<512x8xf32> -> tensor<8xf32>
  tile.return
}
