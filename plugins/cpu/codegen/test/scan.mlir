// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=16 vector-registers=16},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// Integers are scanned in vectors: each lane takes the one before it, then the one two before it, then what precedes the
// vector. The last lane is what precedes the next.
// CHECK-LABEL: func.func @tsr_kernel_integers(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0> : vector<4xi32>
// CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %[[ZERO]]) -> (vector<4xi32>)
// CHECK: %[[V:.*]] = llvm.load %{{.*}} -> vector<4xi32>
// CHECK: %[[ONE:.*]] = vector.shuffle %[[V]], %[[ZERO]] [4, 0, 1, 2]
// CHECK: %[[S:.*]] = arith.addi %[[V]], %[[ONE]]
// CHECK: %[[TWO:.*]] = vector.shuffle %[[S]], %[[ZERO]] [4, 4, 0, 1]
// CHECK: %[[T:.*]] = arith.addi %[[S]], %[[TWO]]
// CHECK: %[[U:.*]] = arith.addi %[[BEFORE]], %[[T]]
// CHECK: llvm.store %[[U]]
// CHECK: %[[LAST:.*]] = vector.shuffle %[[U]], %[[U]] [3, 3, 3, 3]
// CHECK: scf.yield %[[LAST]]
tile.kernel @integers(%x: !tile.view<64xi32>, %o: !tile.view<64xi32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xi32> -> tensor<64xi32>
  %s = tile.scan sum %t axis 0 : tensor<64xi32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xi32>, !tile.view<64xi32>
  tile.return
}

// The order of floats is that of the indices.
// CHECK-LABEL: func.func @tsr_kernel_floats(
// CHECK: arith.addf %{{.*}} : vector<1xf32>
// CHECK-NOT: vector.shuffle
// CHECK: return
tile.kernel @floats(%x: !tile.view<64xf32>, %o: !tile.view<64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %s = tile.scan sum %t axis 0 : tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}
