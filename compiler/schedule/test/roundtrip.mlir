// RUN: tsr-opt %s | tsr-opt | FileCheck %s

// CHECK-LABEL: schedule.kernel @grid(%x: !tile.view<?x?xf32>, %n: i32, %M: index, %B2AH: index)
schedule.kernel @grid(%x: !tile.view<?x?xf32>, %n: i32, %M: index, %BH: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "B*H"], access = readwrite>,
    #tile.param<name = "n", kind = scalar, dtype = i32>, #tile.param<name = "M", kind = dim>, #tile.param<name = "B*H", kind = dim>],
    tunables = {BLOCK = 64 : i64}} {
  // CHECK: schedule.grid (%b, %tile_m) = ("0", "n") to ("B*H", "M") step ("1", "64") names ["b", "tile_m"]
  // CHECK-SAME: attributes {batch = array<i1: true, false>, order = array<i64: 1, 0>, placement = "any"}
  schedule.grid (%b, %i) = ("0", "n") to ("B*H", "M") step ("1", "64") names ["b", "tile_m"]
      attributes {batch = array<i1: true, false>, order = array<i64: 1, 0>, placement = "any"} {
    // CHECK: tile.load %x[%tile_m, %b]
    %t = tile.load %x[%i, %b] extents [64, -1] : !tile.view<?x?xf32> -> tensor<64xf32>
    tile.store %t, %x[%i, %b] extents [64, -1] : tensor<64xf32>, !tile.view<?x?xf32>
  }
}

// CHECK-LABEL: schedule.kernel @one() attributes
schedule.kernel @one() attributes {params = []} {
  // CHECK: schedule.grid () = () to () step () names [] {
  schedule.grid () = () to () step () names [] {
  }
}

// CHECK-LABEL: schedule.kernel @lanes
schedule.kernel @lanes(%x: !tile.view<?xf32>, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  // CHECK: schedule.lanes %lane to "n" {
  schedule.lanes %i to "n" {
    %e = tile.load_elem %x[%i] : !tile.view<?xf32> -> f32
    tile.store_elem %e, %x[%i] : f32, !tile.view<?xf32>
  // CHECK: } {lanes_per_program = 256 : i64}
  } {lanes_per_program = 256}
}
