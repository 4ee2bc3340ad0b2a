// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// Making and reshaping tiles.

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf32>, %s: f32, %i: i32, %lo: index, %hi: index) {
  // CHECK: tile.iota %{{.*}} : i32 -> tensor<64xi32>
  %0 = tile.iota %i : i32 -> tensor<64xi32>
  // CHECK: tile.broadcast %{{.*}} : f32 -> tensor<4x8xf32>
  %1 = tile.broadcast %s : f32 -> tensor<4x8xf32>
  // CHECK: tile.expand_dims %{{.*}} axis 1 : tensor<4x8xf32> -> tensor<4x1x8xf32>
  %2 = tile.expand_dims %x axis 1 : tensor<4x8xf32> -> tensor<4x1x8xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<4x1x8xf32> -> tensor<4x3x8xf32>
  %3 = tile.broadcast %2 : tensor<4x1x8xf32> -> tensor<4x3x8xf32>
  // CHECK: tile.slice %{{.*}} [1, 4] : tensor<4x8xf32> -> tensor<2x4xf32>
  %8 = tile.slice %x [1, 4] : tensor<4x8xf32> -> tensor<2x4xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<4x8xf32> -> tensor<32xf32>
  %4 = tile.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tile.transpose %{{.*}} : tensor<4x3x8xf32> -> tensor<4x8x3xf32>
  %5 = tile.transpose %3 : tensor<4x3x8xf32> -> tensor<4x8x3xf32>
  // CHECK: tile.concat %{{.*}}, %{{.*}} axis 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %6 = tile.concat %x, %1 axis 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK: tile.flip %{{.*}} axis 1 : tensor<4x8xf32>
  %10 = tile.flip %x axis 1 : tensor<4x8xf32>
  // CHECK: tile.fill_masked %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %9 = tile.fill_masked %x, %s : tensor<4x8xf32>
  // CHECK: tile.mask %{{.*}}, %{{.*}} bounds(%{{.*}} to %{{.*}}, %{{.*}} to %{{.*}}) : tensor<4x8xf32>
  %7 = tile.mask %x, %s bounds(%lo to %hi, %lo to %hi) : tensor<4x8xf32>
  return
}

func.func @where(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tile.where %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %0 = tile.where %c, %x, %y : tensor<4xi1>, tensor<4xf32>
  return %0 : tensor<4xf32>
}
