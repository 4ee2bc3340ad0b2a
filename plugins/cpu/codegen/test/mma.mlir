// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile)' | FileCheck %s

// A function per shape, and per way its accumulator begins: with what is there, or with zeros. All products call it,
// those of other kernels too; each image has its own.
// CHECK: func.func private @[[SUM:mma.f32.16x64x32.[0-9]+x[0-9]+]](
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr {llvm.noalias}) attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: math.fma
// CHECK: func.func private @[[FRESH:mma.f32.16x64x32.[0-9]+x[0-9]+.fresh]](
// CHECK: func.func private @[[OTHER:mma.f32.16x32x32.[0-9]+x[0-9]+.fresh]](
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @tsr_kernel_products(
// CHECK-NOT: math.fma
// CHECK: call @[[SUM]](
// CHECK: call @[[SUM]](
// CHECK: call @[[FRESH]](
// CHECK: call @[[OTHER]](
// CHECK-NOT: call
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @tsr_kernel_again(
// CHECK-NOT: math.fma
// CHECK: call @[[SUM]](
tile.kernel @products(%a: !tile.view<16x32xf32>, %b: !tile.view<32x64xf32>, %c: !tile.view<16x64xf32>, %d: !tile.view<16x32xf32>, %e: !tile.view<32x32xf32>) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["16", "32"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["32", "64"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["16", "64"], access = readwrite>,
    #tile.param<name = "d", kind = tensor, dtype = f32, dims = ["16", "32"], access = write>,
    #tile.param<name = "e", kind = tensor, dtype = f32, dims = ["32", "32"], access = read>]} {
  %c0 = arith.constant 0 : index
  %ta = tile.load %a[%c0, %c0] extents [16, 32] : !tile.view<16x32xf32> -> tensor<16x32xf32>
  %tb = tile.load %b[%c0, %c0] extents [32, 64] : !tile.view<32x64xf32> -> tensor<32x64xf32>
  %tc = tile.load %c[%c0, %c0] extents [16, 64] : !tile.view<16x64xf32> -> tensor<16x64xf32>
  %te = tile.load %e[%c0, %c0] extents [32, 32] : !tile.view<32x32xf32> -> tensor<32x32xf32>
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %first = tile.mma %ta, %tb, %tc : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  %second = tile.mma %ta, %tb, %first : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  %fresh = tile.mma %ta, %tb, %zero : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  %sum = arith.addf %second, %fresh : tensor<16x64xf32>
  %square = arith.constant dense<0.0> : tensor<16x32xf32>
  %other = tile.mma %ta, %te, %square : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
  tile.store %sum, %c[%c0, %c0] extents [16, 64] : tensor<16x64xf32>, !tile.view<16x64xf32>
  tile.store %other, %d[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}

tile.kernel @again(%a: !tile.view<16x32xf32>, %b: !tile.view<32x64xf32>, %c: !tile.view<16x64xf32>) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["16", "32"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["32", "64"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["16", "64"], access = readwrite>]} {
  %c0 = arith.constant 0 : index
  %ta = tile.load %a[%c0, %c0] extents [16, 32] : !tile.view<16x32xf32> -> tensor<16x32xf32>
  %tb = tile.load %b[%c0, %c0] extents [32, 64] : !tile.view<32x64xf32> -> tensor<32x64xf32>
  %tc = tile.load %c[%c0, %c0] extents [16, 64] : !tile.view<16x64xf32> -> tensor<16x64xf32>
  %first = tile.mma %ta, %tb, %tc : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  tile.store %first, %c[%c0, %c0] extents [16, 64] : tensor<16x64xf32>, !tile.view<16x64xf32>
  tile.return
}
