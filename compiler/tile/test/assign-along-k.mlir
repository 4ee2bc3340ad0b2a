// RUN: tsr-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=wgmma.m64n8k16:f16:bf16,wgmma.m64n8k32:fp8_e4m3:fp8_e5m2:short,wgmma.m64n8k8.tf32:tf32,mma.m16n8k8.tf32:tf32 warps=8}))' | FileCheck %s

// fp8 is read from shared memory along k only. In another order it is multiplied in f16.
// CHECK-LABEL: tile.kernel @fp8
// CHECK-SAME: fallbacks = ["ptx: mma of fp8_e4m3 multiplies in f16, because wgmma.m64n8k32 reads only factors that are stored along k"]
// CHECK: tile.mma {{.*}} {fragment = #tile.fragment<64x{{[0-9]+}}x32, "wgmma.m64n8k32", {{.*}} trans_b} : tensor<64x64xf8E4M3FN>
// CHECK: tile.cast
// CHECK: tile.mma {{.*}} "wgmma.m64n8k16"
tile.kernel @fp8(%x: !tile.view<64x64xf8E4M3FN>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %p = tile.mma %s, %t, %z {trans_b} : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  %u = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %q = tile.mma %u, %u, %p : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.store %q, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

// Sums that are promoted are there twice, which leaves room for 64 of a lane. 128 are those of f16.
// CHECK-LABEL: tile.kernel @promoted
// CHECK-SAME: fallbacks = ["ptx: mma of fp8_e4m3 multiplies in f16, because the sums of wgmma.m64n8k32, which are promoted, take 256 registers of a lane"]
// CHECK-NOT: "wgmma.m64n8k32"
// CHECK: tile.mma {{.*}} "wgmma.m64n8k16"
tile.kernel @promoted(%x: !tile.view<128x64xf8E4M3FN>, %y: !tile.view<256x64xf8E4M3FN>, %o: !tile.view<128x256xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["128", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = fp8_e4m3, dims = ["256", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["128", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<128x256xf32>
  %s = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %t = tile.load %y[%c0, %c0] extents [256, 64] : !tile.view<256x64xf8E4M3FN> -> tensor<256x64xf8E4M3FN>
  %p = tile.mma %s, %t, %z {trans_b} : tensor<128x64xf8E4M3FN>, tensor<256x64xf8E4M3FN>, tensor<128x256xf32>
  tile.store %p, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<128x256xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @unpromoted
// CHECK: tile.mma {{.*}} "wgmma.m64n8k32"
tile.kernel @unpromoted(%x: !tile.view<128x64xf8E4M3FN>, %y: !tile.view<256x64xf8E4M3FN>, %o: !tile.view<128x256xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = fp8_e4m3, dims = ["128", "64"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = fp8_e4m3, dims = ["256", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["128", "256"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<128x256xf32>
  %s = tile.load %x[%c0, %c0] extents [128, 64] : !tile.view<128x64xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %t = tile.load %y[%c0, %c0] extents [256, 64] : !tile.view<256x64xf8E4M3FN> -> tensor<256x64xf8E4M3FN>
  %p = tile.mma %s, %t, %z {trans_b} : tensor<128x64xf8E4M3FN>, tensor<256x64xf8E4M3FN>, tensor<128x256xf32>
  tile.store %p, %o[%c0, %c0] extents [128, 256] : tensor<128x256xf32>, !tile.view<128x256xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @tf32
// CHECK-SAME: fallbacks = ["ptx: mma of f32 multiplies in tf32", "ptx: mma of f32 uses mma.m16n8k8.tf32, because wgmma.m64n8k8.tf32 reads only factors that are stored along k"]
// CHECK: tile.mma {{.*}} "wgmma.m64n8k8.tf32"
// CHECK: tile.mma {{.*}} "mma.m16n8k8.tf32"
tile.kernel @tf32(%x: !tile.view<64x64xf32>, %o: !tile.view<64x64xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %p = tile.mma %s, %t, %z {trans_b} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  %u = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %q = tile.mma %u, %u, %p : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %q, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

#c = #tile.layout<reg = [[0,1], [8,0], [0,8], [0,16]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [32,0]], repeat = [1, 1]>
tile.kernel @order(%x: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "64"], access = read>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x32xf32, #c>
  %s = tile.load %x[%c0, %c0] extents [64, 8] : !tile.view<64x64xf32> -> tensor<64x8xf32>
  %t = tile.load %x[%c0, %c0] extents [8, 32] : !tile.view<64x64xf32> -> tensor<8x32xf32>
  // expected-error @+1 {{by wgmma.m64n8k8.tf32 needs both factors stored along k: a as it is, b with trans_b}}
  %p = tile.mma %s, %t, %z {fragment = #tile.fragment<64x32x8, "wgmma.m64n8k8.tf32", warps = [4, 1]>} : tensor<64x8xf32>, tensor<8x32xf32>, tensor<64x32xf32, #c>
  tile.return
}
