// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-scale-exponents))' | FileCheck %s

// The scale moves below the mask and the maximum, and into the exponent's factor.
// CHECK-LABEL: tile.kernel @weights
tile.kernel @weights(%x: !tile.view<8x16xf32>, %y: !tile.view<8x16xf32>, %n: index) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["8", "16"], access = write>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %lowest = arith.constant 0xFF800000 : f32
  %scale = arith.constant dense<1.250000e-01> : tensor<8x16xf32>
  // CHECK: %[[S:.*]] = tile.load
  %s = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %t = arith.mulf %s, %scale fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  // CHECK: %[[K:.*]] = tile.mask %[[S]]
  %k = tile.mask %t, %lowest bounds(%c0 to %c8, %c0 to %n) : tensor<8x16xf32>
  // CHECK: %[[M:.*]] = tile.reduce max %[[K]]
  // CHECK: %[[SCALE:.*]] = arith.constant dense<1.250000e-01> : tensor<8xf32>
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[M]], %[[SCALE]]
  %m = tile.reduce max %k axis 1 : tensor<8x16xf32> -> tensor<8xf32>
  %e = tile.expand_dims %m axis 1 : tensor<8xf32> -> tensor<8x1xf32>
  %b = tile.broadcast %e : tensor<8x1xf32> -> tensor<8x16xf32>
  // CHECK: %[[FACTOR:.*]] = arith.constant dense<0.180336878> : tensor<8x16xf32>
  // CHECK: %[[X:.*]] = arith.mulf %[[S]], %[[FACTOR]] fastmath<reassoc,arcp,contract>
  // CHECK: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<8xf32>
  // CHECK: %[[LINE:.*]] = arith.mulf %[[SCALED]], %[[LOG2E]]
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[LINE]]
  // CHECK: %[[B:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: %[[D:.*]] = arith.subf %[[X]], %[[B]] fastmath<reassoc,arcp,contract>
  %d = arith.subf %t, %b fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  // CHECK: tile.exp2 %[[D]]
  // CHECK-NOT: tile.exp %
  %p = tile.exp %d : tensor<8x16xf32>
  tile.store %p, %y[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// Of hidden scores, which the exponential reads, too.
// CHECK-LABEL: tile.kernel @hidden
tile.kernel @hidden(%x: !tile.view<8x16xf32>, %h: !tile.view<8x16xi1>, %r: f32) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>,
    #tile.param<name = "h", kind = tensor, dtype = bool, dims = ["8", "16"], access = read>,
    #tile.param<name = "r", kind = scalar, dtype = f32>]} {
  %c0 = arith.constant 0 : index
  %lowest = arith.constant dense<0xFF800000> : tensor<8x16xf32>
  %scale = arith.constant dense<1.250000e-01> : tensor<8x16xf32>
  // CHECK: %[[S:.*]] = tile.load
  %s = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %c = tile.load %h[%c0, %c0] extents [8, 16] : !tile.view<8x16xi1> -> tensor<8x16xi1>
  %t = arith.mulf %s, %scale fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  // CHECK: %[[K:.*]] = arith.select %{{.*}}, %{{.*}}, %[[S]]
  %k = arith.select %c, %lowest, %t : tensor<8x16xi1>, tensor<8x16xf32>
  %b = tile.broadcast %r : f32 -> tensor<8x16xf32>
  // CHECK: arith.mulf %[[K]], %{{.*}}
  // CHECK: arith.mulf %r, %{{.*}} : f32
  // CHECK: tile.exp2
  %d = arith.subf %k, %b fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  %p = tile.exp %d : tensor<8x16xf32>
  tile.store %p, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// Hidden in one of two branches, as where a causal mask is an option.
// CHECK-LABEL: tile.kernel @branches
tile.kernel @branches(%x: !tile.view<8x16xf32>, %h: !tile.view<8x16xi1>, %r: f32, %q: i1) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>,
    #tile.param<name = "h", kind = tensor, dtype = bool, dims = ["8", "16"], access = read>,
    #tile.param<name = "r", kind = scalar, dtype = f32>, #tile.param<name = "q", kind = scalar, dtype = bool>]} {
  %c0 = arith.constant 0 : index
  %lowest = arith.constant dense<0xFF800000> : tensor<8x16xf32>
  %scale = arith.constant dense<1.250000e-01> : tensor<8x16xf32>
  // CHECK: %[[S:.*]] = tile.load
  %s = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %c = tile.load %h[%c0, %c0] extents [8, 16] : !tile.view<8x16xi1> -> tensor<8x16xi1>
  %t = arith.mulf %s, %scale fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  // CHECK: %[[K:.*]] = scf.if
  %k = scf.if %q -> tensor<8x16xf32> {
    // CHECK: %[[H:.*]] = arith.select %{{.*}}, %{{.*}}, %[[S]]
    %a = arith.select %c, %lowest, %t : tensor<8x16xi1>, tensor<8x16xf32>
    // CHECK: scf.yield %[[H]]
    scf.yield %a : tensor<8x16xf32>
  } else {
    // CHECK: scf.yield %[[S]]
    scf.yield %t : tensor<8x16xf32>
  }
  %b = tile.broadcast %r : f32 -> tensor<8x16xf32>
  // CHECK: arith.mulf %[[K]], %{{.*}}
  // CHECK: tile.exp2
  %d = arith.subf %k, %b fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  %p = tile.exp %d : tensor<8x16xf32>
  tile.store %p, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// A multiple by 2 may overflow where the difference does not: 1.5e38 and its maximum, 1.5e38.
// CHECK-LABEL: tile.kernel @large
// CHECK: tile.exp %
tile.kernel @large(%x: !tile.view<8x16xf32>, %r: f32) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>,
    #tile.param<name = "r", kind = scalar, dtype = f32>]} {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<2.000000e+00> : tensor<8x16xf32>
  %s = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %t = arith.mulf %s, %scale fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  %b = tile.broadcast %r : f32 -> tensor<8x16xf32>
  %d = arith.subf %t, %b fastmath<reassoc,arcp,contract> : tensor<8x16xf32>
  %p = tile.exp %d : tensor<8x16xf32>
  tile.store %p, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// Other profiles keep the function.
// CHECK-LABEL: tile.kernel @standard
// CHECK: tile.exp %
tile.kernel @standard(%x: !tile.view<8x16xf32>, %r: f32) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["8", "16"], access = readwrite>,
    #tile.param<name = "r", kind = scalar, dtype = f32>]} {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<1.250000e-01> : tensor<8x16xf32>
  %s = tile.load %x[%c0, %c0] extents [8, 16] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %t = arith.mulf %s, %scale : tensor<8x16xf32>
  %b = tile.broadcast %r : f32 -> tensor<8x16xf32>
  %d = arith.subf %t, %b : tensor<8x16xf32>
  %p = tile.exp %d : tensor<8x16xf32>
  tile.store %p, %x[%c0, %c0] extents [8, 16] : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}
