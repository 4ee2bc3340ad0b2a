// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-fuse,tile-plan-memory))' | FileCheck %s

// Shared buffers first, each on a cache line; tiles that are not alive together share bytes; a product works in the
// place of its accumulator.
// CHECK-LABEL: tile.kernel @plan
// CHECK-SAME: scratch_bytes = 960 : i64, shared_bytes = 448 : i64
tile.kernel @plan(%o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  // CHECK: tile.alloc_shared {offset = 0 : i64}
  // CHECK: tile.alloc_shared {offset = 64 : i64}
  %b = tile.alloc_shared : !tile.buffer<4x4xf32, none>
  %s = tile.alloc_shared : !tile.buffer<8x12xf32, xor>
  // CHECK: tile.transpose %{{.*}} {tile.scratch = array<i64: 448>}
  %x = tile.transpose %one : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: tile.transpose %{{.*}} {tile.scratch = array<i64: 704>}
  %acc = tile.transpose %x : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: tile.mma {{.*}} {tile.scratch = array<i64: 704>}
  %p = tile.mma %x, %x, %acc : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  // CHECK: tile.transpose %{{.*}} {tile.scratch = array<i64: 448>}
  %y = tile.transpose %one : tensor<8x8xf32> -> tensor<8x8xf32>
  tile.store %y, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}
