// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=65536 boxes registers=65536})' | FileCheck %s

// Two programs below each other share the columns of y: each copies a half, and both free the buffers of both. Other grids get the
// variant without clusters.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-SAME: tile.variants = [{body = "cluster", entry = "rows.cluster", name = "cluster", when = [{{.*}}, "ceildiv(m, 64) % 2 == 0"]}, {body = "tma", entry = "rows.tma"
// CHECK-LABEL: tile.kernel @rows.tma(
// CHECK-NOT: cluster
// CHECK: tile.init_arrivals %{{.*}}, %{{.*}} counts [1, 4]
// CHECK-NOT: multicast
// CHECK-LABEL: tile.kernel @rows.cluster(
// CHECK-SAME: cluster = array<i64: 2, 1>
// CHECK-SAME: decisions = {box_stores = 1 : i64, cluster = 2 : i64, copy_warps = 4 : i64, stages = 3 : i64}
// CHECK: tile.init_arrivals %[[FULL:.*]], %[[FREE:.*]] counts [1, 8]
// CHECK: tile.expect_bytes 3072 in %[[FULL]]
// CHECK: tile.copy_box %x
// CHECK-NOT: multicast
// CHECK: tile.copy_box %y
// CHECK-SAME: {multicast}
// CHECK: } math 104 registers {
// CHECK: tile.arrive %[[FREE]]{{.*}} {in_cluster}
// CHECK: tile.arrive %[[FREE]]{{.*}} {in_cluster}
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @rows(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [2, 1], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// Beside each other they share the rows of x.
// CHECK-LABEL: tile.kernel @columns.cluster(
// CHECK: tile.init_arrivals %{{.*}}, %{{.*}} counts [1, 16]
// CHECK: tile.copy_box %x
// CHECK-SAME: {multicast}
// CHECK: tile.copy_box %y
// CHECK-NOT: multicast
// CHECK: } math
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @columns(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [1, 4], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// A grid of constant size.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: the grid has 3 programs along axis 0, which is no multiple of a cluster's 2}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @three(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["3", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [2, 1], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// The loop ends at the program's row.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: the programs of a cluster may have different numbers of steps}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @steps(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [2, 1], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %row step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// Both factors depend on the column.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: the programs of a cluster copy no tile in common}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @common(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [1, 2], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%column, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// A part of 4 rows has no whole swizzle.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: 16 rows of !tile.buffer<16x32xbf16, xor> that a cluster shares do not divide into 4 parts of a multiple of 8}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @parts(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 32)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [4, 1], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 32] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x32xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %t : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %column] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x?xf32>
  tile.return
}

// -----

// Rows and columns take two axes.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: a cluster has rows and columns of programs; the grid needs two axes and has 1}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @axes(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], cluster = [2, 1]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}
