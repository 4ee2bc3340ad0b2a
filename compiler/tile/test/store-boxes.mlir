// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=81920 boxes registers=65536})' | FileCheck %s
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=65536 boxes registers=65536})' | FileCheck %s --check-prefix=ONE
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile-pipeline-loops{backend=gpu stages=3 threads=128 shared-bytes=40000 boxes registers=65536})' | FileCheck %s --check-prefix=NONE

// The variant stores boxes of 16 rows of each warp, before lanes exchange elements. Rows of the
// result are as long as those of y.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-SAME: name = "tma", when = [{{.*}}"n % 8 == 0", "aligned(z, 16)"]}, {body = "async", name = "async"}]
// CHECK: tile.store %
// CHECK-LABEL: tile.kernel @rows.tma(
// CHECK-SAME: box_stores = 1 : i64
// CHECK-NEXT: %[[S:.*]] = tile.alloc_shared {align = 1024 : i64} : !tile.buffer<2x64x64xbf16, none>
// CHECK-NOT: tile.convert %{{.*}} : tensor<64x128xbf16, #{{.*}}> -> tensor<64x128xbf16
// CHECK: tile.store_box %{{.*}}, %z[%{{.*}}, %{{.*}}] extents [64, 128] through %[[S]]
// ONE-LABEL: tile.kernel @rows.tma(
// ONE: tile.alloc_shared {align = 1024 : i64} : !tile.buffer<1x64x64xbf16, none>
// NONE-LABEL: tile.kernel @rows.tma(
// NONE-NOT: tile.store_box
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32], [0,64]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
#w = #tile.layout<reg = [[0,1], [0,2], [0,4], [8,0], [0,32], [0,64]], lane = [[0,8], [0,16], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @rows(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xbf16>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 128)"]
    attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["k", "n"], access = read>,
    #tile.param<name = "z", kind = result, dtype = bf16, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c128 : index
  %rest = arith.subi %m, %row : index
  %least = arith.minsi %rest, %c64 : index
  %end = arith.maxsi %least, %c0 : index
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %r = tile.convert %zero : tensor<64x128xf32> -> tensor<64x128xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x128xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%i, %column] extents [16, 128] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<16x128xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x128x16, "wgmma.m64n8k16", warps = [4, 1]>}
        : tensor<64x16xbf16>, tensor<16x128xbf16>, tensor<64x128xf32, #c>
    scf.yield %t : tensor<64x128xf32, #c>
  }
  %u = tile.cast %s from f32 to bf16 : tensor<64x128xf32, #c> -> tensor<64x128xbf16, #c>
  %v = tile.convert %u : tensor<64x128xbf16, #c> -> tensor<64x128xbf16, #w>
  tile.store %v, %z[%row, %column] extents [64, 128] bounds(%c0 to %end, %c0 to %c128) : tensor<64x128xbf16, #w>, !tile.view<?x?xbf16>
  tile.return
}

// -----

// Rows of the result may have another length: launches in which only the copies are boxes keep them. A store that ends before
// the tensor does stays.
// CHECK-LABEL: tile.kernel @transposed(
// CHECK-SAME: name = "tma_store", when = [{{.*}}"n % 8 == 0"]}, {body = "tma", entry = "transposed.tma", name = "tma", when = [{{.*}}"k % 8 == 0", "aligned(y, 16)", "n > 0", "n < 2147483648"]}, {body = "async"
// CHECK-LABEL: tile.kernel @transposed.tma(
// CHECK-NOT: tile.store_box
// CHECK: tile.store %
// CHECK-LABEL: tile.kernel @transposed.tma_store(
// CHECK: tile.store_box %{{.*}}, %z
// CHECK: tile.store %{{.*}}, %e
#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16], [0,32]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @transposed(%x: !tile.view<?x?xbf16>, %y: !tile.view<?x?xbf16>, %z: !tile.view<?x?xbf16>, %e: !tile.view<?x?xbf16>, %m: index, %k: index, %n: index) grid ["ceildiv(m, 64)", "ceildiv(n, 64)"]
    attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["m", "k"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["n", "k"], access = read>,
    #tile.param<name = "z", kind = result, dtype = bf16, dims = ["m", "n"], access = write>,
    #tile.param<name = "e", kind = result, dtype = bf16, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %q = tile.program_id 1 : index
  %row = arith.muli %p, %c64 : index
  %column = arith.muli %q, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.convert %zero : tensor<64x64xf32> -> tensor<64x64xf32, #c>
  %s = scf.for %i = %c0 to %k step %c16 iter_args(%acc = %r) -> (tensor<64x64xf32, #c>) {
    %a = tile.load %x[%row, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %b = tile.load %y[%column, %i] extents [64, 16] {tile.materialize} : !tile.view<?x?xbf16> -> tensor<64x16xbf16>
    %t = tile.mma %a, %b, %acc {fragment = #tile.fragment<64x64x16, "wgmma.m64n8k16", warps = [4, 1]>, trans_b}
        : tensor<64x16xbf16>, tensor<64x16xbf16>, tensor<64x64xf32, #c>
    scf.yield %t : tensor<64x64xf32, #c>
  }
  %u = tile.cast %s from f32 to bf16 : tensor<64x64xf32, #c> -> tensor<64x64xbf16, #c>
  tile.store %u, %z[%row, %column] extents [64, 64] : tensor<64x64xbf16, #c>, !tile.view<?x?xbf16>
  tile.store %u, %e[%row, %column] extents [64, 64] bounds(%c0 to %c16, %c0 to %c64) : tensor<64x64xbf16, #c>, !tile.view<?x?xbf16>
  tile.return
}
