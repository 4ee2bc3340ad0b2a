// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-transpose-products))' | FileCheck %s

// The rows' tensor has a known number of rows: there is only the transposed loop. Limits, masks and axes
// exchange, constants and broadcasts are made transposed, the operands of the second product stay where they are.
// CHECK-LABEL: tile.kernel @attention
// CHECK: %[[Q:.*]] = tile.load %q
// CHECK: %[[QT:.*]] = tile.transpose %[[Q]] : tensor<32x8xf32> -> tensor<8x32xf32>
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}) -> (tensor<8x32xf32>, tensor<32xf32>)
// CHECK: %[[K:.*]] = tile.load %k
// CHECK: %[[V:.*]] = tile.load %v
// CHECK: %[[S:.*]] = tile.mma %[[K]], %[[QT]], %{{.*}} limits(%[[END:.*]], %[[ROWS:.*]], %[[DEPTH:.*]]) {tile.strided} : tensor<16x8xf32>, tensor<8x32xf32>, tensor<16x32xf32>
// CHECK: %[[MASK:.*]] = tile.mask %[[S]], %{{.*}} bounds(%{{.*}} to %[[END]], %{{.*}} to %[[ROWS]]) : tensor<16x32xf32>
// CHECK: %[[TOP:.*]] = tile.reduce max %[[MASK]] axis 0 : tensor<16x32xf32> -> tensor<32xf32>
// CHECK: %[[LINE:.*]] = tile.expand_dims %[[TOP]] axis 0 : tensor<32xf32> -> tensor<1x32xf32>
// CHECK: %[[ALL:.*]] = tile.broadcast %[[LINE]] : tensor<1x32xf32> -> tensor<16x32xf32>
// CHECK: %[[D:.*]] = arith.subf %[[MASK]], %[[ALL]] : tensor<16x32xf32>
// CHECK: %[[P:.*]] = tile.exp %[[D]] : tensor<16x32xf32>
// CHECK: %[[O:.*]] = tile.mma %[[V]], %[[P]], %[[ACC]] {tile.strided, trans_a} : tensor<16x8xf32>, tensor<16x32xf32>, tensor<8x32xf32>
// CHECK: scf.yield %[[O]], %[[TOP]]
// CHECK: %[[OUT:.*]] = tile.transpose %[[LOOP]]#0 : tensor<8x32xf32> -> tensor<32x8xf32>
// CHECK: tile.store %[[OUT]], %o
// CHECK: tile.store %[[LOOP]]#1, %m
tile.kernel @attention(%q: !tile.view<32x8xf32>, %k: !tile.view<?x8xf32>, %v: !tile.view<?x8xf32>, %o: !tile.view<32x8xf32>, %m: !tile.view<32xf32>, %S: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["32", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "v", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "8"], access = write>,
    #tile.param<name = "m", kind = tensor, dtype = f32, dims = ["32"], access = write>,
    #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %none = arith.constant 0xFF800000 : f32
  %scores = arith.constant dense<0.0> : tensor<32x16xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %least = arith.constant dense<0xFF800000> : tensor<32xf32>
  %tq = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %r:2 = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %zero, %old = %least) -> (tensor<32x8xf32>, tensor<32xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %tv = tile.load %v[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %end = arith.subi %S, %j : index
    %s = tile.mma %tq, %tk, %scores limits(%c32, %end, %c8) {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    %masked = tile.mask %s, %none bounds(%c0 to %c32, %c0 to %end) : tensor<32x16xf32>
    %top = tile.reduce max %masked axis 1 : tensor<32x16xf32> -> tensor<32xf32>
    %line = tile.expand_dims %top axis 1 : tensor<32xf32> -> tensor<32x1xf32>
    %all = tile.broadcast %line : tensor<32x1xf32> -> tensor<32x16xf32>
    %d = arith.subf %masked, %all : tensor<32x16xf32>
    %p = tile.exp %d : tensor<32x16xf32>
    %next = tile.mma %p, %tv, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next, %top : tensor<32x8xf32>, tensor<32xf32>
  }
  tile.store %r#0, %o[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<32x8xf32>
  tile.store %r#1, %m[%c0] extents [32] : tensor<32xf32>, !tile.view<32xf32>
  tile.return
}

// The number of rows is a dim: few rows keep the loop as it is.
// CHECK-LABEL: tile.kernel @unknown
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %R, %{{.*}} : index
// CHECK: scf.if %[[FEW]] -> (tensor<32x8xf32>)
// CHECK: scf.for
// CHECK: tile.mma %{{.*}} {trans_b}
// CHECK: } else {
// CHECK: scf.for
// CHECK: tile.mma %{{.*}} {tile.strided}
tile.kernel @unknown(%q: !tile.view<?x8xf32>, %k: !tile.view<?x8xf32>, %o: !tile.view<?x8xf32>, %R: index, %S: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["R", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["R", "8"], access = write>,
    #tile.param<name = "R", kind = dim>, #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %scores = arith.constant dense<0.0> : tensor<32x16xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %tq = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<?x8xf32> -> tensor<32x8xf32>
  %r = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %zero) -> (tensor<32x8xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %s = tile.mma %tq, %tk, %scores {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    %next = tile.mma %s, %tk, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  tile.store %r, %o[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<?x8xf32>
  tile.return
}

// Rows that are read in the loop, or a tile that is stored there, leave it alone.
// CHECK-LABEL: tile.kernel @kept
// CHECK-NOT: tile.strided
// CHECK: tile.return
tile.kernel @kept(%q: !tile.view<32x8xf32>, %k: !tile.view<?x8xf32>, %s: !tile.view<32x?xf32>, %o: !tile.view<32x8xf32>, %S: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["32", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "s", kind = tensor, dtype = f32, dims = ["32", "S"], access = write>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "8"], access = write>,
    #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %scores = arith.constant dense<0.0> : tensor<32x16xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %tq = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %r = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %zero) -> (tensor<32x8xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %p = tile.mma %tq, %tk, %scores {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    tile.store %p, %s[%c0, %j] extents [32, 16] : tensor<32x16xf32>, !tile.view<32x?xf32>
    %next = tile.mma %p, %tk, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  %again = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %r) -> (tensor<32x8xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %rows = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<32x8xf32> -> tensor<32x8xf32>
    %p = tile.mma %rows, %tk, %scores {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    %next = tile.mma %p, %tk, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  tile.store %again, %o[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<32x8xf32>
  tile.return
}
