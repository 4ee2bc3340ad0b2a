// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-keep-in-registers{shuffles=true}))' | FileCheck %s
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-keep-in-registers))' | FileCheck %s --check-prefix=ALONE

// The weights of attention are made of scores and multiplied again in registers; the old sums are what the second product
// begins with, so that no addition is left.
// CHECK-LABEL: tile.kernel @attention
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[C:.*]]>, tensor<64xf32, #[[ROW:.*]]>)
// CHECK: %[[S:.*]] = tile.mma
// CHECK: %[[M:.*]] = tile.reduce max %[[S]] axis 1 : tensor<64x64xf32, #[[C]]> -> tensor<64xf32, #[[ROW]]>
// CHECK: arith.maximumf {{.*}} : tensor<64xf32, #[[ROW]]>
// CHECK: tile.expand_dims {{.*}} axis 1
// CHECK: arith.subf {{.*}} : tensor<64x64xf32, #[[C]]>
// CHECK: %[[P:.*]] = tile.cast {{.*}} -> tensor<64x64xbf16, #[[C]]>
// CHECK: %[[KEPT:.*]] = arith.mulf {{.*}} : tensor<64x64xf32, #[[C]]>
// CHECK: tile.mma %[[P]], %{{.*}}, %[[KEPT]] {{.*}} : tensor<64x64xbf16, #[[C]]>, tensor<64x64xbf16>, tensor<64x64xf32, #[[C]]>
// CHECK-NOT: arith.addf
// CHECK-NOT: tile.convert
// CHECK: tile.store {{.*}} : tensor<64x64xf32, #[[C]]>
// Without shuffles the reduction is in memory, and what depends on it comes from there.
// ALONE-LABEL: tile.kernel @attention
// ALONE: tile.reduce max %{{.*}} axis 1 : tensor<64x64xf32> -> tensor<64xf32>
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @attention(%q: !tile.view<64x64xbf16>, %k: !tile.view<?x64xbf16>, %o: !tile.view<64x64xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "q", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = bf16, dims = ["n", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %a = tile.load %q[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z, %m = %low) -> (tensor<64x64xf32>, tensor<64xf32>) {
    %b = tile.load %k[%i, %c0] extents [64, 64] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %z1 = tile.convert %z : tensor<64x64xf32> -> tensor<64x64xf32, #c>
    %s = tile.mma %a, %b, %z1 {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [4, 1]>, trans_b}
        : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32, #c>
    %s1 = tile.convert %s : tensor<64x64xf32, #c> -> tensor<64x64xf32>
    %t = tile.reduce max %s1 axis 1 : tensor<64x64xf32> -> tensor<64xf32>
    %next = arith.maximumf %m, %t : tensor<64xf32>
    %column = tile.expand_dims %next axis 1 : tensor<64xf32> -> tensor<64x1xf32>
    %spread = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %s1, %spread : tensor<64x64xf32>
    %p = tile.cast %d from f32 to bf16 : tensor<64x64xf32> -> tensor<64x64xbf16>
    %kept = arith.mulf %acc, %spread : tensor<64x64xf32>
    %z2 = tile.convert %z : tensor<64x64xf32> -> tensor<64x64xf32, #c>
    %u = tile.mma %p, %b, %z2 {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [4, 1]>}
        : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32, #c>
    %u1 = tile.convert %u : tensor<64x64xf32, #c> -> tensor<64x64xf32>
    %sum = arith.addf %kept, %u1 : tensor<64x64xf32>
    scf.yield %sum, %next : tensor<64x64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

// A sum that a scan needs, too, is also stored to memory; warps that divide the rows exchange their results.
// CHECK-LABEL: tile.kernel @both
// CHECK: %[[P:.*]] = tile.mma
// CHECK: %[[M:.*]] = tile.convert %[[P]] : tensor<32x16xf32, #{{.*}}> -> tensor<32x16xf32>
// CHECK: tile.scan sum %[[M]]
// CHECK: tile.reduce sum %[[P]]
// CHECK: tile.load {{.*}} -> tensor<32x16xf32, #
// CHECK: %[[N:.*]] = arith.addf %[[P]], %{{.*}} : tensor<32x16xf32, #
// CHECK: tile.store %[[N]]
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8]], repeat = [1, 1]>
tile.kernel @both(%x: !tile.view<32x16xbf16>, %y: !tile.view<16x16xbf16>, %o: !tile.view<32x16xf32>, %s: !tile.view<32xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "16"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "16"], access = readwrite>,
    #tile.param<name = "s", kind = tensor, dtype = f32, dims = ["32"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<32x16xf32>
  %a = tile.load %x[%c0, %c0] extents [32, 16] : !tile.view<32x16xbf16> -> tensor<32x16xbf16>
  %b = tile.load %y[%c0, %c0] extents [16, 16] : !tile.view<16x16xbf16> -> tensor<16x16xbf16>
  %r = tile.convert %z : tensor<32x16xf32> -> tensor<32x16xf32, #c>
  %p = tile.mma %a, %b, %r {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 2]>}
      : tensor<32x16xbf16>, tensor<16x16xbf16>, tensor<32x16xf32, #c>
  %m = tile.convert %p : tensor<32x16xf32, #c> -> tensor<32x16xf32>
  %t = tile.scan sum %m axis 0 : tensor<32x16xf32>
  tile.store %t, %o[%c0, %c0] extents [32, 16] : tensor<32x16xf32>, !tile.view<32x16xf32>
  %u = tile.reduce sum %m axis 1 : tensor<32x16xf32> -> tensor<32xf32>
  tile.store %u, %s[%c0] extents [32] : tensor<32xf32>, !tile.view<32xf32>
  %c = tile.load %o[%c0, %c0] extents [32, 16] : !tile.view<32x16xf32> -> tensor<32x16xf32>
  %n = arith.addf %m, %c : tensor<32x16xf32>
  tile.store %n, %o[%c0, %c0] extents [32, 16] : tensor<32x16xf32>, !tile.view<32x16xf32>
  tile.return
}

// -----

// Four lanes hold a row of sums. Before they are stored as bf16, lanes exchange elements, so that each stores 16 bytes; as f32
// they fill sectors as they are.
// CHECK-DAG: #[[SUMS:.*]] = #tile.layout<reg = {{\[\[}}0,1], [8,0], [0,8], [0,16], [0,32]], lane = {{\[\[}}0,2], [0,4], [1,0], [2,0], [4,0]]
// CHECK-DAG: #[[WIDE:.*]] = #tile.layout<reg = {{\[\[}}0,1], [0,2], [0,4], [8,0], [0,32]], lane = {{\[\[}}0,8], [0,16], [1,0], [2,0], [4,0]]
// CHECK-LABEL: tile.kernel @stores
// CHECK: %[[N:.*]] = tile.cast {{.*}} tensor<64x64xbf16, #[[SUMS]]>
// CHECK: %[[W:.*]] = tile.convert %[[N]] : tensor<64x64xbf16, #[[SUMS]]> -> tensor<64x64xbf16, #[[WIDE]]>
// CHECK: tile.store %[[W]]
// CHECK: tile.store {{.*}} : tensor<64x64xf32, #[[SUMS]]>
// ALONE-LABEL: tile.kernel @stores
// ALONE-NOT: tile.convert
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @stores(%x: !tile.view<64x16xbf16>, %o: !tile.view<64x64xbf16>, %f: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = bf16, dims = ["64", "64"], access = write>,
    #tile.param<name = "f", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %a = tile.load %x[%c0, %c0] extents [64, 16] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
  %p = tile.mma %a, %a, %z {trans_b, fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [4, 1]>}
      : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x64xf32, #c>
  %m = tile.convert %p : tensor<64x64xf32, #c> -> tensor<64x64xf32>
  %n = tile.cast %m from f32 to bf16 : tensor<64x64xf32> -> tensor<64x64xbf16>
  tile.store %n, %o[%c0, %c0] extents [64, 64] : tensor<64x64xbf16>, !tile.view<64x64xbf16>
  tile.store %m, %f[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

// A condition of rows is computed in the layout of the store.
// CHECK-DAG: #[[WIDE:.*]] = #tile.layout<reg = {{\[\[}}0,1], [0,2], [0,4], [8,0], [0,32]], lane = {{\[\[}}0,8], [0,16], [1,0], [2,0], [4,0]]
// CHECK-LABEL: tile.kernel @conditions
// CHECK: %[[F:.*]] = tile.broadcast {{.*}} -> tensor<64x64xi1, #[[WIDE]]>
// CHECK: tile.store {{.*}} where %[[F]] : tensor<64x64xi1, #[[WIDE]]> : tensor<64x64xbf16, #[[WIDE]]>
// ALONE-LABEL: tile.kernel @conditions
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @conditions(%x: !tile.view<64x16xbf16>, %o: !tile.view<64x64xbf16>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = bf16, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %a = tile.load %x[%c0, %c0] extents [64, 16] : !tile.view<64x16xbf16> -> tensor<64x16xbf16>
  %p = tile.mma %a, %a, %z {trans_b, fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [4, 1]>}
      : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x64xf32, #c>
  %m = tile.convert %p : tensor<64x64xf32, #c> -> tensor<64x64xf32>
  %n = tile.cast %m from f32 to bf16 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %r = tile.reduce max %m axis 1 : tensor<64x64xf32> -> tensor<64xf32>
  %e = tile.expand_dims %r axis 1 : tensor<64xf32> -> tensor<64x1xf32>
  %k = arith.constant dense<0.0> : tensor<64x1xf32>
  %q = arith.cmpf ogt, %e, %k : tensor<64x1xf32>
  %f = tile.broadcast %q : tensor<64x1xi1> -> tensor<64x64xi1>
  tile.store %n, %o[%c0, %c0] extents [64, 64] where %f : tensor<64x64xi1> : tensor<64x64xbf16>, !tile.view<64x64xbf16>
  tile.return
}
