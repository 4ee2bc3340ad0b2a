// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=tcgen05.m128n16k16,tcgen05.m64n8k16,mma.m16n8k16 unused=tcgen05.mma warps=8}))' | FileCheck %s

// One instruction has all columns; the warps share them. Each product has its own columns of tensor memory, of
// which 512 are there: the third one has no room.
// CHECK-LABEL: tile.kernel @whole
// CHECK-SAME: fallbacks = ["ptx: mma of bf16 uses mma.m16n8k16, not tcgen05.mma"]
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} {fragment = #tile.fragment<128x256x16, "tcgen05.m128n16k16", warps = [4, 2]>}
// CHECK: tile.mma {{.*}} {fragment = #tile.fragment<128x256x16, "tcgen05.m128n16k16", warps = [4, 2]>}
// CHECK: tile.mma {{.*}} "mma.m16n8k16"
tile.kernel @whole(%x: !tile.view<128x64xbf16>, %y: !tile.view<64x256xbf16>, %o: !tile.view<128x256xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["128", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["64", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["128", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<128x256xf32>
  %a = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %y[%c0, %c0] extents [64, 256] : !tile.view<64x256xbf16> -> tensor<64x256xbf16>
  %p = tile.mma %a, %b, %z : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32>
  tile.store %p, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<128x256xf32>
  %a2 = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xbf16> -> tensor<128x64xbf16>
  %b2 = tile.load %y[%c0, %c0] extents [64, 256] : !tile.view<64x256xbf16> -> tensor<64x256xbf16>
  %q = tile.mma %a2, %b2, %z : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32>
  tile.store %q, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<128x256xf32>
  %a3 = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xbf16> -> tensor<128x64xbf16>
  %b3 = tile.load %y[%c0, %c0] extents [64, 256] : !tile.view<64x256xbf16> -> tensor<64x256xbf16>
  %r = tile.mma %a3, %b3, %z : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32>
  tile.store %r, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<128x256xf32>
  tile.return
}

// -----

// A factor that is computed from sums would go through memory: both products stay in registers.
// CHECK-LABEL: tile.kernel @chain
// CHECK-COUNT-2: tile.mma {{.*}} "mma.m16n8k16"
tile.kernel @chain(%x: !tile.view<64x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %s = tile.mma %a, %a, %z {trans_b} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  %t = tile.cast %s from f32 to bf16 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %p = tile.mma %t, %a, %z : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

// 64 rows are an instruction of their own; 32 are none.
// CHECK-LABEL: tile.kernel @rows
// CHECK: tile.mma {{.*}} {fragment = #tile.fragment<64x64x16, "tcgen05.m64n8k16", warps = [4, 2]>}
// CHECK: tile.mma {{.*}} "mma.m16n8k16"
tile.kernel @rows(%x: !tile.view<64x64xbf16>, %y: !tile.view<32x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["32", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %w = arith.constant dense<0.0> : tensor<32x64xf32>
  %a = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %y[%c0, %c0] extents [32, 64] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %p = tile.mma %a, %a, %z : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  %c = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %q = tile.mma %b, %c, %w : tensor<32x64xbf16>, tensor<64x64xbf16>, tensor<32x64xf32>
  tile.store %q, %o[%c0, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<64x64xf32>
  tile.return
}
