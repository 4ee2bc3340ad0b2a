// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-fuse,tile-legalize-numerics))' | FileCheck %s

// CHECK-LABEL: tile.kernel @narrow
// CHECK-SAME: fallbacks = ["cpu: bf16 arithmetic runs in f32 and rounds after each operation"]
tile.kernel @narrow(%x: !tile.view<8xbf16>, %o: !tile.view<8xbf16>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = bf16, dims = ["8"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[T:.*]] = tile.load
  // CHECK: %[[W:.*]] = tile.cast %[[T]] from bf16 to f32
  // CHECK: %[[E:.*]] = tile.exp %[[W]] : tensor<8xf32>
  // CHECK: %[[N:.*]] = tile.cast %[[E]] from f32 to bf16
  // CHECK: tile.store %[[N]]
  %t = tile.load %x[%c0] extents [8] : !tile.view<8xbf16> -> tensor<8xbf16>
  %e = tile.exp %t : tensor<8xbf16>
  tile.store %e, %o[%c0] extents [8] : tensor<8xbf16>, !tile.view<8xbf16>
  tile.return
}

// Operands widen where they are loaded, in one loop; the transpose becomes an op of its own.
// CHECK-LABEL: tile.kernel @product
// CHECK-SAME: fallbacks = ["cpu: mma of fp8_e4m3 multiplies in f32"]
tile.kernel @product(%x: !tile.view<8x8xf8E4M3FN>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: %[[B:.*]] = tile.alloc_shared
  %b = tile.alloc_shared : !tile.buffer<8x8xf8E4M3FN, none>
  // CHECK: %[[T:.*]] = tile.load %x[%{{.*}}] extents [8, 8] : !tile.view
  // CHECK: %[[A:.*]] = tile.cast %[[T]] from fp8_e4m3 to f32 {tile.materialize}
  // CHECK: %[[R:.*]] = tile.buffer_read %[[B]]
  // CHECK: %[[W:.*]] = tile.cast %[[R]] from fp8_e4m3 to f32 :
  // CHECK: %[[Y:.*]] = tile.transpose %[[W]]
  // CHECK: tile.mma %[[A]], %[[Y]], %{{.*}} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf8E4M3FN> -> tensor<8x8xf8E4M3FN>
  %p = tile.mma %t, %b, %z {trans_b} : tensor<8x8xf8E4M3FN>, !tile.buffer<8x8xf8E4M3FN, none>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// tf32 is a math mode of f32 storage; the CPU multiplies the whole of it.
// CHECK-LABEL: tile.kernel @mode
// CHECK-SAME: fallbacks = ["cpu: tf32 arithmetic runs in f32"]
tile.kernel @mode(%x: !tile.view<8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = tf32, dims = ["8"], access = read>]} {
  tile.return
}

// A transpose reads its operand where it lies: the load gets no scratch of its own, unless another reads it, too.
// CHECK-LABEL: tile.kernel @turned
tile.kernel @turned(%x: !tile.view<8x8xf32>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: %[[A:.*]] = tile.load %{{.*}} {tile.materialize}
  // CHECK: %[[B:.*]] = tile.load
  // CHECK-NOT: tile.materialize
  // CHECK: %[[T:.*]] = tile.transpose %[[B]]
  // CHECK: tile.mma %[[A]], %[[T]]
  %a = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %b = tile.load %o[%c0, %c0] extents [8, 8] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %p = tile.mma %a, %b, %z {trans_b} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  // CHECK: %[[C:.*]] = tile.load %{{.*}} {tile.materialize}
  // CHECK: %[[U:.*]] = tile.transpose %[[C]]
  // CHECK: tile.mma %[[U]], %[[C]]
  %c = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %q = tile.mma %c, %c, %p {trans_a} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %q, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// A profile may let products round their factors to tf32; where none does, that is reported.
// CHECK-LABEL: tile.kernel @reduced
// CHECK-SAME: fallbacks = ["cpu: numerics fast has no effect on products, which are not rounded to tf32"]
tile.kernel @reduced(%x: !tile.view<8x8xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "8"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 8] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %p = tile.mma %t, %t, %z : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %p, %x[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}
