// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-read-blocks{instructions=dpas.8x16x16,dpas.8x16x32 warps=8})' | FileCheck %s
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-read-blocks{instructions=dpas.8x16x16,dpas.8x16x32 warps=8},tile.kernel(tile-assign-layouts{instructions=dpas.8x16x16,dpas.8x16x32 warps=8},tile-fuse,tile-plan-memory))' | FileCheck %s --check-prefix=FUSED
// RUN: not tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-read-blocks{instructions=dpas.1x1x1})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: tile-read-blocks: no instruction 'dpas.1x1x1' in docs/layouts.md

// Copies become loads, and their buffers and barriers are left out. Neighbouring rows of A are k elements apart, those of
// B n. The sums are not interleaved, and nothing is in memory.
// CHECK-LABEL: tile.kernel @copies(
// CHECK-SAME: tile.variants = [{body = "block2d", entry = "copies.block2d", name = "block2d", when = ["aligned(x, 64)", "m >= 1", "m <= 16777216", "k % 8 == 0", "k >= 32", "k <= 8388608", "aligned(y, 64)", "k >= 1", "k <= 16777216", "n % 8 == 0", "n >= 32", "n <= 8388608"]}, {body = "shared", name = "shared"}]
// CHECK: tile.cp_async
// CHECK: tile.barrier
// CHECK-LABEL: tile.kernel @copies.block2d(
// CHECK-NOT: tile.alloc_shared
// CHECK-NOT: tile.cp_async
// CHECK-NOT: tile.barrier
// CHECK: %[[A:.*]] = tile.load %x[%{{.*}}, %{{.*}}] extents [64, 32] {tile.read_blocks}
// CHECK: %[[B:.*]] = tile.load %y[%{{.*}}, %{{.*}}] extents [32, 64] {tile.read_blocks}
// CHECK: tile.mma %[[A]], %[[B]],
// FUSED-LABEL: tile.kernel @copies(
// FUSED: tile.alloc_shared
// FUSED: "dpas.8x16x16.n2"
// FUSED-LABEL: tile.kernel @copies.block2d(
// FUSED-NOT: tile.alloc_shared
// FUSED: tile.load %x[%{{.*}}] extents [64, 32] {tile.read_blocks} :
// FUSED: "dpas.8x16x16",
tile.kernel @copies(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xf32>, %m: index, %k: index, %n: index) grid ["m", "n"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %row = arith.muli %p, %c64 : index
  %q = tile.program_id 1 : index
  %column = arith.muli %q, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.alloc_shared : !tile.buffer<64x32xbf16, xor>
  %b = tile.alloc_shared : !tile.buffer<32x64xbf16, xor>
  %s = scf.for %i = %c0 to %k step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile.cp_async %x[%row, %i] extents [64, 32] to %a : !tile.view<?x?xbf16>, !tile.buffer<64x32xbf16, xor>
    tile.cp_async %y[%i, %column] extents [32, 64] to %b : !tile.view<?x?xbf16>, !tile.buffer<32x64xbf16, xor>
    tile.barrier
    %r = tile.mma %a, %b, %acc : !tile.buffer<64x32xbf16, xor>, !tile.buffer<32x64xbf16, xor>, tensor<64x64xf32>
    tile.barrier
    scf.yield %r : tensor<64x64xf32>
  }
  tile.store %s, %z[%row, %column] extents [64, 64] : tensor<64x64xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// One of several matrices begins at a multiple of 64 bytes, too. The left factor is stored along m, for which there is no read.
// CHECK-LABEL: tile.kernel @batch(
// CHECK-SAME: when = ["aligned(y, 64)", "n*k % 64 == 0", "n >= 1", "n <= 16777216", "k % 16 == 0", "k >= 64", "k <= 16777216"]
// CHECK-LABEL: tile.kernel @batch.block2d(
// CHECK: tile.load %x[%{{.*}}] extents [-1, 32, 64] :
// CHECK: tile.load %y[%{{.*}}] extents [-1, 64, 32] {tile.read_blocks} :
// FUSED-LABEL: tile.kernel @batch.block2d(
// FUSED-NOT: tile.alloc_shared
// FUSED: tile.load %x{{.*}}tile.materialize
tile.kernel @batch(%x: !tile.view<?x?x?xi8>, %y: !tile.view<?x?x?xi8>, %z: !tile.view<?x64x64xi32>, %b: index, %m: index, %k: index, %n: index) grid ["b"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i8, dims = ["b", "k", "m"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = i8, dims = ["b", "n", "k"], access = read>,
    #tile.param<name = "z", kind = result, dtype = i32, dims = ["b", "64", "64"], access = write>,
    #tile.param<name = "b", kind = dim>, #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %p = tile.program_id 0 : index
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %s = scf.for %i = %c0 to %k step %c32 iter_args(%acc = %zero) -> (tensor<64x64xi32>) {
    %a = tile.load %x[%p, %i, %c0] extents [-1, 32, 64] : !tile.view<?x?x?xi8> -> tensor<32x64xi8>
    %c = tile.load %y[%p, %c0, %i] extents [-1, 64, 32] : !tile.view<?x?x?xi8> -> tensor<64x32xi8>
    %r = tile.mma %a, %c, %acc {trans_a, trans_b} : tensor<32x64xi8>, tensor<64x32xi8>, tensor<64x64xi32>
    scf.yield %r : tensor<64x64xi32>
  }
  tile.store %s, %z[%p, %c0, %c0] extents [-1, 64, 64] : tensor<64x64xi32>, !tile.view<?x64x64xi32>
  tile.return
}

// -----

// Rows of 66 bytes have no launch, and where the columns begin is not known to be even: no variant.
// CHECK-LABEL: tile.kernel @none(
// CHECK-NOT: tile.variants
// CHECK-NOT: block2d
tile.kernel @none(%x: !tile.view<?x33xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<64x64xf32>, %m: index, %n: index, %at: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "33"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["m", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = f32, dims = ["64", "64"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>, #tile.param<name = "at", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<?x33xbf16> -> tensor<64x32xbf16>
  %b = tile.load %y[%c0, %at] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
  %r = tile.mma %a, %b, %zero : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>
  tile.store %r, %z[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}
