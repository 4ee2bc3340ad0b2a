// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=wgmma.m64n8k16,mma.m16n8k16 warps=8}))' | FileCheck %s
// RUN: tsr-opt %s -split-input-file -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=wgmma.m64n8k16,mma.m16n8k16 warps=8}, tile-keep-in-registers{shuffles=true}))' | FileCheck %s --check-prefix=KEPT

// Two warpgroups below each other, each with the widest instruction. The sum is only stored up to its limits,
// which are dropped.
// CHECK-LABEL: tile.kernel @whole
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [8, 1]>}
tile.kernel @whole(%x: !tile.view<128x64xbf16>, %y: !tile.view<64x256xbf16>, %o: !tile.view<?x?xf32>, %m: index, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["128", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["64", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<128x256xf32>
  %a = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xbf16> -> tensor<128x64xbf16>
  %b = tile.load %y[%c0, %c0] extents [64, 256] : !tile.view<64x256xbf16> -> tensor<64x256xbf16>
  %p = tile.mma %a, %b, %z limits(%m, %n, %c64) : tensor<128x64xbf16>, tensor<64x256xbf16>, tensor<128x256xf32>
  tile.store %p, %o[%c0, %c0] extents [128, 256] bounds(%c0 to %m, %c0 to %n) : tensor<128x256xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// The sum has another use, which sees what is past the limits.
// CHECK-LABEL: tile.kernel @limited
// CHECK: tile.mma {{.*}} limits({{.*}}) {fragment = #tile.fragment<64x32x16, "wgmma.m64n8k16", warps = [4, 2]>}
tile.kernel @limited(%x: !tile.view<64x64xbf16>, %o: !tile.view<64xf32>, %m: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "m", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %p = tile.mma %t, %t, %z limits(%m, %m, %m) : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  %s = tile.reduce sum %p axis 1 : tensor<64x64xf32> -> tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// -----

// 32 rows are no whole instruction; a factor that is also stored is in memory row by row.
// CHECK-LABEL: tile.kernel @others
// CHECK: tile.mma {{.*}} "mma.m16n8k16"
// CHECK: tile.mma {{.*}} "mma.m16n8k16"
tile.kernel @others(%x: !tile.view<32x64xbf16>, %y: !tile.view<64x64xbf16>, %o: !tile.view<32x64xf32>, %q: !tile.view<64x64xf32>,
                    %r: !tile.view<64x64xbf16>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["32", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "64"], access = write>,
    #tile.param<name = "q", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>,
    #tile.param<name = "r", kind = tensor, dtype = bf16, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<32x64xf32>
  %w = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] extents [32, 64] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %b = tile.load %y[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %p = tile.mma %a, %b, %z : tensor<32x64xbf16>, tensor<64x64xbf16>, tensor<32x64xf32>
  tile.store %p, %o[%c0, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<32x64xf32>
  %v = tile.mma %b, %b, %w : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %v, %q[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.store %b, %r[%c0, %c0] extents [64, 64] : tensor<64x64xbf16>, !tile.view<64x64xbf16>
  tile.return
}

// -----

// The left factor of the second product is computed of the first one's sums: the instruction takes it from registers, without a
// tile in memory, and both give each warp whole rows. The block has four warps.
// CHECK-LABEL: tile.kernel @chained
// CHECK: tile.mma {{.*}} {fragment = #tile.fragment<64x64x16, "wgmma.m64n8k16", warps = [4, 1]>, trans_b}
// CHECK: tile.mma {{.*}} {fragment = #tile.fragment<64x64x16, "wgmma.m64n8k16", warps = [4, 1]>}
// KEPT-LABEL: tile.kernel @chained
// KEPT: %[[S:.*]] = tile.mma {{.*}} "wgmma.m64n8k16"
// KEPT-NOT: tile.convert %[[S]]
// KEPT: %[[P:.*]] = tile.cast {{.*}} -> tensor<64x64xbf16, #{{.*}}>
// KEPT-NOT: tile.convert %[[P]]
// KEPT: tile.mma %[[P]], {{.*}} "wgmma.m64n8k16"
// KEPT: tile.store {{.*}} : tensor<64x64xf32, #{{.*}}>
tile.kernel @chained(%q: !tile.view<64x64xbf16>, %k: !tile.view<64x64xbf16>, %v: !tile.view<64x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {threads = 128 : i64, params = [
    #tile.param<name = "q", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "v", kind = tensor, dtype = bf16, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %q[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %c = tile.load %v[%c0, %c0] extents [64, 64] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %s = tile.mma %a, %b, %z {trans_b} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  %e = math.exp %s : tensor<64x64xf32>
  %p = tile.cast %e from f32 to bf16 : tensor<64x64xf32> -> tensor<64x64xbf16>
  %t = tile.mma %p, %c, %z : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %t, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}
