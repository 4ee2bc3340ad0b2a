// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-assign-row-layouts{backend=ptx warps=8},tile-keep-in-registers{shuffles=true}))' | FileCheck %s

// A row is in one warp, whose lanes have 16 bytes of it at once. It stays in registers up to the store; the factors that all
// rows share are loaded by each warp.
// CHECK-DAG: #[[X:.*]] = #tile.layout<reg = {{\[\[0,1\], \[0,2\], \[0,128\]\]}}, lane = {{\[\[0,4\], \[0,8\], \[0,16\], \[0,32\], \[0,64\]\]}}, warp = {{\[\[1,0\], \[2,0\], \[4,0\]\]}}, repeat = [1, 1]>
// CHECK-LABEL: tile.kernel @rows
// CHECK: %[[X0:.*]] = tile.load %x{{.*}} -> tensor<8x256xf32, #[[X]]>
// CHECK: tile.reduce sum %[[X0]] axis 1 : tensor<8x256xf32, #[[X]]> -> tensor<8xf32, #[[R:.*]]>
// CHECK: tile.load %g{{.*}} -> tensor<256xf32, #
// CHECK: tile.store {{.*}} : tensor<8x256xf32, #[[X]]>
// CHECK-NOT: tile.convert
tile.kernel @rows(%x: !tile.view<8x256xf32>, %g: !tile.view<256xf32>, %y: !tile.view<8x256xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "256"], access = read>,
    #tile.param<name = "g", kind = tensor, dtype = f32, dims = ["256"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["8", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] extents [8, 256] : !tile.view<8x256xf32> -> tensor<8x256xf32>
  %s = tile.reduce sum %a axis 1 : tensor<8x256xf32> -> tensor<8xf32>
  %column = tile.expand_dims %s axis 1 : tensor<8xf32> -> tensor<8x1xf32>
  %spread = tile.broadcast %column : tensor<8x1xf32> -> tensor<8x256xf32>
  %d = arith.divf %a, %spread : tensor<8x256xf32>
  %b = tile.load %g[%c0] extents [256] : !tile.view<256xf32> -> tensor<256xf32>
  %row = tile.expand_dims %b axis 0 : tensor<256xf32> -> tensor<1x256xf32>
  %all = tile.broadcast %row : tensor<1x256xf32> -> tensor<8x256xf32>
  %m = arith.mulf %d, %all : tensor<8x256xf32>
  tile.store %m, %y[%c0, %c0] extents [8, 256] : tensor<8x256xf32>, !tile.view<8x256xf32>
  tile.return
}

// -----

// A thread would have 128 elements.
// CHECK-LABEL: tile.kernel @long
// CHECK-SAME: fallbacks = ["ptx: tiles of 1x32768 are not kept in registers, because a thread of 256 would have 128 elements of 4 bytes"]
// CHECK: tile.reduce sum %{{.*}} : tensor<1x32768xf32> -> tensor<1xf32>
tile.kernel @long(%x: !tile.view<1x32768xf32>, %y: !tile.view<1xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["1", "32768"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["1"], access = write>]} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] extents [1, 32768] : !tile.view<1x32768xf32> -> tensor<1x32768xf32>
  %s = tile.reduce sum %a axis 1 : tensor<1x32768xf32> -> tensor<1xf32>
  tile.store %s, %y[%c0] extents [1] : tensor<1xf32>, !tile.view<1xf32>
  tile.return
}

// -----

// A scan needs its tile in memory, so everything stays there.
// CHECK-LABEL: tile.kernel @scanned
// CHECK: tile.load {{.*}} -> tensor<8x256xf32>{{$}}
tile.kernel @scanned(%x: !tile.view<8x256xf32>, %y: !tile.view<8xf32>, %z: !tile.view<8x256xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "256"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["8"], access = write>,
    #tile.param<name = "z", kind = tensor, dtype = f32, dims = ["8", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] extents [8, 256] : !tile.view<8x256xf32> -> tensor<8x256xf32>
  %s = tile.reduce sum %a axis 1 : tensor<8x256xf32> -> tensor<8xf32>
  tile.store %s, %y[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  %t = tile.scan sum %a axis 1 : tensor<8x256xf32>
  tile.store %t, %z[%c0, %c0] extents [8, 256] : tensor<8x256xf32>, !tile.view<8x256xf32>
  tile.return
}
