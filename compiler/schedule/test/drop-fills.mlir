// RUN: tsr-opt %s --pass-pipeline='builtin.module(schedule-drop-fills)' | FileCheck %s

!g = !graph.tensor<["n"], f32>
!v = !tile.view<?xf32>

// CHECK-LABEL: graph.func @f
// CHECK: %[[ZEROS:.*]] = graph.broadcast
// CHECK: %[[EMPTY:.*]] = graph.empty
// CHECK: graph.launch @whole(read %{{.*}}, write %[[EMPTY]])
// CHECK: graph.launch @shifted(read %{{.*}}, write %[[ZEROS]])
// CHECK: graph.launch @branch(read %{{.*}}, write %[[ZEROS]])
// CHECK: graph.launch @shorter(read %{{.*}}, write %[[ZEROS]])
// CHECK: graph.launch @updated(read %{{.*}}, readwrite %[[ZEROS]])
graph.func @f(%x: !g, %r: !graph.tensor<["k"], f32>) {
  %zero = arith.constant 0.0 : f32
  %z = graph.broadcast %zero : (f32) -> !g
  %0 = graph.launch @whole(read %x, write %z) : (!g, !g) -> !g
  %1 = graph.launch @shifted(read %x, write %z) : (!g, !g) -> !g
  %2 = graph.launch @branch(read %x, write %z) : (!g, !g) -> !g
  %3 = graph.launch @shorter(read %r, write %z) : (!graph.tensor<["k"], f32>, !g) -> !g
  %4 = graph.launch @updated(read %x, readwrite %z) : (!g, !g) -> !g
  graph.return
}

schedule.kernel @whole(%x: !v, %y: !v, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("n") step ("16") names ["i"] {
    %t = tile.load %x[%i] extents [16] : !v -> tensor<16xf32>
    %u = arith.addf %t, %t : tensor<16xf32>
    tile.store %u, %y[%i] extents [16] : tensor<16xf32>, !v
  }
}

schedule.kernel @shifted(%x: !v, %y: !v, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("n") step ("16") names ["i"] {
    %one = arith.constant 1 : index
    %j = arith.addi %i, %one : index
    %t = tile.load %x[%j] extents [16] : !v -> tensor<16xf32>
    tile.store %t, %y[%i] extents [16] : tensor<16xf32>, !v
  }
}

schedule.kernel @branch(%x: !v, %y: !v, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("n") step ("16") names ["i"] {
    %t = tile.load %x[%i] extents [16] : !v -> tensor<16xf32>
    %c = arith.cmpi ne, %i, %n : index
    scf.if %c {
      tile.store %t, %y[%i] extents [16] : tensor<16xf32>, !v
    }
  }
}

schedule.kernel @shorter(%r: !v, %y: !v, %k: index, %n: index) attributes {params = [
    #tile.param<name = "r", kind = tensor, dtype = f32, dims = ["k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "k", kind = dim>,
    #tile.param<name = "n", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("n") step ("16") names ["i"] {
    %t = tile.load %r[%i] extents [16] : !v -> tensor<16xf32>
    tile.store %t, %y[%i] extents [16] : tensor<16xf32>, !v
  }
}

schedule.kernel @updated(%x: !v, %y: !v, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  schedule.grid (%i) = ("0") to ("n") step ("16") names ["i"] {
    %t = tile.load %x[%i] extents [16] : !v -> tensor<16xf32>
    tile.store %t, %y[%i] extents [16] : tensor<16xf32>, !v
  }
}
