// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-fuse))' | FileCheck %s

// One use, or several in the nest of one operation: computed inside it.
// CHECK-LABEL: tile.kernel @uses
tile.kernel @uses(%x: !tile.view<64xf32>, %o: !tile.view<64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: tile.exp %{{.*}} : tensor<64xf32>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<64xf32>
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %e = tile.exp %t : tensor<64xf32>
  %s = arith.addf %e, %e : tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// Uses in two nests, or at two positions of one nest: in memory. A reduction is a nest, too.
// CHECK-LABEL: tile.kernel @several
tile.kernel @several(%x: !tile.view<64xf32>, %o: !tile.view<64xf32>, %q: !tile.view<?xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["1"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: tile.exp %{{.*}} {tile.materialize}
  // CHECK: arith.mulf %{{.*}} : tensor<64xf32>
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %e = tile.exp %t : tensor<64xf32>
  %s = arith.mulf %e, %e : tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.store %e, %q[%c0] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: arith.subf %{{.*}} : tensor<64xf32>
  // CHECK: arith.mulf %{{.*}} : tensor<64xf32>
  // CHECK: tile.reduce
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %u = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %d = arith.subf %u, %one : tensor<64xf32>
  %square = arith.mulf %d, %d : tensor<64xf32>
  %sum = tile.reduce sum %square axis 0 : tensor<64xf32> -> f32
  %spread = tile.broadcast %sum : f32 -> tensor<64xf32>
  tile.store %spread, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  // CHECK: tile.load %x[%{{.*}}] extents [64] {tile.materialize}
  %w = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %low = tile.slice %w[0] : tensor<64xf32> -> tensor<32xf32>
  %high = tile.slice %w[32] : tensor<64xf32> -> tensor<32xf32>
  %pairs = arith.addf %low, %high : tensor<32xf32>
  tile.store %pairs, %o[%c0] extents [32] : tensor<32xf32>, !tile.view<64xf32>
  tile.return
}

// A row that is the same for every row of a tile is read where it is, unless it has to be computed.
// CHECK-LABEL: tile.kernel @row
tile.kernel @row(%x: !tile.view<64xf32>, %o: !tile.view<8x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: tile.exp %{{.*}} {tile.materialize}
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %t1 = tile.expand_dims %t axis 0 : tensor<64xf32> -> tensor<1x64xf32>
  %a = tile.broadcast %t1 : tensor<1x64xf32> -> tensor<8x64xf32>
  %u = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %e = tile.exp %u : tensor<64xf32>
  %e1 = tile.expand_dims %e axis 0 : tensor<64xf32> -> tensor<1x64xf32>
  %b = tile.broadcast %e1 : tensor<1x64xf32> -> tensor<8x64xf32>
  %s = arith.addf %a, %b : tensor<8x64xf32>
  tile.store %s, %o[%c0, %c0] extents [8, 64] : tensor<8x64xf32>, !tile.view<8x64xf32>
  tile.return
}

// A load that a store overtakes before it is used is a copy; what is stretched along rows is computed once per row.
// CHECK-LABEL: tile.kernel @order
tile.kernel @order(%x: !tile.view<8xf32>, %o: !tile.view<8x8xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8"], access = readwrite>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8xf32>
  // CHECK: tile.load %x[%{{.*}}] extents [8] {tile.materialize}
  %t = tile.load %x[%c0] extents [8] : !tile.view<8xf32> -> tensor<8xf32>
  tile.store %z, %x[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  // CHECK: tile.exp %{{.*}} {tile.materialize}
  %e = tile.exp %t : tensor<8xf32>
  // CHECK: tile.expand_dims %{{.*}} axis 1 :
  %c = tile.expand_dims %e axis 1 : tensor<8xf32> -> tensor<8x1xf32>
  %b = tile.broadcast %c : tensor<8x1xf32> -> tensor<8x8xf32>
  tile.store %b, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// Carried tiles that change places are copied; one that reads its own old value is computed in its place.
// CHECK-LABEL: tile.kernel @carried
tile.kernel @carried(%o: !tile.view<8xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z, %b = %one, %c = %one)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<8xf32>
    // CHECK: tile.broadcast %{{.*}} {tile.materialize} : tensor<8xf32> -> tensor<8xf32>
    // CHECK: tile.broadcast %{{.*}} {tile.materialize} : tensor<8xf32> -> tensor<8xf32>
    %d = arith.addf %c, %one : tensor<8xf32>
    scf.yield %b, %a, %d : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  tile.store %r#0, %o[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.store %r#2, %o[%c0] extents [8] : tensor<8xf32>, !tile.view<8xf32>
  tile.return
}

// What the schedule decided: no fusion at all, or a group that ends at one op.
// CHECK-LABEL: tile.kernel @unfused
tile.kernel @unfused(%x: !tile.view<64xf32>, %o: !tile.view<64xf32>) grid [] attributes {schedule.fusion = "none", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load {{.*}} {tile.materialize}
  // CHECK: tile.exp %{{.*}} {tile.materialize}
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %e = tile.exp %t : tensor<64xf32>
  tile.store %e, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @group
tile.kernel @group(%x: !tile.view<64xf32>, %o: !tile.view<64xf32>) grid [] attributes {schedule.fusion = "auto", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %x[%{{.*}}] extents [64] :
  // CHECK: tile.exp %{{.*}} {schedule.fuse = false, tile.materialize}
  // CHECK: arith.negf %{{.*}} : tensor<64xf32>
  %t = tile.load %x[%c0] extents [64] : !tile.view<64xf32> -> tensor<64xf32>
  %e = tile.exp %t {schedule.fuse = false} : tensor<64xf32>
  %n = arith.negf %e : tensor<64xf32>
  tile.store %n, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// Words of one call of Philox that two loops need are computed in one loop; words that one loop needs are computed there.
// CHECK-LABEL: tile.kernel @words
tile.kernel @words(%o: !tile.view<64xf32>, %q: !tile.view<64xf32>, %s: i64) grid [] attributes {schedule.fusion = "auto", params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "s", kind = scalar, dtype = i64>]} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<7> : tensor<64xi64>
  %b = arith.constant dense<8> : tensor<64xi64>
  // CHECK: tile.rand %s, %[[A:.*]] {tile.materialize}
  // CHECK-NEXT: tile.rand %s, %[[A]] word 3 {tile.materialize}
  // CHECK: tile.store
  // CHECK: tile.rand %s, %[[B:.*]] :
  // CHECK-NEXT: tile.rand %s, %[[B]] word 1 :
  %u = tile.rand %s, %a : i64, tensor<64xi64> -> tensor<64xf32>
  tile.store %u, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  %v = tile.rand %s, %a word 3 : i64, tensor<64xi64> -> tensor<64xf32>
  tile.store %v, %q[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  %x = tile.rand %s, %b : i64, tensor<64xi64> -> tensor<64xf32>
  %y = tile.rand %s, %b word 1 : i64, tensor<64xi64> -> tensor<64xf32>
  %z = arith.addf %x, %y : tensor<64xf32>
  tile.store %z, %q[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// A part of a product is read where the product is, however often.
// CHECK-LABEL: tile.kernel @parts
tile.kernel @parts(%x: !tile.view<8x8xf32>, %o: !tile.view<8x4xf32>) grid [] attributes {schedule.fusion = "auto", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "8"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "4"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: tile.load %x{{.*}} {in_bounds, tile.materialize}
  // CHECK: tile.mma
  // CHECK: tile.slice %{{.*}} [0, 2] :
  // CHECK: tile.store
  %t = tile.load %x[%c0, %c0] extents [8, 8] {in_bounds} : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %p = tile.mma %t, %t, %z : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  %s = tile.slice %p [0, 2] : tensor<8x8xf32> -> tensor<8x4xf32>
  %e = arith.mulf %s, %s : tensor<8x4xf32>
  %f = arith.addf %e, %s : tensor<8x4xf32>
  tile.store %f, %o[%c0, %c0] extents [8, 4] {in_bounds} : tensor<8x4xf32>, !tile.view<8x4xf32>
  tile.return
}

// A sum that is scaled by a value of each row, which has memory of its own, is updated in place. The scale of
// a product that two nests use is computed in both.
// CHECK-LABEL: tile.kernel @scaled
// CHECK: tile.mma
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<16x16xf32>
// CHECK: tile.exp %{{.*}} {tile.materialize} : tensor<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<16x16xf32>
// CHECK-NEXT: scf.yield
tile.kernel @scaled(%x: !tile.view<16x16xf32>, %o: !tile.view<16x16xf32>, %N: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "16"], access = write>,
    #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %half = arith.constant dense<0.5> : tensor<16x16xf32>
  %t = tile.load %x[%c0, %c0] extents [16, 16] : !tile.view<16x16xf32> -> tensor<16x16xf32>
  %r:2 = scf.for %i = %c0 to %N step %c1 iter_args(%acc = %zero, %old = %none) -> (tensor<16x16xf32>, tensor<16xf32>) {
    %p = tile.mma %t, %t, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    %s = arith.mulf %p, %half : tensor<16x16xf32>
    %top = tile.reduce max %s axis 1 : tensor<16x16xf32> -> tensor<16xf32>
    %d = arith.subf %old, %top : tensor<16xf32>
    %alpha = tile.exp %d : tensor<16xf32>
    %line = tile.expand_dims %alpha axis 1 : tensor<16xf32> -> tensor<16x1xf32>
    %spread = tile.broadcast %line : tensor<16x1xf32> -> tensor<16x16xf32>
    %kept = arith.mulf %spread, %acc : tensor<16x16xf32>
    %next = arith.addf %kept, %s : tensor<16x16xf32>
    scf.yield %next, %top : tensor<16x16xf32>, tensor<16xf32>
  }
  tile.store %r#0, %o[%c0, %c0] extents [16, 16] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// Indices at a constant distance are computed by the gather; others are in memory, where each lane reads its own.
// CHECK-LABEL: tile.kernel @indices
tile.kernel @indices(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %three = arith.constant dense<3> : tensor<64xi64>
  // CHECK: arith.muli %{{.*}}, %{{.*}} : tensor<64xi64>
  // CHECK: arith.muli %{{.*}}, %{{.*}} {tile.materialize} : tensor<64xi64>
  %n = tile.iota %zero : i32 -> tensor<64xi32>
  %w = tile.cast %n from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %i = arith.muli %w, %three : tensor<64xi64>
  %j = arith.muli %w, %w : tensor<64xi64>
  %a = tile.gather %x[%i] extents [-1] : !tile.view<?xf32>, tensor<64xi64> -> tensor<64xf32>
  %b = tile.gather %x[%j] extents [-1] : !tile.view<?xf32>, tensor<64xi64> -> tensor<64xf32>
  %s = arith.addf %a, %b : tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}
