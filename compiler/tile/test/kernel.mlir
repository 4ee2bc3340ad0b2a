// RUN: tsr-opt %s | tsr-opt | FileCheck %s
// Kernels, and what a program knows of its place. Arguments print under their parameters' names.

// CHECK-LABEL: tile.kernel @scale(%x: !tile.view<?x64xui8>, %result: !tile.view<?xf32>, %alpha: f32, %M: index)
// CHECK-SAME: grid ["ceildiv(M, 64)", "2"]
// CHECK-SAME: fragment = #tile.fragment<6x64x1>
// CHECK-SAME: numerics = "strict"
// CHECK-SAME: shared_bytes = 4096 : i64
tile.kernel @scale(%0: !tile.view<?x64xui8>, %1: !tile.view<?xf32>, %2: f32, %3: index) grid ["ceildiv(M, 64)", "2"]
    attributes {numerics = "strict", shared_bytes = 4096 : i64, fragment = #tile.fragment<6x64x1>,
    specialized = {D = 64 : i64}, fallbacks = ["one"], params = [
    #tile.param<name = "x", kind = tensor, dtype = u8, dims = ["M", "D"], access = read>,
    #tile.param<name = "result", kind = result, dtype = f32, dims = ["M"], access = write>,
    #tile.param<name = "alpha", kind = scalar, dtype = f32, default_value = 1.0 : f64>,
    #tile.param<name = "M", kind = dim>]} {
  // CHECK: tile.program_id 0 : index
  %p = tile.program_id 0 : index
  // CHECK: tile.dim %x, 0 : !tile.view<?x64xui8>
  %m = tile.dim %0, 0 : !tile.view<?x64xui8>
  // CHECK: tile.group_info lane_id : i32
  %lane = tile.group_info lane_id : i32
  // CHECK: tile.group_reduce max %{{.*}} unsigned : i32
  %max = tile.group_reduce max %lane unsigned : i32
  // CHECK: tile.group_reduce sum %alpha : f32
  %sum = tile.group_reduce sum %2 : f32
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.kernel @strides
// CHECK-SAME: #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n", "4"], strides = ["ld", "1"]>
tile.kernel @strides(%x: !tile.view<?x4xf32>, %n: index, %ld: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n", "4"], strides = ["ld", "1"]>,
    #tile.param<name = "n", kind = dim>, #tile.param<name = "ld", kind = dim>]} {
  tile.return
}
