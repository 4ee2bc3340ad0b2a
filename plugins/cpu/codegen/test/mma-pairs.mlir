// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=32 vector-registers=16},tile-fuse,tile-legalize-numerics{products=i16},tile-plan-memory),cpu-lower-tile)' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=64 vector-registers=32},tile-fuse,tile-legalize-numerics{products=i16},tile-plan-memory),cpu-lower-tile)' | FileCheck %s --check-prefix=WIDE
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=16 vector-registers=16},tile-fuse,tile-legalize-numerics{products=i16},tile-plan-memory),cpu-lower-tile)' | FileCheck %s --check-prefix=NARROW

// Two steps of k at once. A remaining column is no vector, and an odd depth is one step at a time.
// CHECK: func.func private @mma.i16.i32.16x33x32
// CHECK: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// CHECK: arith.shrsi %{{.*}} : vector<1xi32>
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// NARROW: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
// CHECK: func.func private @mma.i16.i32.16x16x31
// CHECK-NOT: call_intrinsic
// CHECK-LABEL: func.func @tsr_kernel_products(
tile.kernel @products(%a: !tile.view<16x32xi16>, %b: !tile.view<32x33xi8>, %c: !tile.view<16x33xi32>, %d: !tile.view<16x16xi32>) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = i16, dims = ["16", "32"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = i8, dims = ["32", "33"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = i32, dims = ["16", "33"], access = write>,
    #tile.param<name = "d", kind = tensor, dtype = i32, dims = ["16", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %ta = tile.load %a[%c0, %c0] extents [16, 32] : !tile.view<16x32xi16> -> tensor<16x32xi16>
  %tb = tile.load %b[%c0, %c0] extents [32, 33] : !tile.view<32x33xi8> -> tensor<32x33xi8>
  %wb = tile.cast %tb from i8 to i16 : tensor<32x33xi8> -> tensor<32x33xi16>
  %zero = arith.constant dense<0> : tensor<16x33xi32>
  %p = tile.mma %ta, %wb, %zero : tensor<16x32xi16>, tensor<32x33xi16>, tensor<16x33xi32>
  tile.store %p, %c[%c0, %c0] extents [16, 33] : tensor<16x33xi32>, !tile.view<16x33xi32>
  %oa = tile.load %a[%c0, %c0] extents [16, 31] : !tile.view<16x32xi16> -> tensor<16x31xi16>
  %ob = tile.load %a[%c0, %c0] extents [31, 16] : !tile.view<16x32xi16> -> tensor<31x16xi16>
  %none = arith.constant dense<0> : tensor<16x16xi32>
  %q = tile.mma %oa, %ob, %none : tensor<16x31xi16>, tensor<31x16xi16>, tensor<16x16xi32>
  tile.store %q, %d[%c0, %c0] extents [16, 16] : tensor<16x16xi32>, !tile.view<16x16xi32>
  tile.return
}
