// RUN: tsr-opt %s --canonicalize | FileCheck %s

#rows = #tile.layout<reg = [[0,1], [0,2]], lane = [[1,0], [2,0]], warp = [], repeat = [1, 1]>
#columns = #tile.layout<reg = [[1,0], [2,0]], lane = [[0,1], [0,2]], warp = [], repeat = [1, 1]>
#wide = #tile.layout<reg = [], lane = [[0,1], [0,2], [1,0], [2,0]], warp = [], repeat = [1, 1]>

// CHECK-LABEL: @there_and_back
// CHECK-NEXT: return %{{.*}} : tensor<4x4xf32>
func.func @there_and_back(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = tile.convert %x : tensor<4x4xf32> -> tensor<4x4xf32, #rows>
  %m = tile.convert %r : tensor<4x4xf32, #rows> -> tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}

// CHECK-LABEL: @through_memory
// CHECK-NEXT: %[[C:.*]] = tile.convert %{{.*}} : tensor<4x4xf32, #[[ROWS:.*]]> -> tensor<4x4xf32, #[[COLUMNS:.*]]>
// CHECK-NEXT: return %[[C]]
func.func @through_memory(%x: tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #columns> {
  %m = tile.convert %x : tensor<4x4xf32, #rows> -> tensor<4x4xf32>
  %c = tile.convert %m : tensor<4x4xf32> -> tensor<4x4xf32, #columns>
  return %c : tensor<4x4xf32, #columns>
}

// Other threads read what these wrote: only memory connects them.
// CHECK-LABEL: @between_threads
// CHECK-COUNT-2: tile.convert
func.func @between_threads(%x: tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #wide> {
  %m = tile.convert %x : tensor<4x4xf32, #rows> -> tensor<4x4xf32>
  %c = tile.convert %m : tensor<4x4xf32> -> tensor<4x4xf32, #wide>
  return %c : tensor<4x4xf32, #wide>
}
