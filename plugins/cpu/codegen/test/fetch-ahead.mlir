// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=64 vector-registers=32},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// The last of several loops over a row fetches that of the next program, 8 rows further, if the result is stored past the
// caches and a row is short enough. The tensor that all rows share is not fetched.
// CHECK-LABEL: func.func @tsr_kernel_centred(
// CHECK-DAG: %[[BYTES:.*]] = arith.muli %[[C:.*]], %c32 : index
// CHECK-DAG: %[[NEAR:.*]] = arith.cmpi ule, %[[BYTES]], %c131072 : index
// CHECK-DAG: %[[LARGE:.*]] = arith.cmpi uge, %{{.*}}, %c16777216
// CHECK: %[[BOTH:.*]] = arith.andi %[[NEAR]], %[[LARGE]]
// CHECK: %[[AHEAD:.*]] = arith.select %[[BOTH]], %[[BYTES]], %c0
// CHECK-NOT: llvm.intr.prefetch
// CHECK: arith.addf
// CHECK: %[[BY:.*]] = arith.index_cast %[[AHEAD]] : index to i64
// CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[%[[BY]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: "llvm.intr.prefetch"(%[[TO]]) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK: nontemporal
// CHECK: return
tile.kernel @centred(%x: !tile.view<?x?xf32>, %g: !tile.view<?xf32>, %o: !tile.view<?x?xf32>, %r: index, %c: index) grid ["ceildiv(r, 8)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["r", "c"], access = read>,
    #tile.param<name = "g", kind = tensor, dtype = f32, dims = ["c"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["r", "c"], access = write>,
    #tile.param<name = "r", kind = dim>, #tile.param<name = "c", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c8 : index
  %sum = scf.for %j = %c0 to %c step %c64 iter_args(%s = %zero) -> (tensor<8xf32>) {
    %t = tile.load %x[%i, %j] extents [8, 64] : !tile.view<?x?xf32> -> tensor<8x64xf32>
    %e = tile.reduce sum %t axis 1 : tensor<8x64xf32> -> tensor<8xf32>
    %n = arith.addf %s, %e : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  scf.for %j = %c0 to %c step %c64 {
    %t = tile.load %x[%i, %j] extents [8, 64] : !tile.view<?x?xf32> -> tensor<8x64xf32>
    %k = tile.expand_dims %sum axis 1 : tensor<8xf32> -> tensor<8x1xf32>
    %b = tile.broadcast %k : tensor<8x1xf32> -> tensor<8x64xf32>
    %d = arith.subf %t, %b : tensor<8x64xf32>
    %h = tile.load %g[%j] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    %f = tile.expand_dims %h axis 0 : tensor<64xf32> -> tensor<1x64xf32>
    %w = tile.broadcast %f : tensor<1x64xf32> -> tensor<8x64xf32>
    %m = arith.mulf %d, %w : tensor<8x64xf32>
    tile.store %m, %o[%i, %j] extents [8, 64] : tensor<8x64xf32>, !tile.view<?x?xf32>
  }
  tile.return
}

// A tensor that is read once is not fetched: the processor does that.
// CHECK-LABEL: func.func @tsr_kernel_once(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return
tile.kernel @once(%x: !tile.view<?x?xf32>, %o: !tile.view<?x?xf32>, %r: index, %c: index) grid ["ceildiv(r, 8)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["r", "c"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["r", "c"], access = write>,
    #tile.param<name = "r", kind = dim>, #tile.param<name = "c", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c8 : index
  %t = tile.load %x[%i, %c0] extents [8, 64] : !tile.view<?x?xf32> -> tensor<8x64xf32>
  %m = arith.negf %t : tensor<8x64xf32>
  tile.store %m, %o[%i, %c0] extents [8, 64] : tensor<8x64xf32>, !tile.view<?x?xf32>
  tile.return
}
