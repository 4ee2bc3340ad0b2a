// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize))' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=32 vector-registers=16}))' | FileCheck %s --check-prefix=AVX2

// The widest register block that the product's columns fill; one that is there is kept.
// CHECK-LABEL: tile.kernel @blocks
// CHECK-SAME: vector_bytes = 64
// AVX2: vector_bytes = 32
tile.kernel @blocks(%o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf32>
  %n = arith.constant dense<1.0> : tensor<64x16xf32>
  %r = arith.constant dense<1.0> : tensor<2x64xf32>
  // CHECK: tile.mma {{.*}} {fragment = #tile.fragment<4x64x1>}
  // AVX2: tile.mma {{.*}} {fragment = #tile.fragment<4x16x1>}
  %p = tile.mma %a, %a, %a : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  // CHECK: tile.mma {{.*}} {fragment = #tile.fragment<14x16x1>}
  %q = tile.mma %a, %n, %n : tensor<64x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>
  // CHECK: tile.mma {{.*}} {fragment = #tile.fragment<2x64x1>}
  %s = tile.mma %r, %a, %r : tensor<2x64xf32>, tensor<64x64xf32>, tensor<2x64xf32>
  // CHECK: tile.mma {{.*}} {fragment = #tile.fragment<4x32x1>}
  %t = tile.mma %a, %a, %a {fragment = #tile.fragment<4x32x1>} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.return
}
