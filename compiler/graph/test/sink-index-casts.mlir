// RUN: tsr-opt %s -graph-sink-index-casts | FileCheck %s

// The cast cancels against that of the grid variable; a condition stays a condition.
// CHECK: %[[C:.*]] = arith.constant 4 : index
// CHECK: schedule.grid (%i)
// CHECK-NOT: arith.index_cast
// CHECK: arith.muli %i, %[[C]] : index
// CHECK: arith.floordivsi %{{.*}} : index
// CHECK: arith.select %{{.*}} : index
// CHECK: tile.load
schedule.kernel @address(%x: !tile.view<?xf32>, %b: i1, %M: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M"], access = readwrite>,
    #tile.param<name = "b", kind = scalar, dtype = bool>, #tile.param<name = "M", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("M") step ("64") names ["i"] {
    %c4 = arith.constant 4 : i64
    %0 = arith.index_cast %i : index to i64
    %1 = arith.muli %0, %c4 : i64
    %2 = arith.floordivsi %1, %0 : i64
    %3 = arith.select %b, %1, %2 : i64
    %4 = arith.index_cast %3 : i64 to index
    %t = tile.load %x[%4] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    tile.store %t, %x[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  }
}

// Narrower integers wrap where index would not.
// CHECK-LABEL: schedule.kernel @narrow
// CHECK: arith.addi %{{.*}} : i32
// CHECK: arith.index_cast %{{.*}} : i32 to index
schedule.kernel @narrow(%x: !tile.view<?xf32>, %n: i32, %M: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M"], access = readwrite>,
    #tile.param<name = "n", kind = scalar, dtype = i32>, #tile.param<name = "M", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
    %0 = arith.addi %n, %n : i32
    %1 = arith.index_cast %0 : i32 to index
    tile.prefetch %x[%1] extents [64] : !tile.view<?xf32>
  }
}
