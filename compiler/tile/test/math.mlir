// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// Casts, functions, reductions, products.

// CHECK-LABEL: func.func @math
func.func @math(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %s: f32, %u: tensor<4x8xi8>, %seed: i64,
                %offsets: tensor<8xi64>) {
  // CHECK: tile.cast %{{.*}} from f32 to fp8_e4m3 : tensor<4x8xf32> -> tensor<4x8xf8E4M3FN>
  %0 = tile.cast %x from f32 to fp8_e4m3 : tensor<4x8xf32> -> tensor<4x8xf8E4M3FN>
  // CHECK: tile.cast %{{.*}} from f32 to u8 : f32 -> i8
  %1 = tile.cast %s from f32 to u8 : f32 -> i8
  // CHECK: tile.cast %{{.*}} from f32 to tf32 : f32 -> f32
  %2 = tile.cast %s from f32 to tf32 : f32 -> f32
  // CHECK: tile.sigmoid %{{.*}} : tensor<8xf32>
  %3 = tile.sigmoid %v : tensor<8xf32>
  // CHECK: tile.reduce sum %{{.*}} axis 1 : tensor<4x8xf32> -> tensor<4xf32>
  %4 = tile.reduce sum %x axis 1 : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: tile.reduce prod %{{.*}} axis 0 : tensor<8xf32> -> f32
  %5 = tile.reduce prod %v axis 0 : tensor<8xf32> -> f32
  // CHECK: tile.reduce sum %{{.*}} axis 1 order <lanes = 8, chains = [4, 1]> : tensor<4x8xf32> -> tensor<4xf32>
  %ordered = tile.reduce sum %x axis 1 order <lanes = 8, chains = [4, 1]> : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: tile.reduce min %{{.*}} axis 0 unsigned : tensor<4x8xi8> -> tensor<8xi8>
  %6 = tile.reduce min %u axis 0 unsigned : tensor<4x8xi8> -> tensor<8xi8>
  // CHECK: tile.arg_reduce max %{{.*}} axis 1 : tensor<4x8xf32> -> tensor<4xi32>
  %7 = tile.arg_reduce max %x axis 1 : tensor<4x8xf32> -> tensor<4xi32>
  // CHECK: tile.scan sum %{{.*}} axis 0 : tensor<8xf32>
  %8 = tile.scan sum %v axis 0 : tensor<8xf32>
  // CHECK: tile.rand %{{.*}}, %{{.*}} : i64, tensor<8xi64> -> tensor<8xf32>
  %9 = tile.rand %seed, %offsets : i64, tensor<8xi64> -> tensor<8xf32>
  // CHECK: tile.rand %{{.*}}, %{{.*}} word 2 : i64, tensor<8xi64> -> tensor<8xi32>
  %10 = tile.rand %seed, %offsets word 2 : i64, tensor<8xi64> -> tensor<8xi32>
  // CHECK: tile.scan prod %{{.*}} axis 0 : tensor<8xf32>
  %11 = tile.scan prod %v axis 0 : tensor<8xf32>
  // CHECK: tile.scan min %{{.*}} axis 1 unsigned : tensor<4x8xi8>
  %12 = tile.scan min %u axis 1 unsigned : tensor<4x8xi8>
  // CHECK: tile.sort %{{.*}} axis 0 : tensor<4x8xi8> -> tensor<4x8xi8>
  %13 = tile.sort %u axis 0 : tensor<4x8xi8> -> tensor<4x8xi8>
  // CHECK: tile.atan2 %{{.*}}, %{{.*}} : tensor<8xf32>
  %14 = tile.atan2 %v, %v : tensor<8xf32>
  // CHECK: tile.asinh %{{.*}} : f32
  %15 = tile.asinh %s : f32
  return
}

// CHECK-LABEL: func.func @mma
func.func @mma(%a: tensor<4x8xbf16>, %b: !tile.buffer<16x8xbf16, xor>, %c: tensor<4x16xf32>, %u: tensor<4x8xi8>,
               %v: !tile.buffer<8x16xui8, none>, %i: tensor<4x16xi32>) {
  // CHECK: tile.mma %{{.*}} {fragment = #tile.fragment<6x64x1>, trans_b} : tensor<4x8xbf16>, !tile.buffer<16x8xbf16, xor>, tensor<4x16xf32>
  %0 = tile.mma %a, %b, %c {trans_b, fragment = #tile.fragment<6x64x1>}
      : tensor<4x8xbf16>, !tile.buffer<16x8xbf16, xor>, tensor<4x16xf32>
  // CHECK: tile.mma %{{.*}} unsigned : tensor<4x8xi8>, !tile.buffer<8x16xui8, none>, tensor<4x16xi32>
  %1 = tile.mma %u, %v, %i unsigned : tensor<4x8xi8>, !tile.buffer<8x16xui8, none>, tensor<4x16xi32>
  return
}
