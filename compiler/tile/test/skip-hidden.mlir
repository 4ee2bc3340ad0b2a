// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-skip-hidden))' | FileCheck %s

// Row i sees the keys up to %limit + i of a block: none of 32 rows sees a key from %limit + 32 on.
// CHECK-LABEL: tile.kernel @attention
// CHECK: %[[LIMIT:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[LAST:.*]] = arith.addi %[[LIMIT]], %c32
// CHECK: %[[LEAST:.*]] = arith.minsi %[[LAST]], %c16
// CHECK: %[[HIDDEN:.*]] = arith.maxsi %[[LEAST]], %c0
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[HIDDEN]]
// CHECK: tile.mma %{{.*}} limits(%c32{{.*}}, %[[END]], %c8{{.*}}) {trans_b}
// CHECK: tile.mask %{{.*}} bounds(%c0{{.*}} to %c32{{.*}}, %c0{{.*}} to %[[END]])
// CHECK: tile.exp
// CHECK: tile.mask %{{.*}} bounds(%c0{{.*}} to %c32{{.*}}, %c0{{.*}} to %[[END]])
// CHECK: %[[DEPTH:.*]] = arith.minsi %c16{{.*}}, %[[HIDDEN]]
// CHECK: tile.mma %{{.*}} limits(%c32{{.*}}, %c8{{.*}}, %[[DEPTH]])
tile.kernel @attention(%q: !tile.view<32x8xf32>, %k: !tile.view<?x8xf32>, %v: !tile.view<?x8xf32>, %o: !tile.view<32x8xf32>, %S: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["32", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "v", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "8"], access = write>,
    #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 0 : i32
  %none = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scores = arith.constant dense<0.0> : tensor<32x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<32x16xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %scale = arith.constant dense<0.5> : tensor<32x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<32xf32>
  %least = arith.constant dense<0xFF800000> : tensor<32xf32>
  %keys = tile.iota %i0 : i32 -> tensor<16xi32>
  %keyLine = tile.expand_dims %keys axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %key = tile.broadcast %keyLine : tensor<1x16xi32> -> tensor<32x16xi32>
  %rows = tile.iota %i0 : i32 -> tensor<32xi32>
  %rowLine = tile.expand_dims %rows axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %row = tile.broadcast %rowLine : tensor<32x1xi32> -> tensor<32x16xi32>
  %distance = arith.subi %key, %row : tensor<32x16xi32>
  %tq = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %r = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %zero) -> (tensor<32x8xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %tv = tile.load %v[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %end = arith.subi %S, %j : index
    %s = tile.mma %tq, %tk, %scores limits(%c32, %end, %c8) {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    %scaled = arith.mulf %s, %scale : tensor<32x16xf32>
    %first = arith.subi %S, %j : index
    %limit = arith.index_cast %first : index to i32
    %far = tile.broadcast %limit : i32 -> tensor<32x16xi32>
    %hidden = arith.cmpi sgt, %distance, %far : tensor<32x16xi32>
    %seen = arith.select %hidden, %low, %scaled : tensor<32x16xi1>, tensor<32x16xf32>
    %masked = tile.mask %seen, %none bounds(%c0 to %c32, %c0 to %end) : tensor<32x16xf32>
    %top = tile.reduce max %masked axis 1 : tensor<32x16xf32> -> tensor<32xf32>
    %isEmpty = arith.cmpf oeq, %top, %least : tensor<32xf32>
    %shift = arith.select %isEmpty, %zeros, %top : tensor<32xi1>, tensor<32xf32>
    %line = tile.expand_dims %shift axis 1 : tensor<32xf32> -> tensor<32x1xf32>
    %all = tile.broadcast %line : tensor<32x1xf32> -> tensor<32x16xf32>
    %d = arith.subf %seen, %all : tensor<32x16xf32>
    %e = tile.exp %d : tensor<32x16xf32>
    %p = tile.mask %e, %f0 bounds(%c0 to %c32, %c0 to %end) : tensor<32x16xf32>
    %next = tile.mma %p, %tv, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  tile.store %r, %o[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<32x8xf32>
  tile.return
}

// What else uses the product needs all of it, and exp of the difference to another value need not be 0.
// CHECK-LABEL: tile.kernel @used
// CHECK: tile.mma %{{.*}} {trans_b}
// CHECK-NOT: limits
tile.kernel @used(%q: !tile.view<16x8xf32>, %k: !tile.view<16x8xf32>, %o: !tile.view<16x8xf32>, %t: !tile.view<16x16xf32>, %S: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["16", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["16", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "8"], access = write>,
    #tile.param<name = "t", kind = tensor, dtype = f32, dims = ["16", "16"], access = write>,
    #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i32
  %scores = arith.constant dense<0.0> : tensor<16x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32>
  %line = tile.iota %i0 : i32 -> tensor<16xi32>
  %keyLine = tile.expand_dims %line axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %key = tile.broadcast %keyLine : tensor<1x16xi32> -> tensor<16x16xi32>
  %rowLine = tile.expand_dims %line axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %row = tile.broadcast %rowLine : tensor<16x1xi32> -> tensor<16x16xi32>
  %distance = arith.subi %key, %row : tensor<16x16xi32>
  %tq = tile.load %q[%c0, %c0] extents [16, 8] : !tile.view<16x8xf32> -> tensor<16x8xf32>
  %tk = tile.load %k[%c0, %c0] extents [16, 8] : !tile.view<16x8xf32> -> tensor<16x8xf32>
  %s = tile.mma %tq, %tk, %scores {trans_b} : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>
  %limit = arith.index_cast %S : index to i32
  %far = tile.broadcast %limit : i32 -> tensor<16x16xi32>
  %hidden = arith.cmpi sgt, %distance, %far : tensor<16x16xi32>
  %seen = arith.select %hidden, %low, %s : tensor<16x16xi1>, tensor<16x16xf32>
  %d = arith.subf %seen, %s : tensor<16x16xf32>
  %p = tile.exp %d : tensor<16x16xf32>
  %next = tile.mma %p, %tk, %zero : tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  tile.store %s, %t[%c0, %c0] extents [16, 16] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.store %next, %o[%c0, %c0] extents [16, 8] : tensor<16x8xf32>, !tile.view<16x8xf32>
  tile.return
}

// Under fixed_reductions a weight of 0 makes a NaN of an infinite value, whichever rows a program has: only scores end.
// CHECK-LABEL: tile.kernel @strict
// CHECK: %[[HIDDEN:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: %[[SEEN:.*]] = arith.minsi %{{.*}}, %[[HIDDEN]]
// CHECK: tile.mma %{{.*}} limits(%c32{{.*}}, %[[SEEN]], %c8{{.*}}) {trans_b}
// CHECK-NOT: %[[SEEN]]
// CHECK: tile.mma %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} : tensor<32x16xf32>
// CHECK: tile.return
tile.kernel @strict(%q: !tile.view<32x8xf32>, %k: !tile.view<?x8xf32>, %v: !tile.view<?x8xf32>, %o: !tile.view<32x8xf32>, %S: index) grid [] attributes {numerics = "strict", params = [
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["32", "8"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "v", kind = tensor, dtype = f32, dims = ["S", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "8"], access = write>,
    #tile.param<name = "S", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %i0 = arith.constant 0 : i32
  %none = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scores = arith.constant dense<0.0> : tensor<32x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<32x16xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %scale = arith.constant dense<0.5> : tensor<32x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<32xf32>
  %least = arith.constant dense<0xFF800000> : tensor<32xf32>
  %keys = tile.iota %i0 : i32 -> tensor<16xi32>
  %keyLine = tile.expand_dims %keys axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %key = tile.broadcast %keyLine : tensor<1x16xi32> -> tensor<32x16xi32>
  %rows = tile.iota %i0 : i32 -> tensor<32xi32>
  %rowLine = tile.expand_dims %rows axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %row = tile.broadcast %rowLine : tensor<32x1xi32> -> tensor<32x16xi32>
  %distance = arith.subi %key, %row : tensor<32x16xi32>
  %tq = tile.load %q[%c0, %c0] extents [32, 8] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %r = scf.for %j = %c0 to %S step %c16 iter_args(%acc = %zero) -> (tensor<32x8xf32>) {
    %tk = tile.load %k[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %tv = tile.load %v[%j, %c0] extents [16, 8] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %end = arith.subi %S, %j : index
    %s = tile.mma %tq, %tk, %scores limits(%c32, %end, %c8) {trans_b} : tensor<32x8xf32>, tensor<16x8xf32>, tensor<32x16xf32>
    %scaled = arith.mulf %s, %scale : tensor<32x16xf32>
    %first = arith.subi %S, %j : index
    %limit = arith.index_cast %first : index to i32
    %far = tile.broadcast %limit : i32 -> tensor<32x16xi32>
    %hidden = arith.cmpi sgt, %distance, %far : tensor<32x16xi32>
    %seen = arith.select %hidden, %low, %scaled : tensor<32x16xi1>, tensor<32x16xf32>
    %masked = tile.mask %seen, %none bounds(%c0 to %c32, %c0 to %end) : tensor<32x16xf32>
    %top = tile.reduce max %masked axis 1 : tensor<32x16xf32> -> tensor<32xf32>
    %isEmpty = arith.cmpf oeq, %top, %least : tensor<32xf32>
    %shift = arith.select %isEmpty, %zeros, %top : tensor<32xi1>, tensor<32xf32>
    %line = tile.expand_dims %shift axis 1 : tensor<32xf32> -> tensor<32x1xf32>
    %all = tile.broadcast %line : tensor<32x1xf32> -> tensor<32x16xf32>
    %d = arith.subf %seen, %all : tensor<32x16xf32>
    %e = tile.exp %d : tensor<32x16xf32>
    %p = tile.mask %e, %f0 bounds(%c0 to %c32, %c0 to %end) : tensor<32x16xf32>
    %next = tile.mma %p, %tv, %acc : tensor<32x16xf32>, tensor<16x8xf32>, tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  tile.store %r, %o[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<32x8xf32>
  tile.return
}
