// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// A sum of columns that only their end masks: whole blocks of four vectors without masks, then two at a time.
// CHECK-LABEL: func.func @tsr_kernel_columns(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-NOT: masked
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK: arith.select
tile.kernel @columns(%x: !tile.view<64x32xf32>, %y: !tile.view<64xf32>, %N: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %few = arith.minsi %N, %c64 : index
  %n = arith.maxsi %few, %c0 : index
  %l = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<64x32xf32> -> tensor<64x32xf32>
  %t = tile.transpose %l : tensor<64x32xf32> -> tensor<32x64xf32>
  %m = tile.mask %t, %z bounds(%c0 to %n, %c0 to %n) : tensor<32x64xf32>
  %s = tile.reduce sum %m axis 0 order <lanes = 1> : tensor<32x64xf32> -> tensor<64xf32>
  tile.store %s, %y[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}
