// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// A store at a tensor's edge keeps the rows inside. Nothing else observes the others: neither what a loop carries nor the
// reductions along rows compute them. Along the reduced axis all is observed.
// CHECK-LABEL: func.func @tsr_kernel_rows(
// CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c16
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: %[[END:.*]] = arith.minsi %[[ROWS]], %c16
// The accumulator.
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: scf.for %{{.*}} = %c0 to %{{[a-z0-9]+}} step %c1
// The maximum, and what is added.
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: arith.maximumf
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: tile.exp
tile.kernel @rows(%x: !tile.view<?x32xf32>, %o: !tile.view<?x32xf32>, %M: index) grid ["ceildiv(M, 16)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "32"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["M", "32"], access = write>, #tile.param<name = "M", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c16 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (tensor<16x32xf32>) {
    %m = tile.reduce max %acc axis 1 : tensor<16x32xf32> -> tensor<16xf32>
    %e = tile.expand_dims %m axis 1 : tensor<16xf32> -> tensor<16x1xf32>
    %b = tile.broadcast %e : tensor<16x1xf32> -> tensor<16x32xf32>
    %y = tile.exp %b : tensor<16x32xf32>
    %next = arith.addf %acc, %y : tensor<16x32xf32>
    scf.yield %next : tensor<16x32xf32>
  }
  tile.store %sum, %o[%row, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<?x32xf32>
  tile.return
}

// A reduction along rows observes every row; a store that is known to lie inside, every element.
// CHECK-LABEL: func.func @tsr_kernel_whole(
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1
// CHECK: tile.exp
tile.kernel @whole(%o: !tile.view<?xf32>, %w: !tile.view<16x32xf32>, %s: f32, %N: index) grid ["ceildiv(N, 32)"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["N"], access = write>,
    #tile.param<name = "w", kind = tensor, dtype = f32, dims = ["16", "32"], access = write>,
    #tile.param<name = "s", kind = scalar, dtype = f32>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %x = tile.broadcast %s : f32 -> tensor<16x32xf32>
  %y = tile.exp %x : tensor<16x32xf32>
  %m = tile.reduce sum %y axis 0 : tensor<16x32xf32> -> tensor<32xf32>
  tile.store %y, %w[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.store %m, %o[%c0] extents [32] : tensor<32xf32>, !tile.view<?xf32>
  tile.return
}

// A buffer that keeps whole tiles of the program, at positions that are not known: what is written is observed as far as
// what is read.
// CHECK-LABEL: func.func @tsr_kernel_kept(
// CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c16
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: %[[END:.*]] = arith.minsi %[[ROWS]], %c16
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: tile.exp
tile.kernel @kept(%x: !tile.view<?x32xf32>, %o: !tile.view<?x32xf32>, %from: index, %M: index) grid ["ceildiv(M, 16)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "32"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["M", "32"], access = write>, #tile.param<name = "from", kind = dim>,
    #tile.param<name = "M", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c16 : index
  %kept = tile.alloc_shared : !tile.buffer<4x16x32xf32, none>
  %t = tile.load %x[%row, %c0] extents [16, 32] : !tile.view<?x32xf32> -> tensor<16x32xf32>
  %e = tile.exp %t : tensor<16x32xf32>
  tile.buffer_write %e, %kept[%c1, %c0, %c0] extents [-1, 16, 32] : tensor<16x32xf32>, !tile.buffer<4x16x32xf32, none>
  %r = tile.buffer_read %kept[%from, %c0, %c0] extents [-1, 16, 32] : !tile.buffer<4x16x32xf32, none> -> tensor<16x32xf32>
  tile.store %r, %o[%row, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<?x32xf32>
  tile.return
}

// A part of a row, or of another row: all is observed.
// CHECK-LABEL: func.func @tsr_kernel_moved(
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1
// CHECK: tile.exp
tile.kernel @moved(%x: !tile.view<?x32xf32>, %o: !tile.view<?x32xf32>, %from: index, %M: index) grid ["ceildiv(M, 16)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["M", "32"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["M", "32"], access = write>, #tile.param<name = "from", kind = dim>,
    #tile.param<name = "M", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c16 : index
  %kept = tile.alloc_shared : !tile.buffer<4x32x32xf32, none>
  %t = tile.load %x[%row, %c0] extents [16, 32] : !tile.view<?x32xf32> -> tensor<16x32xf32>
  %e = tile.exp %t : tensor<16x32xf32>
  tile.buffer_write %e, %kept[%c1, %c16, %c0] extents [-1, 16, 32] : tensor<16x32xf32>, !tile.buffer<4x32x32xf32, none>
  %r = tile.buffer_read %kept[%from, %c0, %c0] extents [-1, 16, 32] : !tile.buffer<4x32x32xf32, none> -> tensor<16x32xf32>
  tile.store %r, %o[%row, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<?x32xf32>
  tile.return
}
