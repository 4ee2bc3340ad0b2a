// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// RUN: tsr-opt %s --tile-print-layouts | FileCheck %s --check-prefix=DRAWN

#a = #tile.layout<reg = [[0,1], [8,0], [0,8]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 3]>
#keys = #tile.shared<offset = [[0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [1,8], [2,16], [4,32], [8,0]], repeat = [11, 1]>

// CHECK-DAG: #[[A:layout[0-9]*]] = #tile.layout<reg = {{\[\[}}0,1], [8,0], [0,8]], lane = {{\[\[}}0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
// CHECK-DAG: #[[C:layout[0-9]*]] = #tile.layout<reg = {{\[\[}}0,1], [8,0]], lane = {{.*}}, warp = [], repeat = [1, 3]>
// CHECK-DAG: #[[KEYS:shared[0-9]*]] = #tile.shared<offset = {{\[\[}}0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [1,8], [2,16], [4,32], [8,0]], repeat = [11, 1]>

// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<16x16xbf16>, %b: tensor<16x24xbf16>, %k: tensor<176x64xbf16>)
    -> (tensor<16x24xf32>, tensor<176x64xbf16, #keys>) {
  // CHECK: tile.convert %{{.*}} : tensor<16x16xbf16> -> tensor<16x16xbf16, #[[A]]>
  %a = tile.convert %x : tensor<16x16xbf16> -> tensor<16x16xbf16, #a>
  %zero = arith.constant dense<0.0> : tensor<16x24xf32, #c>
  // CHECK: tile.mma %{{.*}} {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 1]>} : tensor<16x16xbf16, #[[A]]>, tensor<16x24xbf16>, tensor<16x24xf32, #[[C]]>
  %p = tile.mma %a, %b, %zero {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 1]>}
      : tensor<16x16xbf16, #a>, tensor<16x24xbf16>, tensor<16x24xf32, #c>
  // CHECK: arith.addf %{{.*}} : tensor<16x24xf32, #[[C]]>
  %q = arith.addf %p, %p : tensor<16x24xf32, #c>
  // CHECK: tile.convert %{{.*}} : tensor<16x24xf32, #[[C]]> -> tensor<16x24xf32>
  %r = tile.convert %q : tensor<16x24xf32, #c> -> tensor<16x24xf32>
  // CHECK: tile.convert %{{.*}} -> tensor<176x64xbf16, #[[KEYS]]>
  %s = tile.convert %k : tensor<176x64xbf16> -> tensor<176x64xbf16, #keys>
  return %r, %s : tensor<16x24xf32>, tensor<176x64xbf16, #keys>
}

// DRAWN: #tile.layout<reg = {{\[\[}}0,1], [8,0], [0,8]]
// DRAWN-NEXT: 0    1    2
// DRAWN-NEXT: 0  0:0  0:1  1:0  1:1  2:0  2:1  3:0  3:1  0:4  0:5
// DRAWN: #tile.layout<reg = {{\[\[}}0,1], [8,0]]
// DRAWN: {{^}}   1{{ +}}4:0{{ +}}4:1{{ +}}5:0{{ +}}5:1{{ +}}6:0{{ +}}6:1{{ +}}7:0{{ +}}7:1{{ +}}4:4{{ +}}4:5
// DRAWN: #tile.shared<
// DRAWN: {{^}}   1{{ +}}72{{ +}}73{{ +}}74{{ +}}75{{ +}}76{{ +}}77{{ +}}78{{ +}}79{{ +}}64
// DRAWN: (176 rows and 64 columns in all)
