// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics{pairs-of-bf16},tile-plan-memory),cpu-lower-tile)' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize{vector-bytes=32},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile)' | FileCheck %s --check-prefix=SHORT

// With 16 registers: 6 rows by 2 vectors, which are loaded without masks.
// SHORT: func.func private @mma.strided.f32.f32.48.fresh.whole.depth(
// SHORT: scf.for %{{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// SHORT-NOT: llvm.intr.masked.load
// SHORT-COUNT-12: math.fma
// SHORT-NOT: math.fma
// SHORT: scf.yield
// SHORT-LABEL: func.func @tsr_kernel_turned(

// The left operand stays in its tensor: the product gets its address and both strides, exchanged for a transpose.
// CHECK: func.func private @[[F:mma.strided.f32.f32.48.fresh.depth]](
// Its columns are fetched ahead, into the second cache. 8 rows by 3 vectors, then by 2 and by 1 for fewer columns.
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK-COUNT-24: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.yield
// CHECK-LABEL: func.func @tsr_kernel_turned(
// CHECK-NOT: vector.shuffle
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> !llvm.ptr
// CHECK: call @[[F]](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
tile.kernel @turned(%a: !tile.view<?x40xf32>, %b: !tile.view<16x48xf32>, %c: !tile.view<40x48xf32>, %K: index) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["K", "40"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["16", "48"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["40", "48"], access = write>,
    #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant dense<0.0> : tensor<40x48xf32>
  %ta = tile.load %a[%c0, %c0] extents [16, 40] : !tile.view<?x40xf32> -> tensor<16x40xf32>
  %tb = tile.load %b[%c0, %c0] extents [16, 48] : !tile.view<16x48xf32> -> tensor<16x48xf32>
  %p = tile.mma %ta, %tb, %zero limits(%c40, %c48, %K) {tile.strided, trans_a} : tensor<16x40xf32>, tensor<16x48xf32>, tensor<40x48xf32>
  tile.store %p, %c[%c0, %c0] extents [40, 48] : tensor<40x48xf32>, !tile.view<40x48xf32>
  tile.return
}

// Pairs of bf16: the archive of products multiplies the words that the right operand becomes. The left one is read where it
// is, as far as its tensor goes. Words past the depth are not computed.
// CHECK-LABEL: func.func @tsr_kernel_paired(
// CHECK: %[[A:.*]] = llvm.load {{.*}} -> !llvm.ptr
// CHECK: %[[WORDS:.*]] = arith.divui
// CHECK: %[[END:.*]] = arith.minsi %[[WORDS]],
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK: arith.extui {{.*}} : vector<16xi16> to vector<16xi32>
// CHECK: arith.shli {{.*}} : vector<16xi32>
// CHECK: arith.ori {{.*}} : vector<16xi32>
// CHECK: call @tsr.p.bf16.dot.tile(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
tile.kernel @paired(%a: !tile.view<?x40xbf16>, %b: !tile.view<16x48xbf16>, %c: !tile.view<40x48xf32>, %K: index) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["K", "40"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = bf16, dims = ["16", "48"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["40", "48"], access = write>,
    #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant dense<0.0> : tensor<40x48xf32>
  %ta = tile.load %a[%c0, %c0] extents [16, 40] : !tile.view<?x40xbf16> -> tensor<16x40xbf16>
  %tb = tile.load %b[%c0, %c0] extents [16, 48] : !tile.view<16x48xbf16> -> tensor<16x48xbf16>
  %p = tile.mma %ta, %tb, %zero limits(%c40, %c48, %K) {tile.strided, trans_a} : tensor<16x40xbf16>, tensor<16x48xbf16>, tensor<40x48xf32>
  tile.store %p, %c[%c0, %c0] extents [40, 48] : tensor<40x48xf32>, !tile.view<40x48xf32>
  tile.return
}
