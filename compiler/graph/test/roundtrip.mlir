// RUN: tsr-opt %s | tsr-opt | FileCheck %s

// CHECK-LABEL: graph.func @saxpy.host(%arg0: !graph.tensor<["n"], f32>, %arg1: !graph.tensor<["n"], f32>, %arg2: f32)
// CHECK-SAME: -> !graph.tensor<["n"], f32> attributes {numerics = "fast"}
graph.func @saxpy.host(%x: !graph.tensor<["n"], f32>, %y: !graph.tensor<["n"], f32>, %alpha: f32)
    -> !graph.tensor<["n"], f32> attributes {numerics = "fast"} {
  // CHECK: graph.launch @saxpy(read %arg0, readwrite %arg1, %arg2)
  // CHECK-SAME: : (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, f32) -> !graph.tensor<["n"], f32>
  %r = graph.launch @saxpy(read %x, readwrite %y, %alpha)
      : (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>, f32) -> !graph.tensor<["n"], f32>
  // CHECK: graph.return %{{.*}} : !graph.tensor<["n"], f32>
  graph.return %r : !graph.tensor<["n"], f32>
}

// CHECK: graph.func @shapes(%arg0: !graph.tensor<["M", 64, "B*H"], ui8>)
graph.func @shapes(%x: !graph.tensor<["M", 64, "B*H"], ui8>) {
  // CHECK: graph.return
  graph.return
}

schedule.kernel @saxpy(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %alpha: f32, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = readwrite>,
    #tile.param<name = "alpha", kind = scalar, dtype = f32>, #tile.param<name = "n", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
  }
}

// CHECK-LABEL: graph.func @positions
graph.func @positions(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // CHECK: graph.slice %{{.*}} starts ["M - 1", "0"] steps [-1, 2]
  %a = graph.slice %x starts ["M - 1", "0"] steps [-1, 2] : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "floordiv(N, 2)"], f32>
  // CHECK: graph.pad %{{.*}}, %{{.*}} low ["1", "0"]
  %b = graph.pad %x, %v low ["1", "0"] : (!graph.tensor<["M", "N"], f32>, f32) -> !graph.tensor<["M + 1", "N"], f32>
  // CHECK: graph.gather %{{.*}}[%{{.*}}] along [-1, 1]
  %c = graph.gather %x[%i] along [-1, 1] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], i32>) -> !graph.tensor<["K", "N"], f32>
  // CHECK: graph.scan sum %{{.*}} axis 1
  %d = graph.scan sum %x axis 1 : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
  graph.return
}

// CHECK-LABEL: graph.func @written
graph.func @written(%x: !graph.tensor<["n"], f32>) {
  // CHECK: %[[EMPTY:.*]] = graph.empty : !graph.tensor<["n"], f32>
  %y = graph.empty : !graph.tensor<["n"], f32>
  // CHECK: graph.launch @copy(read %{{.*}}, write %[[EMPTY]])
  %r = graph.launch @copy(read %x, write %y) : (!graph.tensor<["n"], f32>, !graph.tensor<["n"], f32>) -> !graph.tensor<["n"], f32>
  graph.return
}

schedule.kernel @copy(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["n"], access = write>,
    #tile.param<name = "n", kind = dim>]} {
  schedule.grid () = () to () step () names [] {
  }
}

// CHECK-LABEL: graph.func @attention
graph.func @attention(%q: !graph.tensor<["S", 16], f32>, %b: !graph.tensor<["S"], f32>, %m: !graph.tensor<["S", "S"], i1>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} softcap 5.000000e+01
  %a = graph.attention %q, %q, %q bias %b mask %m softcap 50.0 : (!graph.tensor<["S", 16], f32>, !graph.tensor<["S", 16], f32>,
      !graph.tensor<["S", 16], f32>, !graph.tensor<["S"], f32>, !graph.tensor<["S", "S"], i1>) -> !graph.tensor<["S", 16], f32>
  graph.return
}
