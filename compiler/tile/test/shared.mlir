// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// Shared memory of one program.

// CHECK-LABEL: func.func @shared
func.func @shared(%a: !tile.view<?x?xf32>, %i: index, %rows: tensor<16xi64>) {
  // CHECK: %[[B:.*]] = tile.alloc_shared : !tile.buffer<4x8xf32, none>
  %b = tile.alloc_shared : !tile.buffer<4x8xf32, none>
  // CHECK: tile.alloc_shared {align = 64 : i64, offset = 128 : i64} : !tile.buffer<4x8xui8, xor>
  %c = tile.alloc_shared {align = 64, offset = 128} : !tile.buffer<4x8xui8, xor>
  // CHECK: tile.cp_async %{{.*}}[%{{.*}}, %{{.*}}] extents [4, 8] to %[[B]] : !tile.view<?x?xf32>, !tile.buffer<4x8xf32, none>
  tile.cp_async %a[%i, %i] extents [4, 8] to %b : !tile.view<?x?xf32>, !tile.buffer<4x8xf32, none>
  // CHECK: tile.commit_group
  tile.commit_group
  // CHECK: tile.wait_group 1
  tile.wait_group 1
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.fence acq_rel device
  tile.fence acq_rel device
  // CHECK: %[[T:.*]] = tile.buffer_read %[[B]] : !tile.buffer<4x8xf32, none> -> tensor<4x8xf32>
  %t = tile.buffer_read %b : !tile.buffer<4x8xf32, none> -> tensor<4x8xf32>
  // CHECK: %[[R:.*]] = tile.buffer_read %[[B]][%{{.*}}, %{{.*}}] extents [-1, 8] : !tile.buffer<4x8xf32, none> -> tensor<8xf32>
  %r = tile.buffer_read %b[%i, %i] extents [-1, 8] : !tile.buffer<4x8xf32, none> -> tensor<8xf32>
  // CHECK: tile.buffer_write %[[T]], %[[B]] : tensor<4x8xf32>, !tile.buffer<4x8xf32, none>
  tile.buffer_write %t, %b : tensor<4x8xf32>, !tile.buffer<4x8xf32, none>
  // CHECK: tile.buffer_write %[[R]], %[[B]][%{{.*}}, %{{.*}}] extents [-1, 8] : tensor<8xf32>, !tile.buffer<4x8xf32, none>
  tile.buffer_write %r, %b[%i, %i] extents [-1, 8] : tensor<8xf32>, !tile.buffer<4x8xf32, none>
  // CHECK: %[[G:.*]] = tile.gather %[[B]][%{{.*}}, %{{.*}}] extents [-1, 8] : !tile.buffer<4x8xf32, none>, tensor<16xi64>, index -> tensor<16x8xf32>
  %g = tile.gather %b[%rows, %i] extents [-1, 8] : !tile.buffer<4x8xf32, none>, tensor<16xi64>, index -> tensor<16x8xf32>
  // CHECK: tile.scatter %[[G]], %[[B]][%{{.*}}, %{{.*}}] extents [-1, 8] : tensor<16x8xf32>, !tile.buffer<4x8xf32, none>, tensor<16xi64>, index
  tile.scatter %g, %b[%rows, %i] extents [-1, 8] : tensor<16x8xf32>, !tile.buffer<4x8xf32, none>, tensor<16xi64>, index
  return
}
