// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=mma.m16n8k16 warps=8}))' | FileCheck %s
// RUN: not tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mma.m1n1k1 warps=8}))' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: tile-assign-layouts: no instruction 'mma.m1n1k1' in docs/layouts.md
// RUN: not tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mma.m16n8k16:i8 warps=8}))' 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: tile-assign-layouts: mma.m16n8k16 does not multiply 'i8'

// The sum stays in registers over the loop.
// CHECK: #[[C:layout[0-9]*]] = #tile.layout<reg = {{\[\[}}0,1], [8,0], [0,32], [32,0]], lane = {{\[\[}}0,2], [0,4], [1,0], [2,0], [4,0]], warp = {{\[\[}}16,0], [0,8], [0,16]], repeat = [1, 1]>
// CHECK-LABEL: tile.kernel @carried
// CHECK: %[[R:.*]] = tile.convert %{{.*}} : tensor<64x64xf32> -> tensor<64x64xf32, #[[C]]>
// CHECK: %[[S:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[R]]) -> (tensor<64x64xf32, #[[C]]>)
// CHECK: %[[P:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[ACC]] {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
// CHECK-NEXT: scf.yield %[[P]]
// CHECK: tile.convert %[[S]] : tensor<64x64xf32, #[[C]]> -> tensor<64x64xf32>
tile.kernel @carried(%x: !tile.view<64x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32>) {
    %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
    %p = tile.mma %t, %t, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %p : tensor<64x64xf32>
  }
  tile.store %s, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// The order of strict sums is not the instruction's; the tile of f32, and the one that 8 warps do not divide, are left.
// CHECK-LABEL: tile.kernel @strict
// CHECK-NOT: tile.convert
tile.kernel @strict(%x: !tile.view<64x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {numerics = "strict", params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %p = tile.mma %t, %t, %z : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: tile.convert
tile.kernel @others(%x: !tile.view<64x64xf32>, %y: !tile.view<16x16xbf16>, %o: !tile.view<64x64xf32>,
                    %q: !tile.view<16x16xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["16", "16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>,
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["16", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %w = arith.constant dense<0.0> : tensor<16x16xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %p = tile.mma %t, %t, %z : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  %u = tile.load %y[%c0, %c0] extents [16, 16] : !tile.view<16x16xbf16> -> tensor<16x16xbf16>
  %v = tile.mma %u, %u, %w : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  tile.store %v, %q[%c0, %c0] extents [16, 16] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// 256 sums for each lane are too many; 128 are not.
// CHECK-LABEL: tile.kernel @large
// CHECK: tile.mma {{.*}} : tensor<256x16xbf16>, tensor<16x256xbf16>, tensor<256x256xf32>{{$}}
// CHECK: tile.mma {{.*}} : tensor<128x256xbf16>, tensor<256x256xbf16>, tensor<128x256xf32, #
tile.kernel @large(%x: !tile.view<256x256xbf16>, %o: !tile.view<256x256xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["256", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["256", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<256x256xf32>
  %w = arith.constant dense<0.0> : tensor<128x256xf32>
  %a = tile.load %x[%c0, %c0] extents [256, 16] : !tile.view<256x256xbf16> -> tensor<256x16xbf16>
  %b = tile.load %x[%c0, %c0] extents [16, 256] : !tile.view<256x256xbf16> -> tensor<16x256xbf16>
  %p = tile.mma %a, %b, %z : tensor<256x16xbf16>, tensor<16x256xbf16>, tensor<256x256xf32>
  tile.store %p, %o[%c0, %c0] extents [256, 256] : tensor<256x256xf32>, !tile.view<256x256xf32>
  %c = tile.load %x[%c0, %c0] extents [128, 256] : !tile.view<256x256xbf16> -> tensor<128x256xbf16>
  %d = tile.load %x[%c0, %c0] extents [256, 256] : !tile.view<256x256xbf16> -> tensor<256x256xbf16>
  %q = tile.mma %c, %d, %w : tensor<128x256xbf16>, tensor<256x256xbf16>, tensor<128x256xf32>
  tile.store %q, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<256x256xf32>
  tile.return
}

// Another operation reads the variable: the sum goes through memory at each step.
// CHECK-LABEL: tile.kernel @scaled
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32>)
// CHECK: arith.mulf {{.*}} : tensor<64x64xf32>
// CHECK: %[[R:.*]] = tile.convert %{{.*}} : tensor<64x64xf32> -> tensor<64x64xf32, #[[C]]>
// CHECK: %[[P:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[R]]
// CHECK: %[[M:.*]] = tile.convert %[[P]]
// CHECK: scf.yield %[[M]]
tile.kernel @scaled(%x: !tile.view<64x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %h = arith.constant dense<0.5> : tensor<64x64xf32>
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32>) {
    %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
    %a = arith.mulf %acc, %h : tensor<64x64xf32>
    %p = tile.mma %t, %t, %a : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %p : tensor<64x64xf32>
  }
  tile.store %s, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// Of fp8 there is no instruction: the operands are cast to the narrowest dtype that has one.
// CHECK-LABEL: tile.kernel @widened
// CHECK-SAME: fallbacks = ["ptx: mma of fp8_e4m3 multiplies in f16"]
// CHECK: %[[W:.*]] = tile.cast {{.*}} : tensor<64x64xf8E4M3FN> -> tensor<64x64xf16>
// CHECK: tile.mma %[[W]], %{{.*}} {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>} : tensor<64x64xf16>, tensor<64x64xf16>
tile.kernel @widened(%x: !tile.view<64x64xf8E4M3FN>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["64", "64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %p = tile.mma %t, %t, %z : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.return
}

// Eight warps do not divide it.
// CHECK-LABEL: tile.kernel @small
// CHECK-SAME: fallbacks = ["ptx: mma of bf16 with a tile of 16x16x16 uses no matrix instruction, because none divides it among 8 warps"]
// CHECK-NOT: fragment
tile.kernel @small(%x: !tile.view<16x16xbf16>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["16", "16"], access = read>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<16x16xf32>
  %t = tile.load %x[%c0, %c0] extents [16, 16] : !tile.view<16x16xbf16> -> tensor<16x16xbf16>
  %p = tile.mma %t, %t, %z : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  tile.return
}
