// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// Global tensors.

// CHECK-LABEL: func.func @tiles
func.func @tiles(%a: !tile.view<?x?xbf16>, %bytes: !tile.view<8xui8>, %i: index, %j: index) {
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
  %t = tile.load %a[%i, %j] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
  // CHECK: tile.load %{{.*}} extents [-1, 32] {in_bounds} : !tile.view<?x?xbf16> -> tensor<32xbf16>
  %r = tile.load %a[%i, %j] extents [-1, 32] {in_bounds} : !tile.view<?x?xbf16> -> tensor<32xbf16>
  // u8 is i8 once it is a value.
  // CHECK: tile.load %{{.*}} extents [8] : !tile.view<8xui8> -> tensor<8xi8>
  %u = tile.load %bytes[%i] extents [8] : !tile.view<8xui8> -> tensor<8xi8>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] extents [64, 32] : tensor<64x32xbf16>, !tile.view<?x?xbf16>
  tile.store %t, %a[%i, %j] extents [64, 32] : tensor<64x32xbf16>, !tile.view<?x?xbf16>
  // CHECK: tile.store %{{.*}} extents [64, 32] bounds(%[[I:.*]] to %[[J:.*]], %[[J]] to %[[I]]) : tensor
  tile.store %t, %a[%i, %j] extents [64, 32] bounds(%i to %j, %j to %i) : tensor<64x32xbf16>, !tile.view<?x?xbf16>
  // CHECK: tile.prefetch %{{.*}} extents [64, 32] : !tile.view<?x?xbf16>
  tile.prefetch %a[%i, %j] extents [64, 32] : !tile.view<?x?xbf16>
  return
}

// CHECK-LABEL: func.func @gathered
func.func @gathered(%a: !tile.view<?x?x?xf32>, %rows: tensor<4x2xi64>, %i: index, %f: tensor<16x4x2xi1>) {
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] extents [16, -1, -1] : !tile.view<?x?x?xf32>, index, tensor<4x2xi64>, index -> tensor<16x4x2xf32>
  %t = tile.gather %a[%i, %rows, %i] extents [16, -1, -1] : !tile.view<?x?x?xf32>, index, tensor<4x2xi64>, index -> tensor<16x4x2xf32>
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] extents [16, -1, -1] where %{{.*}} : tensor<16x4x2xi1> : tensor<16x4x2xf32>, !tile.view<?x?x?xf32>, index, tensor<4x2xi64>, index
  tile.scatter %t, %a[%i, %rows, %i] extents [16, -1, -1] where %f : tensor<16x4x2xi1> : tensor<16x4x2xf32>, !tile.view<?x?x?xf32>, index, tensor<4x2xi64>, index
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%a: !tile.view<?x?xi1>, %i: index) {
  // CHECK: tile.load_elem %{{.*}}[%{{.*}}, %{{.*}}] : !tile.view<?x?xi1> -> i1
  %x = tile.load_elem %a[%i, %i] : !tile.view<?x?xi1> -> i1
  // CHECK: tile.store_elem %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] {in_bounds} : i1, !tile.view<?x?xi1>
  tile.store_elem %x, %a[%i, %i] {in_bounds} : i1, !tile.view<?x?xi1>
  return
}

// CHECK-LABEL: func.func @atomics
func.func @atomics(%a: !tile.view<?xf32>, %u: !tile.view<?x?xui8>, %i: index, %x: f32, %is: tensor<8xindex>,
                   %xs: tensor<8xf32>, %us: tensor<8xi8>) {
  // CHECK: tile.atomic add relaxed device %{{.*}}, %{{.*}}[%{{.*}}] : f32, !tile.view<?xf32> -> f32
  %0 = tile.atomic add relaxed device %x, %a[%i] : f32, !tile.view<?xf32> -> f32
  // CHECK: tile.atomic xchg acq_rel system %{{.*}}, %{{.*}}[%{{.*}}] : tensor<8xf32>, !tile.view<?xf32> -> tensor<8xf32>
  %1 = tile.atomic xchg acq_rel system %xs, %a[%is] : tensor<8xf32>, !tile.view<?xf32> -> tensor<8xf32>
  // CHECK: tile.atomic max relaxed group %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] unsigned : tensor<8xi8>, !tile.view<?x?xui8>
  %2 = tile.atomic max relaxed group %us, %u[%is, %is] unsigned : tensor<8xi8>, !tile.view<?x?xui8> -> tensor<8xi8>
  // CHECK: tile.atomic_cas seq_cst device %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] : f32, !tile.view<?xf32> -> f32
  %3 = tile.atomic_cas seq_cst device %x, %x, %a[%i] : f32, !tile.view<?xf32> -> f32
  return
}
