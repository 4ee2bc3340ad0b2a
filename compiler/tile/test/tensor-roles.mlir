// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile-pipeline-loops{backend=ptx target=ptx:sm_100a stages=3 threads=128 shared-bytes=65536 boxes})' | FileCheck %s

// A warp of its own starts the products, into two sets of sums in turn; the others load a set, and pass it back before
// they store.
// CHECK-LABEL: tile.kernel @two.tma(
// CHECK-SAME: decisions = {box_stores = 1 : i64, copy_warps = 1 : i64, multiply_warps = 1 : i64, sets_of_sums = 2 : i64, stages = 3 : i64}
// CHECK: tile.init_arrivals %[[FULL:.*]], %[[FREE:.*]], %[[DONE:.*]], %[[UNUSED:.*]] counts [1, 1, 1, 4]
// CHECK-NEXT: tile.roles copy 1 warps 0 registers {
// CHECK: tile.await_bytes %[[FREE]]
// CHECK: tile.copy_box
// CHECK: } multiply 1 warps {
// CHECK: %{{.*}}:4 = scf.for {{.*}} iter_args(%{{.*}} = %c0{{.*}}, %{{.*}} = %c0{{.*}}, %[[SET:[a-z0-9]+]] = %c0{{[_0-9]*}}, %{{[a-z0-9]+}} = %c0
// CHECK: tile.await_bytes %[[UNUSED]][%[[SET]]]
// CHECK: %[[SUMS:.*]]:3 = scf.for
// CHECK-NEXT: tile.await_bytes %[[FULL]][%[[SLOT:[a-z0-9]+]]] phase
// CHECK: tile.mma
// CHECK-NEXT: tile.commit_products %[[FREE]][%[[SLOT]]]
// CHECK: tile.commit_products %[[DONE]][%[[SET]]] passes %[[SUMS]]#0
// CHECK: } math 0 registers {
// CHECK: scf.for {{.*}} iter_args(%[[SET:[a-z0-9]+]] = %c0
// CHECK-NOT: tile.mma
// CHECK: tile.await_bytes %[[DONE]][%[[SET]]]
// CHECK: %[[SUMS:.*]] = tile.take_sums[%[[SET]]] if
// CHECK-NEXT: tile.arrive %[[UNUSED]][%[[SET]]]
// CHECK: tile.store_box %[[SUMS]]
#c = #tile.layout<reg = [[0,1], [0,2], [0,4], [0,8], [0,16]], lane = [[1,0], [2,0], [4,0], [8,0], [16,0]], warp = [[32,0], [64,0]], repeat = [1, 1]>
tile.kernel @two(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 128)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c128 : index
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %r = tile.convert %zero : tensor<128x32xf32> -> tensor<128x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [128, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<128x32x16, "tcgen05.m128n16k16", warps = [4, 1]>}
        : tensor<128x16xbf16>, tensor<16x32xbf16>, tensor<128x32xf32, #c>
    scf.yield %q : tensor<128x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [128, 32] : tensor<128x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}

// -----

// Copies that were started before the loop are complete behind a barrier of the threads that compute: those of the
// loop's body went with it.
// CHECK-LABEL: tile.kernel @copies.tma(
// CHECK: } math 0 registers {
// CHECK: tile.cp_async
// CHECK: tile.barrier
// CHECK: tile.await_bytes
// CHECK: tile.take_sums
#c = #tile.layout<reg = [[0,1], [0,2], [0,4], [0,8], [0,16]], lane = [[1,0], [2,0], [4,0], [8,0], [16,0]], warp = [[32,0], [64,0]], repeat = [1, 1]>
tile.kernel @copies(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 128)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c128 : index
  %all = tile.alloc_shared : !tile.buffer<64x32xf32, none>
  tile.cp_async %z[%row, %c0] extents [64, 32] to %all : !tile.view<?x32xf32>, !tile.buffer<64x32xf32, none>
  tile.commit_group
  tile.wait_group 0
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %r = tile.convert %zero : tensor<128x32xf32> -> tensor<128x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [128, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<128x32x16, "tcgen05.m128n16k16", warps = [4, 1]>}
        : tensor<128x16xbf16>, tensor<16x32xbf16>, tensor<128x32xf32, #c>
    scf.yield %q : tensor<128x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [128, 32] : tensor<128x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}


// -----

// 512 columns of tensor memory hold two sets of 256, not three.
#c = #tile.layout<reg = [[0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[1,0], [2,0], [4,0], [8,0], [16,0]], warp = [[32,0], [64,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: 3 sets of sums need 768 columns of tensor memory, 256 each; a block has 512}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @three(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x256xbf16>, %z: !tile.view<?x256xf32>, %m: index, %k: index) grid ["ceildiv(m, 128)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 3, persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "256"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "256"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c128 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %r = tile.convert %zero : tensor<128x256xf32> -> tensor<128x256xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x256xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [128, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 256] {tile.materialize} : !tile.view<?x256xbf16> -> tensor<16x256xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<128x256x16, "tcgen05.m128n16k16", warps = [4, 1]>}
        : tensor<128x16xbf16>, tensor<16x256xbf16>, tensor<128x256xf32, #c>
    scf.yield %q : tensor<128x256xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [128, 256] : tensor<128x256xf32, #c>, !tile.view<?x256xf32>
  tile.return
}

// -----

#c = #tile.layout<reg = [[0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [0,64], [0,128]], lane = [[1,0], [2,0], [4,0], [8,0], [16,0]], warp = [[32,0], [64,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: a thread that stores has 256 sums and needs 288 registers; it has at most 255}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @wide(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x256xbf16>, %z: !tile.view<?x256xf32>, %m: index, %k: index) grid ["ceildiv(m, 128)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "256"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "256"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c128 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %r = tile.convert %zero : tensor<128x256xf32> -> tensor<128x256xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x256xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [128, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 256] {tile.materialize} : !tile.view<?x256xbf16> -> tensor<16x256xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<128x256x16, "tcgen05.m128n16k16", warps = [4, 1]>}
        : tensor<128x16xbf16>, tensor<16x256xbf16>, tensor<128x256xf32, #c>
    scf.yield %q : tensor<128x256xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [128, 256] : tensor<128x256xf32, #c>, !tile.view<?x256xf32>
  tile.return
}

// -----

#c = #tile.layout<reg = [[0,1], [0,2], [0,4], [0,8], [0,16]], lane = [[1,0], [2,0], [4,0], [8,0], [16,0]], warp = [[32,0], [64,0]], repeat = [1, 1]>
// expected-error@+2 {{schedule.block: its sums are in tensor memory: role multiply, whose warps start the products, has 0 warps}}
// expected-note@+1 {{hint: without it the threads that compute start the copies}}
tile.kernel @none(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x32xf32>, %m: index, %k: index) grid ["ceildiv(m, 128)"]
    attributes {schedule.block = #schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], persistent>, params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "32"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "32"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c128 : index
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %r = tile.convert %zero : tensor<128x32xf32> -> tensor<128x32xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<128x32xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [128, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<128x16xbf16>
    %b = tile.load %y[%i, %c0] extents [16, 32] {tile.materialize} : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %q = tile.mma %a, %b, %acc {fragment = #tile.fragment<128x32x16, "tcgen05.m128n16k16", warps = [4, 1]>}
        : tensor<128x16xbf16>, tensor<16x32xbf16>, tensor<128x32xf32, #c>
    scf.yield %q : tensor<128x32xf32, #c>
  }
  tile.store %s, %z[%row, %c0] extents [128, 32] : tensor<128x32xf32, #c>, !tile.view<?x32xf32>
  tile.return
}
