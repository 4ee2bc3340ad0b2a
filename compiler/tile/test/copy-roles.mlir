// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=65536 boxes registers=65536})' | FileCheck %s

// Warps of their own start the copies; they compute again where the copies start, and wait for free buffers.
// CHECK-LABEL: tile.kernel @roles(
// CHECK-NOT: tile.roles
// CHECK-NOT: schedule.block
// CHECK-LABEL: tile.kernel @roles.tma(
// CHECK-SAME: decisions = {box_stores = 1 : i64, copy_warps = 4 : i64, stages = 3 : i64}
// CHECK-NOT: schedule.block
// CHECK: tile.init_arrivals %[[FULL:.*]], %[[FREE:.*]] counts [1, 4]
// CHECK-NEXT: tile.roles copy 4 warps 24 registers {
// CHECK: %[[P:.*]] = tile.program_id 0
// CHECK: %[[ROW:.*]] = arith.muli %[[P]]
// CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK: %[[BEFORE:.*]] = arith.subi %c1{{.*}}, %[[PHASE]]
// CHECK: tile.await_bytes %[[FREE]][%[[I]]] phase %[[BEFORE]]
// CHECK: tile.expect_bytes 3072 in %[[FULL]][%[[I]]]
// CHECK: tile.copy_box %x[%[[ROW]], %{{.*}}] extents [64, 16]
// CHECK: tile.copy_box %y
// CHECK: } math 104 registers {
// CHECK-NOT: tile.copy_box
// CHECK: scf.for
// CHECK-NEXT: tile.await_bytes %[[FULL]]
// CHECK: tile.mma {{.*}}in_flight
// CHECK: scf.if
// CHECK-NEXT: tile.arrive %[[FREE]]
// CHECK-NOT: tile.barrier
// CHECK: tile.store_box
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @roles(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers]>, params = [
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

// -----

// Each part is a loop over the block's programs, which carries the ring's buffer and phase. The last buffer of a program is
// released, too.
// CHECK-LABEL: tile.kernel @persistent.tma(
// CHECK: tile.roles copy
// CHECK: %[[FIRST:.*]], %[[COUNT:.*]], %[[BLOCKS:.*]] = tile.block_programs
// CHECK-NEXT: %{{.*}}:2 = scf.for %[[P:.*]] = %[[FIRST]] to %[[COUNT]] step %[[BLOCKS]] iter_args(%[[I:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK: tile.program_id 0 of %[[P]]
// CHECK: %[[END:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[I]], %{{.*}} = %[[PHASE]])
// CHECK: tile.copy_box
// CHECK: scf.yield %[[END]]#0, %[[END]]#1
// CHECK: } math 104 registers {
// CHECK: tile.block_programs
// CHECK-NEXT: scf.for %[[P:.*]] = {{.*}} iter_args(%[[I:.*]] = %c0{{.*}}, %[[PHASE:.*]] = %c0
// CHECK: tile.program_id 0 of %[[P]]
// CHECK: %[[END:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}}, %{{.*}} = %[[I]], %{{.*}} = %[[PHASE]])
// CHECK: tile.arrive
// CHECK: scf.if
// CHECK: %[[LAST:.*]] = arith.select
// CHECK-NEXT: tile.arrive %{{.*}}[%[[LAST]]]
// CHECK: tile.store_box
// CHECK-NOT: tile.barrier
// CHECK: scf.yield %[[END]]#1, %[[END]]#2
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @persistent(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], persistent>, params = [
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

// -----

// A step that does more than add to sums releases its own buffer, at its end.
// CHECK-LABEL: tile.kernel @more.tma(
// CHECK: } math 104 registers {
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[I:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK-NEXT: tile.await_bytes
// CHECK: tile.mma
// CHECK-NOT: in_flight
// CHECK: arith.addf
// CHECK: tile.arrive %{{.*}}[%[[I]]]
// CHECK: scf.yield
// CHECK-NOT: tile.arrive
// CHECK: tile.store_box
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @more(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], persistent>, params = [
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
    %u = arith.addf %q, %q : tensor<64x32xf32, #c>
    scf.yield %u : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}

// -----

// What is copied before the loop is awaited there, since the barriers of the loop are erased: under a condition, too,
// CHECK-LABEL: tile.kernel @condition.tma(
// CHECK: } math 104 registers {
// CHECK: tile.cp_async
// CHECK: }
// CHECK: tile.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.barrier
// CHECK: tile.store_box
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @condition(%x: !tile.view<?x16xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "16"], access = read>,
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
  %a = tile.alloc_shared : !tile.buffer<64x16xbf16, none>
  %b = tile.alloc_shared : !tile.buffer<16x32xbf16, none>
  %some = arith.cmpi sgt, %m, %c0 : index
  scf.if %some {
    tile.cp_async %x[%row, %c0] extents [64, 16] to %a : !tile.view<?x16xbf16>, !tile.buffer<64x16xbf16, none>
  }
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    tile.barrier
    tile.cp_async %y[%i, %c0] extents [16, 32] to %b : !tile.view<?x32xbf16>, !tile.buffer<16x32xbf16, none>
    tile.barrier
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : !tile.buffer<64x16xbf16, none>, !tile.buffer<16x32xbf16, none>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}

// -----

// and in another loop.
// CHECK-LABEL: tile.kernel @inner.tma(
// CHECK: } math 104 registers {
// CHECK: tile.cp_async
// CHECK: }
// CHECK: tile.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: tile.barrier
// CHECK: tile.store_box
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @inner(%x: !tile.view<?x16xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "16"], access = read>,
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
  %a = tile.alloc_shared : !tile.buffer<64x16xbf16, none>
  %b = tile.alloc_shared : !tile.buffer<16x32xbf16, none>
  scf.for %i = %c0 to %m step %c64 {
    tile.cp_async %x[%row, %c0] extents [64, 16] to %a : !tile.view<?x16xbf16>, !tile.buffer<64x16xbf16, none>
  }
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    tile.barrier
    tile.cp_async %y[%i, %c0] extents [16, 32] to %b : !tile.view<?x32xbf16>, !tile.buffer<16x32xbf16, none>
    tile.barrier
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : !tile.buffer<64x16xbf16, none>, !tile.buffer<16x32xbf16, none>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [64, 32] : tensor<64x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}

// -----

// A block runs several programs, but is one group.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: the kernel asks for its group, which is a block; a persistent block runs several programs}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @group(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 64)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], persistent>, params = [
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
  %g = tile.group_info group_id : i32
  tile.return
}

// -----

// The warps that compute are the kernel's.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: role math has 8 warps, and 4 warps compute the kernel}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @warps(%x: !tile.view<64x?xbf16>, %y: !tile.view<?x32xbf16>, %k: index) grid []
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [64, 16] {tile.materialize} : !tile.view<64x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.return
}

// -----

// A unit has not as many registers.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: its roles have 98304 registers, a unit has 65536}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @registers(%x: !tile.view<64x?xbf16>, %y: !tile.view<?x32xbf16>, %k: index) grid []
    attributes {schedule.block = #schedule.block<roles = [copy: 8 warps, 256 registers, math: 4 warps, 256 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [64, 16] {tile.materialize} : !tile.view<64x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.return
}

// -----

// Threads start with the mean of the roles.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: a thread that computes has 16 sums and needs 48 registers; it starts with 40, the mean of the roles, and then has 56}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @start(%x: !tile.view<64x?xbf16>, %y: !tile.view<?x32xbf16>, %k: index) grid []
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 56 registers]>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.convert %zero : tensor<64x32xf32> -> tensor<64x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x32xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [64, 16] {tile.materialize} : !tile.view<64x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32, #c>
    scf.yield %q : tensor<64x32xf32, #c>
  }
  tile.return
}

// -----

// With 128 sums of each lane and eight warps a unit has one block: it gets roles.
// CHECK-LABEL: tile.kernel @usual.tma(
// CHECK: tile.roles copy 4 warps 40 registers {
// CHECK: tile.block_programs
// CHECK: } math 232 registers {
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0], [64,0]], repeat = [1, 1]>
tile.kernel @usual(%x: !tile.view<128x?xbf16>, %y: !tile.view<?x256xbf16>, %k: index) grid []
    attributes {threads = 256 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["128", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "256"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %r = tile.convert %zero : tensor<128x256xf32> -> tensor<128x256xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x256xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [128, 16] {tile.materialize} : !tile.view<128x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 256] {tile.materialize} : !tile.view<?x256xbf16> -> tensor<16x256xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [8, 1]>}
        : tensor<128x16xbf16>, tensor<16x256xbf16>, tensor<128x256xf32, #c>
    scf.yield %q : tensor<128x256xf32, #c>
  }
  tile.return
}

// -----

// Four warps leave registers for a second block.
// CHECK-LABEL: tile.kernel @four.tma(
// CHECK-NOT: tile.roles
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @four(%x: !tile.view<64x?xbf16>, %y: !tile.view<?x256xbf16>, %k: index) grid []
    attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "256"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x256xf32>
  %r = tile.convert %zero : tensor<64x256xf32> -> tensor<64x256xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x256xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [64, 16] {tile.materialize} : !tile.view<64x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 256] {tile.materialize} : !tile.view<?x256xbf16> -> tensor<16x256xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x256xbf16>, tensor<64x256xf32, #c>
    scf.yield %q : tensor<64x256xf32, #c>
  }
  tile.return
}

// -----

// No loop copies boxes: there is nothing to divide.
// expected-error@+2 {{schedule.block: no loop of the kernel copies boxes}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @none() grid []
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 232 registers]>, params = []} {
  tile.return
}

// -----

// Groups of warps take turns between products.
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0], [64,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: with pingpong warps take turns between two products of a step, of which one uses what was computed from the sums of the other; the loop has none}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @turns(%x: !tile.view<128x?xbf16>, %y: !tile.view<?x256xbf16>, %k: index) grid []
    attributes {threads = 256 : i64, schedule.block = #schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], pingpong>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["128", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "256"], access = read>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %r = tile.convert %zero : tensor<128x256xf32> -> tensor<128x256xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x256xf32, #c>) {
    %a = tile.load %x[%c0, %i] extents [128, 16] {tile.materialize} : !tile.view<128x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 256] {tile.materialize} : !tile.view<?x256xbf16> -> tensor<16x256xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [8, 1]>}
        : tensor<128x16xbf16>, tensor<16x256xbf16>, tensor<128x256xf32, #c>
    scf.yield %q : tensor<128x256xf32, #c>
  }
  tile.return
}
