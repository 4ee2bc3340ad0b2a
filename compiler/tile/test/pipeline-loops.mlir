// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=256 shared-bytes=32768})' | FileCheck %s

// Copies of two steps before the loop, of the step after next in it; one wait, which is a barrier. Only what the
// start of a copy needs is computed ahead.
// CHECK-LABEL: tile.kernel @copies
// CHECK-SAME: decisions = {stages = 3 : i64}
// CHECK-NOT: fallbacks
// CHECK: %[[A:.*]] = tile.alloc_shared {align = 64 : i64} : !tile.buffer<3x16x32xbf16, none>
// CHECK: scf.if
// CHECK: %[[S0:.*]] = tile.slot %[[A]][%c0
// CHECK: tile.cp_async %x[%{{.*}}, %{{.*}}] extents [16, 32] to %[[S0]]
// CHECK: tile.commit_group
// CHECK: arith.cmpi ugt
// CHECK: scf.if
// CHECK: tile.slot %[[A]][%c1
// CHECK: tile.cp_async
// CHECK: tile.commit_group
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %k step %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I:.*]] = %c0{{.*}})
// CHECK-NEXT: tile.wait_group 1
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0{{.*}}
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[I]], %c1{{.*}}
// CHECK-NEXT: %[[TO:.*]] = arith.select %[[FIRST]], %c2{{.*}}, %[[BEFORE]]
// CHECK-NEXT: %[[AHEAD:.*]] = arith.addi %[[K]], %c64{{.*}}
// CHECK: scf.if
// CHECK: %[[START:.*]] = arith.addi %[[AHEAD]], %c32{{.*}}
// CHECK: %[[SLOT:.*]] = tile.slot %[[A]][%[[TO]]]
// CHECK: tile.cp_async %x[%{{.*}}, %[[START]]] extents [16, 32] to %[[SLOT]]
// CHECK: tile.commit_group
// CHECK-NEXT: %[[READ:.*]] = tile.slot %[[A]][%[[I]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.buffer_read %[[READ]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
// CHECK: tile.return
tile.kernel @copies(%x: !tile.view<?x?xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["16", "k"], access = read>,
    #tile.param<name = "k", kind = dim>], scratch_bytes = 1024 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %z = arith.constant dense<0.0> : tensor<16x32xbf16>
  %a = tile.alloc_shared {align = 64 : i64} : !tile.buffer<16x32xbf16, none>
  %s = scf.for %i = %c0 to %k step %c32 iter_args(%acc = %z) -> (tensor<16x32xbf16>) {
    %start = arith.addi %i, %c32 : index
    tile.cp_async %x[%c0, %start] extents [16, 32] to %a : !tile.view<?x?xbf16>, !tile.buffer<16x32xbf16, none>
    tile.barrier
    %t = tile.buffer_read %a : !tile.buffer<16x32xbf16, none> -> tensor<16x32xbf16>
    %n = arith.addf %acc, %t : tensor<16x32xbf16>
    tile.barrier
    scf.yield %n : tensor<16x32xbf16>
  }
  tile.return
}

// -----

// A tile that only a matrix instruction reads is copied like that, too.
// CHECK-LABEL: tile.kernel @loads
// CHECK: %[[X:.*]] = tile.alloc_shared {align = 1024 : i64} : !tile.buffer<2x32x16xbf16, xor>
// CHECK: tile.wait_group 0
// CHECK: tile.cp_async %x[%{{.*}}, %{{.*}}] extents [32, 16] to %{{.*}} : !tile.view<32x?xbf16>, !tile.buffer<32x16xbf16, xor>
// CHECK: %[[READ:.*]] = tile.slot %[[X]]
// CHECK: tile.mma %[[READ]], %{{.*}}, %{{.*}}
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

// A request is reduced to what fits; the target's default is, too, without a word.
// CHECK-LABEL: tile.kernel @reduced
// CHECK-SAME: decisions = {stages = 2 : i64}
// CHECK-SAME: fallbacks = ["gpu: stages=4 is reduced to 2: it needs 41984 bytes of shared memory, gpu has 32768"]
// CHECK: tile.alloc_shared {{.*}}!tile.buffer<2x64x64xbf16, none>
tile.kernel @reduced(%x: !tile.view<?x?xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "k", kind = dim>], scratch_bytes = 18432 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<64x64xbf16>
  %a = tile.alloc_shared : !tile.buffer<64x64xbf16, none>
  %s = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %z) -> (tensor<64x64xbf16>) {
    tile.cp_async %x[%c0, %i] extents [64, 64] to %a : !tile.view<?x?xbf16>, !tile.buffer<64x64xbf16, none>
    tile.barrier
    %t = tile.buffer_read %a : !tile.buffer<64x64xbf16, none> -> tensor<64x64xbf16>
    scf.yield %t : tensor<64x64xbf16>
  } {schedule.most_stages = 4 : i64}
  tile.return
}

// -----

// A decision is refused.
tile.kernel @refused(%x: !tile.view<?x?xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "k"], access = read>,
    #tile.param<name = "k", kind = dim>], scratch_bytes = 18432 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<64x64xbf16>
  %a = tile.alloc_shared : !tile.buffer<64x64xbf16, none>
  // expected-error@+2 {{schedule.stages = 4: it needs 41984 bytes of shared memory, gpu has 32768}}
  // expected-note@+1 {{hint: at most 2 fit; smaller tiles leave room for more}}
  %s = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %z) -> (tensor<64x64xbf16>) {
    tile.cp_async %x[%c0, %i] extents [64, 64] to %a : !tile.view<?x?xbf16>, !tile.buffer<64x64xbf16, none>
    tile.barrier
    %t = tile.buffer_read %a : !tile.buffer<64x64xbf16, none> -> tensor<64x64xbf16>
    scf.yield %t : tensor<64x64xbf16>
  } {schedule.stages = 4 : i64}
  tile.return
}

// -----

// What is not pipelined, and why.
// CHECK-LABEL: tile.kernel @kept
// CHECK-SAME: decisions = {stages = 1 : i64}
// CHECK-SAME: fallbacks = [
// CHECK-SAME: gpu: stages=2 has no effect: it copies no factor of a product into shared memory
// CHECK-SAME: gpu: stages=3 has no effect: it writes memory, which copies of later steps might read
// CHECK-SAME: gpu: stages=4 has no effect: a buffer that it copies to is used outside of it, or before the barrier that waits for the copy
// CHECK-SAME: gpu: stages=5 has no effect: it waits for groups of copies itself
// CHECK-SAME: gpu: stages=6 has no effect: where it copies from depends on the step before
// CHECK-SAME: gpu: stages=7 has no effect: its step is no positive constant
// CHECK-NOT: tile.slot
tile.kernel @kept(%x: !tile.view<?xbf16>, %y: !tile.view<?xbf16>, %k: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k"], access = write>,
    #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.alloc_shared : !tile.buffer<64xbf16, none>
  %b = tile.alloc_shared : !tile.buffer<64xbf16, none>
  %d = tile.alloc_shared : !tile.buffer<64xbf16, none>
  scf.for %i = %c0 to %k step %c64 {
  } {schedule.most_stages = 2 : i64}
  scf.for %i = %c0 to %k step %c64 {
    tile.cp_async %x[%i] extents [64] to %a : !tile.view<?xbf16>, !tile.buffer<64xbf16, none>
    tile.barrier
    %t = tile.buffer_read %a : !tile.buffer<64xbf16, none> -> tensor<64xbf16>
    tile.store %t, %y[%i] extents [64] : tensor<64xbf16>, !tile.view<?xbf16>
  } {schedule.most_stages = 3 : i64}
  scf.for %i = %c0 to %k step %c64 {
    tile.cp_async %x[%i] extents [64] to %a : !tile.view<?xbf16>, !tile.buffer<64xbf16, none>
    tile.barrier
  } {schedule.most_stages = 4 : i64}
  scf.for %i = %c0 to %k step %c64 {
    tile.cp_async %x[%i] extents [64] to %b : !tile.view<?xbf16>, !tile.buffer<64xbf16, none>
    tile.commit_group
    tile.wait_group 0
  } {schedule.most_stages = 5 : i64}
  %last = scf.for %i = %c0 to %k step %c64 iter_args(%at = %c0) -> (index) {
    tile.cp_async %x[%at] extents [64] to %d : !tile.view<?xbf16>, !tile.buffer<64xbf16, none>
    tile.barrier
    %next = arith.addi %at, %c64 : index
    scf.yield %next : index
  } {schedule.most_stages = 6 : i64}
  scf.for %i = %c0 to %k step %k {
  } {schedule.most_stages = 7 : i64}
  tile.return
}
