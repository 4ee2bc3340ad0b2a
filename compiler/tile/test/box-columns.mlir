// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 shared-bytes=65536 boxes})' | FileCheck %s

// A box begins at a multiple of 16 bytes of a row, 8 elements of bf16: which columns are known to be such multiples.
// CHECK-LABEL: tile.kernel @product(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @product(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.addi %i, %eights : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @product_of_any(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @product_of_any(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %other = arith.muli %at, %c12 : index
    %column = arith.addi %i, %other : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @difference(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @difference(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.subi %i, %eights : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @difference_of_any(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @difference_of_any(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.subi %i, %at : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @largest(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @largest(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.maxsi %i, %eights : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @least_of_any(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @least_of_any(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.minsi %i, %at : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @selected(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @selected(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.select %less, %i, %eights : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @selected_or_any(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @selected_or_any(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.select %less, %i, %at : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @quotient(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @quotient(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 0 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.divsi %i, %c8 : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @odd_first(
// CHECK-NOT: tile.copy_box
// CHECK: tile.return
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @odd_first(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 4 : index
  %step = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.addi %i, %c8 : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @step_of_24(
// CHECK: tile.copy_box
#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>
tile.kernel @step_of_24(%x: !tile.view<32x?xbf16>, %y: !tile.view<16x32xbf16>, %k: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %first = arith.constant 8 : index
  %step = arith.constant 24 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c24 = arith.constant 24 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.convert %z : tensor<32x32xf32> -> tensor<32x32xf32, #c>
  %eights = arith.muli %at, %c8 : index
  %less = arith.cmpi slt, %at, %c8 : index
  %b = tile.load %y[%c0, %c0] extents [16, 32] {tile.materialize} : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %s = scf.for %i = %first to %k step %step iter_args(%acc = %r) -> (tensor<32x32xf32, #c>) {
    %column = arith.addi %i, %c8 : index
    %a = tile.load %x[%c0, %column] extents [32, 16] {tile.materialize} : !tile.view<32x?xbf16> -> tensor<32x16xbf16>
    %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32, #c>
    scf.yield %p : tensor<32x32xf32, #c>
  }
  tile.return
}
