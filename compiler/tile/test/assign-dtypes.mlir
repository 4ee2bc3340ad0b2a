// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{backend=ptx instructions=mma.m16n8k16:f16:bf16,mma.m16n8k32.i8:i8:u8,mma.m16n8k8.tf32:tf32,mma.m8n8k4:f64 unused=tcgen05.mma warps=4}))' | FileCheck %s

// A profile with reduced_multiply lets f32 be rounded, which the instruction's lanes do; the factors stay f32.
// CHECK-LABEL: tile.kernel @fast
// CHECK-SAME: fallbacks = ["ptx: mma of f32 multiplies in tf32", "ptx: mma of f32 uses mma.m16n8k8.tf32, not tcgen05.mma"]
// CHECK-NOT: tile.cast
// CHECK: tile.mma {{.*}} "mma.m16n8k8.tf32"
tile.kernel @fast(%x: !tile.view<64x64xf32>) grid [] attributes {numerics = "fast", params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "64"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %p = tile.mma %t, %t, %z : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %p, %x[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @standard
// CHECK-NOT: fallbacks
// CHECK-NOT: fragment
tile.kernel @standard(%x: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["64", "64"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %p = tile.mma %t, %t, %z : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %p, %x[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// 4096 sums of f64 have 64 registers in each of 128 lanes; 16384 would have 256.
// CHECK-LABEL: tile.kernel @f64
// CHECK: tile.mma {{.*}} "mma.m8n8k4"
// CHECK-NOT: "mma.m8n8k4"
// CHECK: tile.return
tile.kernel @f64(%x: !tile.view<128x128xf64>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f64, dims = ["128", "128"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf64>
  %t = tile.load %x[%c0, %c0] extents [64, 64] : !tile.view<128x128xf64> -> tensor<64x64xf64>
  %p = tile.mma %t, %t, %z : tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>
  tile.store %p, %x[%c0, %c0] extents [64, 64] : tensor<64x64xf64>, !tile.view<128x128xf64>
  %w = arith.constant dense<0.0> : tensor<128x128xf64>
  %u = tile.load %x[%c0, %c0] extents [128, 128] : !tile.view<128x128xf64> -> tensor<128x128xf64>
  %q = tile.mma %u, %u, %w : tensor<128x128xf64>, tensor<128x128xf64>, tensor<128x128xf64>
  tile.store %q, %x[%c0, %c0] extents [128, 128] : tensor<128x128xf64>, !tile.view<128x128xf64>
  tile.return
}
