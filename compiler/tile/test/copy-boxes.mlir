// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=256 shared-bytes=32768 boxes})' | FileCheck %s

// The kernel gets a variant whose ring is filled by boxes, and keeps cp_async for other launches.
// CHECK-LABEL: tile.kernel @loads(
// CHECK-SAME: tile.variants = [{body = "tma", entry = "loads.tma", name = "tma", when = ["aligned(x, 16)", "k > 0", "k < 2147483648", "k % 8 == 0"]}, {body = "async", name = "async"}]
// CHECK: tile.cp_async
// CHECK-NOT: tile.copy_box
// CHECK-LABEL: tile.kernel @loads.tma(
// CHECK: %[[X:.*]] = tile.alloc_shared {align = 1024 : i64} : !tile.buffer<2x32x16xbf16, xor>
// CHECK: %[[FULL:.*]] = tile.alloc_shared {align = 8 : i64} : !tile.buffer<2xi64, none>
// CHECK: tile.init_arrivals %[[FULL]]
// CHECK: tile.expect_bytes 1024 in %[[FULL]][%c0
// CHECK: tile.copy_box %x[%{{.*}}, %{{.*}}] extents [32, 16] to %{{.*}} arrives %[[FULL]][%c0
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK-NEXT: tile.await_bytes %[[FULL]][%[[I]]] phase %[[PHASE]]
// CHECK: tile.barrier
// CHECK: tile.expect_bytes 1024
// CHECK: tile.copy_box
// CHECK: tile.mma
// CHECK-NOT: in_flight
// CHECK-NOT: tile.cp_async
// CHECK: scf.yield
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @loads(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  } {schedule.stages = 2 : i64}
  tile.return
}

// -----

// A decision for cp_async is obeyed: there is one kernel.
// CHECK-LABEL: tile.kernel @async(
// CHECK-NOT: tile.variants
// CHECK-NOT: tile.copy_box
// CHECK: tile.cp_async
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @async(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  } {schedule.copy = "async"}
  tile.return
}

// -----

// Boxes begin at multiples of 16 bytes of a row: a column that the caller passes may be any, and a step of 4 elements is 8 bytes.
// CHECK-LABEL: tile.kernel @anywhere(
// CHECK-SAME: fallbacks = ["gpu: no boxes of tensors are copied: its tiles of x may begin at columns that are no multiples of 16 bytes"]
// CHECK-NOT: tile.variants
// CHECK-NOT: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @anywhere(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %given: i64, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "at", kind = scalar, dtype = i64>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %at = arith.index_cast %given : i64 to index
    %column = arith.addi %i, %at : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// A column that a dim decides is a condition of the launch: a half of it begins at a multiple of 16 bytes if all of it has 32.
// CHECK-LABEL: tile.kernel @half(
// CHECK: when = [{{.*}}"at % 16 == 0"]
// CHECK-LABEL: tile.kernel @half.tma(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @half(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %two = arith.constant 2 : index
    %half = arith.divui %at, %two : index
    %column = arith.addi %i, %half : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @step_of_four(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  // expected-error@+2 {{schedule.copy = "tma": its tiles of x may begin at columns that are no multiples of 16 bytes}}
  // expected-note@+1 {{hint: "async", or no decision, copies pieces of rows by every thread}}
  %s = scf.for %i = %c0 to %k step %c4 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  } {schedule.copy = "tma"}
  tile.return
}

// -----

// A decision for boxes is refused inside another loop, which would prepare the words of the ring again.
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @inner(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %all = scf.for %j = %c0 to %k step %c16 iter_args(%sums = %r) -> (tensor<32x32xf32, #c>) {
    // expected-error@+2 {{schedule.copy = "tma": it is inside another loop}}
    // expected-note@+1 {{hint: "async", or no decision, copies pieces of rows by every thread}}
    %sum = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %sums) -> (tensor<32x32xf32, #c>) {
      %a = tile.load %x[%c0, %i] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
      %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
          : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
      scf.yield %p : tensor<32x32xf32, #c>
    } {schedule.copy = "tma"}
    scf.yield %sum : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// A decision for boxes is refused where neighbours of a row are apart.
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @refused(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %s: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], strides = ["k", "s"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "s", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  // expected-error@+2 {{schedule.copy = "tma": rows of its tiles of x are not contiguous}}
  // expected-note@+1 {{hint: "async", or no decision, copies pieces of rows by every thread}}
  %sum = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  } {schedule.copy = "tma"}
  tile.return
}
