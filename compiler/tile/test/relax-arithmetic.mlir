// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-relax-arithmetic))' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-relax-arithmetic{backend=ptx approximates=true short-sums=fp8_e4m3,fp8_e5m2}))' | FileCheck --check-prefix=NEAR %s

// What the program computes is marked; a division by a value that many elements share becomes a multiplication.
// CHECK-LABEL: tile.kernel @fast
// CHECK-SAME: fallbacks = ["cpu: numerics fast has no effect on functions, which keep their error"]
// NEAR-LABEL: tile.kernel @fast
// NEAR-NOT: has no effect on functions
// NEAR: tile.kernel @narrow
tile.kernel @fast(%x: !tile.view<8x16xf32>, %s: f32) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>,
    #tile.param<name = "s", kind = scalar, dtype = f32>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  // CHECK: %[[P:.*]] = arith.mulf %{{.*}} fastmath<reassoc,arcp,contract>
  %p = arith.mulf %t, %t : tensor<8x16xf32>
  // CHECK: arith.addf %[[P]], %{{.*}} fastmath<reassoc,arcp,contract>
  %a = arith.addf %p, %t : tensor<8x16xf32>
  // CHECK: tile.exp %{{.*}} : tensor<8x16xf32>
  %e = tile.exp %a : tensor<8x16xf32>
  // CHECK: %[[ONE:.*]] = arith.constant 1.0
  // CHECK: %[[R:.*]] = arith.divf %[[ONE]], %s fastmath<reassoc,arcp,contract> : f32
  // CHECK: %[[B:.*]] = tile.broadcast %[[R]]
  // CHECK-NOT: tile.broadcast %s
  // CHECK: arith.mulf %{{.*}}, %[[B]] fastmath<reassoc,arcp,contract>
  %b = tile.broadcast %s : f32 -> tensor<8x16xf32>
  %d = arith.divf %e, %b : tensor<8x16xf32>
  // CHECK: arith.divf %{{.*}} : tensor<8x16xf32>
  %q = arith.divf %d, %e : tensor<8x16xf32>
  tile.store %q, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// Narrow floats round a reciprocal.
// CHECK-LABEL: tile.kernel @narrow
tile.kernel @narrow(%x: !tile.view<8xf16>, %s: f16) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f16, dims = ["8"], access = readwrite>,
    #tile.param<name = "s", kind = scalar, dtype = f16>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [8] : !tile.view<8xf16> -> tensor<8xf16>
  %b = tile.broadcast %s : f16 -> tensor<8xf16>
  // CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<reassoc,arcp,contract> : tensor<8xf16>
  %d = arith.divf %t, %b : tensor<8xf16>
  tile.store %d, %x[%c0] extents [8] : tensor<8xf16>, !tile.view<8xf16>
  tile.return
}

// Integers leave the profile nothing to do.
// CHECK-LABEL: tile.kernel @integers
// CHECK-SAME: fallbacks = ["cpu: numerics fast has no effect: no float is added, multiplied or divided"]
tile.kernel @integers(%x: !tile.view<8xi32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>]} {
  tile.return
}

// The other profiles keep their bits, `standard` and its contraction included.
// CHECK-LABEL: tile.kernel @standard
// CHECK-NOT: fallbacks
// CHECK-NOT: fastmath
tile.kernel @standard(%x: !tile.view<8xf32>, %s: f32) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8"], access = readwrite>,
    #tile.param<name = "s", kind = scalar, dtype = f32>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] extents [8] : !tile.view<8xf32> -> tensor<8xf32>
  %b = tile.broadcast %s : f32 -> tensor<8xf32>
  // CHECK: arith.divf
  %d = arith.divf %t, %b : tensor<8xf32>
  %m = arith.mulf %d, %t : tensor<8xf32>
  tile.store %m, %x[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.return
}

// GPUs approximate a square root, too, so that the profile has an effect.
// CHECK-LABEL: tile.kernel @root
// CHECK-SAME: has no effect: no float is added
// NEAR-LABEL: tile.kernel @root
// NEAR-NOT: has no effect
tile.kernel @root(%x: !tile.view<8x16xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %r = math.sqrt %t : tensor<8x16xf32>
  tile.store %r, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// Only a target that adds products of fp8 with fewer bits than their sums have does so less often.
// CHECK-LABEL: tile.kernel @quarter
// CHECK-SAME: fallbacks = ["cpu: numerics fast has no effect: no float is added, multiplied or divided"]
// NEAR-LABEL: tile.kernel @quarter
// NEAR-NOT: fallbacks
// NEAR: tile.mma
tile.kernel @quarter(%x: !tile.view<64x64xf8E4M3FN>, %o: !tile.view<64x64xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %p = tile.mma %s, %s, %z {trans_b} : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}
