// RUN: tsr-opt %s -gpu-lower-tile=target=ptx:sm_80 | FileCheck %s

// What one elementwise operation uses is loaded where that computes, register by register, also through a conversion: one branch
// with both loads, in which each access is followed by its sums.
// CHECK-LABEL: gpu.func @tsr_kernel_add
// CHECK-NOT: llvm.load
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> vector<2xi16>
// CHECK: llvm.load {{.*}} -> vector<2xf32>
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: llvm.load {{.*}} -> vector<2xi16>
// CHECK: llvm.load {{.*}} -> vector<2xf32>
// CHECK: } else {
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
tile.kernel @add(%x: !tile.view<16x8xbf16>, %y: !tile.view<16x8xf32>, %z: !tile.view<16x8xf32>, %n: index) grid []
    attributes {threads = 32 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["16", "8"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["16", "8"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["16", "8"], access = write>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%n, %c0] extents [16, 8] : !tile.view<16x8xbf16> -> tensor<16x8xbf16, #c>
  %b = tile.load %y[%n, %c0] extents [16, 8] : !tile.view<16x8xf32> -> tensor<16x8xf32, #c>
  %w = tile.cast %a from bf16 to f32 : tensor<16x8xbf16, #c> -> tensor<16x8xf32, #c>
  %s = arith.addf %w, %b : tensor<16x8xf32, #c>
  tile.store %s, %z[%n, %c0] extents [16, 8] : tensor<16x8xf32, #c>, !tile.view<16x8xf32>
  tile.return
}

// A value that is used twice is loaded once, before both.
// CHECK-LABEL: gpu.func @tsr_kernel_twice
// CHECK: llvm.load {{.*}} -> vector<2xf32>
// CHECK: llvm.load {{.*}} -> vector<2xf32>
// CHECK: } else {
// CHECK: arith.mulf
tile.kernel @twice(%y: !tile.view<16x8xf32>, %z: !tile.view<16x8xf32>, %n: index) grid []
    attributes {threads = 32 : i64, params = [
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["16", "8"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["16", "8"], access = write>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %b = tile.load %y[%n, %c0] extents [16, 8] : !tile.view<16x8xf32> -> tensor<16x8xf32, #c>
  %s = arith.mulf %b, %b : tensor<16x8xf32, #c>
  tile.store %s, %z[%n, %c0] extents [16, 8] : tensor<16x8xf32, #c>, !tile.view<16x8xf32>
  tile.return
}

// Of 128 sums of a lane 32 at a time are loaded and stored.
// CHECK-LABEL: gpu.func @tsr_kernel_many
// CHECK: scf.if
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<2xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-16: llvm.store
// CHECK: llvm.load {{.*}} -> vector<2xf32>
#d = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
tile.kernel @many(%y: !tile.view<16x256xf32>, %n: index) grid [] attributes {threads = 32 : i64, params = [
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["16", "256"], access = readwrite>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<16x256xf32, #d>
  %b = tile.load %y[%n, %c0] extents [16, 256] : !tile.view<16x256xf32> -> tensor<16x256xf32, #d>
  %s = arith.addf %b, %one : tensor<16x256xf32, #d>
  tile.store %s, %y[%n, %c0] extents [16, 256] : tensor<16x256xf32, #d>, !tile.view<16x256xf32>
  tile.return
}

// Where the tensor ends between two vectors of aligned rows, each vector has one condition; else each element has.
// CHECK-LABEL: gpu.func @tsr_kernel_ends
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: } else {
// CHECK: arith.ori
// CHECK: scf.if {{.*}} -> (vector<4xf32>) {
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} {{.*}} -> vector<4xf32>
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK-NOT: llvm.load
// CHECK: scf.if {{.*}} -> (vector<4xf32>) {
// CHECK: } else {
// CHECK-COUNT-8: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK: gpu.return
#e = #tile.layout<reg = [[0,1], [0,2], [8,0]], lane = [[0,4], [0,8], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
tile.kernel @ends(%y: !tile.view<?x?xf32>, %z: !tile.view<16x16xf32>, %m: index, %n: index) grid []
    attributes {threads = 32 : i64, params = [
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["m", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["16", "16"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %b = tile.load %y[%c0, %c0] extents [16, 16] : !tile.view<?x?xf32> -> tensor<16x16xf32, #e>
  %s = arith.mulf %b, %b : tensor<16x16xf32, #e>
  tile.store %s, %z[%c0, %c0] extents [16, 16] {in_bounds} : tensor<16x16xf32, #e>, !tile.view<16x16xf32>
  tile.return
}

// Of bf16 there are vectors of 16 and of 4 bytes, and no load of elements that the two find whole.
// CHECK-LABEL: gpu.func @tsr_kernel_halves
// CHECK: llvm.load {{.*}} -> vector<8xi16>
// CHECK: scf.if {{.*}} -> (vector<8xi16>) {
// CHECK-COUNT-4: scf.if {{.*}} -> (vector<2xi16>) {
// CHECK: } else {
// CHECK-COUNT-8: llvm.load {{.*}} -> i16
#h = #tile.layout<reg = [[0,1], [0,2], [0,4]], lane = [[0,8], [1,0], [2,0], [4,0], [8,0]], warp = [], repeat = [1, 1]>
tile.kernel @halves(%y: !tile.view<?x?xbf16>, %z: !tile.view<16x16xbf16>, %m: index, %n: index) grid []
    attributes {threads = 32 : i64, params = [
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["m", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = bf16, dims = ["16", "16"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %b = tile.load %y[%c0, %c0] extents [16, 16] : !tile.view<?x?xbf16> -> tensor<16x16xbf16, #h>
  tile.store %b, %z[%c0, %c0] extents [16, 16] {in_bounds} : tensor<16x16xbf16, #h>, !tile.view<16x16xbf16>
  tile.return
}
