// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-fuse,tile-legalize-numerics{backend=x products=i16,bf16}))' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-numerics{pairs-of-bf16}))' | FileCheck %s --check-prefix=PAIRS
// RUN: not tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-numerics{products=bf61}))' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: tile-legalize-numerics: no dtype 'bf61'

// What the target multiplies is left as it is.
// CHECK-LABEL: tile.kernel @legal
// CHECK-NOT: fallbacks
// CHECK: tile.mma %{{.*}} : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>
tile.kernel @legal(%x: !tile.view<8x8xbf16>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xbf16> -> tensor<8x8xbf16>
  %p = tile.mma %t, %t, %z : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// bf16 has every value of fp8_e4m3.
// CHECK-LABEL: tile.kernel @widened
// CHECK-SAME: fallbacks = ["x: mma of fp8_e4m3 multiplies in bf16"]
// CHECK: tile.cast %{{.*}} from fp8_e4m3 to bf16
// CHECK: tile.mma %{{.*}} : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8x8xf32>
tile.kernel @widened(%x: !tile.view<8x8xf8E4M3FN>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf8E4M3FN> -> tensor<8x8xf8E4M3FN>
  %p = tile.mma %t, %t, %z : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// bf16 has neither the digits of f16 nor its smallest numbers.
// CHECK-LABEL: tile.kernel @half
// CHECK-SAME: fallbacks = ["x: mma of f16 multiplies in f32"]
// CHECK: tile.mma %{{.*}} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
tile.kernel @half(%x: !tile.view<8x8xf16>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f16, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf16> -> tensor<8x8xf16>
  %p = tile.mma %t, %t, %z : tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// Signed and unsigned bytes fit i16. The transpose stays an operation of its own.
// CHECK-LABEL: tile.kernel @bytes
// CHECK-SAME: fallbacks = ["x: mma of i8 multiplies in i16", "x: mma of u8 multiplies in i16"]
// CHECK: tile.cast %{{.*}} from i8 to i16
// CHECK: tile.transpose %{{.*}} : tensor<8x8xi16>
// CHECK: tile.mma %{{.*}} : tensor<8x8xi16>, tensor<8x8xi16>, tensor<8x8xi32>
// CHECK: tile.cast %{{.*}} from u8 to i16
// CHECK: tile.mma
// CHECK-NOT: unsigned
// CHECK-SAME: tensor<8x8xi16>, tensor<8x8xi16>, tensor<8x8xi32>
tile.kernel @bytes(%x: !tile.view<8x8xi8>, %u: !tile.view<8x8xui8>, %o: !tile.view<8x8xi32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i8, dims = ["8", "8"], access = read>,
    #tile.param<name = "u", kind = tensor, dtype = u8, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0> : tensor<8x8xi32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xi8> -> tensor<8x8xi8>
  %p = tile.mma %t, %t, %z {trans_b} : tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xi32>
  %v = tile.load %u[%c0, %c0] extents [8, 8] : !tile.view<8x8xui8> -> tensor<8x8xi8>
  %q = tile.mma %v, %v, %p unsigned : tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xi32>
  tile.store %q, %o[%c0, %c0] extents [8, 8] : tensor<8x8xi32>, !tile.view<8x8xi32>
  tile.return
}

// Strided products of bf16 multiply words of two rows, if their sums begin with zeros and the rows are even.
// PAIRS-LABEL: tile.kernel @strided
// PAIRS-SAME: fallbacks = ["cpu: mma of bf16 multiplies in f32"]
// PAIRS: %[[A:.*]] = tile.load %{{.*}} {tile.materialize} : !tile.view<8x4xbf16> -> tensor<8x4xbf16>
// PAIRS: %[[B:.*]] = tile.load
// PAIRS: %[[W:.*]] = tile.pair_rows %[[B]] {tile.materialize} : tensor<4x16xbf16> -> tensor<2x16xi32>
// PAIRS: %[[C:.*]] = tile.mma %[[A]], %[[W]], %{{.*}} {tile.strided} : tensor<8x4xbf16>, tensor<2x16xi32>, tensor<8x16xf32>
// PAIRS: tile.mma %{{.*}}, %{{.*}}, %[[C]] {tile.strided} : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
// PAIRS: tile.mma %{{.*}} {tile.strided} : tensor<8x3xf32>, tensor<3x16xf32>, tensor<8x16xf32>
// CHECK-LABEL: tile.kernel @strided
// CHECK-NOT: tile.pair_rows
tile.kernel @strided(%x: !tile.view<8x4xbf16>, %y: !tile.view<4x16xbf16>, %o: !tile.view<8x16xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["8", "4"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["4", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x16xf32>
  %a = tile.load %x[%c0, %c0] extents [8, 4] : !tile.view<8x4xbf16> -> tensor<8x4xbf16>
  %b = tile.load %y[%c0, %c0] extents [4, 16] : !tile.view<4x16xbf16> -> tensor<4x16xbf16>
  %p = tile.mma %a, %b, %z {tile.strided} : tensor<8x4xbf16>, tensor<4x16xbf16>, tensor<8x16xf32>
  %q = tile.mma %a, %b, %p {tile.strided} : tensor<8x4xbf16>, tensor<4x16xbf16>, tensor<8x16xf32>
  %d = tile.load %x[%c0, %c0] extents [8, 3] : !tile.view<8x4xbf16> -> tensor<8x3xbf16>
  %e = tile.load %y[%c0, %c0] extents [3, 16] : !tile.view<4x16xbf16> -> tensor<3x16xbf16>
  %r = tile.mma %d, %e, %z {tile.strided} : tensor<8x3xbf16>, tensor<3x16xbf16>, tensor<8x16xf32>
  %s = arith.addf %q, %r : tensor<8x16xf32>
  tile.store %s, %o[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// What only the words need is computed where they are joined.
// PAIRS-LABEL: tile.kernel @joined
// PAIRS: %[[E:.*]] = tile.cast %{{.*}} from f32 to bf16 : tensor<4x16xf32> -> tensor<4x16xbf16>
// PAIRS: tile.pair_rows %[[E]] {tile.materialize}
tile.kernel @joined(%x: !tile.view<8x4xbf16>, %y: !tile.view<4x16xf32>, %o: !tile.view<8x16xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["8", "4"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["4", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x16xf32>
  %a = tile.load %x[%c0, %c0] extents [8, 4] : !tile.view<8x4xbf16> -> tensor<8x4xbf16>
  %b = tile.load %y[%c0, %c0] extents [4, 16] : !tile.view<4x16xf32> -> tensor<4x16xf32>
  %e = tile.cast %b from f32 to bf16 {tile.materialize} : tensor<4x16xf32> -> tensor<4x16xbf16>
  %p = tile.mma %a, %e, %z {tile.strided} : tensor<8x4xbf16>, tensor<4x16xbf16>, tensor<8x16xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}
