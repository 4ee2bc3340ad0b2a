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
