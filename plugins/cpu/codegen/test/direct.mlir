// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// A product of few rows or columns reads its operands where they are; the extents choose when it runs. Only past that
// choice are the operands brought to scratch, and the accumulator is zeroed as far as the store will look.
// CHECK: func.func private @mma.dot.f32.f32(
// CHECK: func.func private @mma.chain.f32.f32.64(
// CHECK: func.func private @read.f32.32x64(
// CHECK: func.func private @mma.f32.32x64x64.{{.*}}.limits(
// CHECK-LABEL: func.func @tsr_kernel_few(
// CHECK: %[[M:.*]] = arith.index_cast
// CHECK: arith.index_cast
// CHECK: %[[ROWS:.*]] = arith.maxsi
// CHECK: arith.maxsi
// CHECK: %[[COLUMNS:.*]] = arith.maxsi
// CHECK: %[[FEWROWS:.*]] = arith.minsi %[[ROWS]], %c32
// CHECK: %[[ROWSLEFT:.*]] = arith.maxsi %[[FEWROWS]], %c0
// CHECK: %[[FEWCOLUMNS:.*]] = arith.minsi %[[COLUMNS]], %c64
// CHECK: %[[COLUMNSLEFT:.*]] = arith.maxsi %[[FEWCOLUMNS]], %c0
// CHECK: %[[ROWEND:.*]] = arith.minsi %[[ROWSLEFT]], %c32
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[ROWEND]]
// CHECK: %[[COLUMNEND:.*]] = arith.minsi %[[COLUMNSLEFT]], %c64
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[COLUMNEND]]
// CHECK-NOT: call @read
// CHECK: arith.cmpi sle, %[[M]], %c24
// CHECK: arith.cmpi sle, %{{.*}}, %c24
// CHECK: scf.if
// CHECK: call @mma.dot.f32.f32(
// CHECK: } else {
// CHECK: arith.cmpi sle, %{{.*}}, %c24
// CHECK: arith.cmpi sle, %{{.*}}, %c64
// CHECK: scf.if
// CHECK: call @mma.chain.f32.f32.64(
// CHECK: } else {
// CHECK: call @read.f32.32x64(
// CHECK: call @read.f32.64x64(
// CHECK: call @mma.f32.32x64x64.{{.*}}.limits(

// The operand of a product is read before the store that may change it.
// CHECK-LABEL: func.func @tsr_kernel_overtaken(
// CHECK: call @read.f32.32x64(
// CHECK: llvm.intr.masked.store
// CHECK: call @mma.chain.f32.f32.64(

// Sizes that are known, and that no few can be: no choice.
// CHECK-LABEL: func.func @tsr_kernel_known(
// CHECK-NOT: call @mma.chain
// CHECK-NOT: call @mma.dot
// CHECK: call @mma.f32.32x64x64.{{.*}}.fresh(
// CHECK: return
tile.kernel @few(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %c: !tile.view<?x?xf32>, %M: index, %K: index, %N: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["K", "N"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "N"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xf32> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  tile.return
}
tile.kernel @overtaken(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %c: !tile.view<?x?xf32>, %M: index, %K: index, %N: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["M", "K"], access = readwrite>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["K", "N"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "N"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xf32> -> tensor<32x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  tile.store %zero, %a[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  tile.return
}
tile.kernel @known(%a: !tile.view<32x64xf32>, %b: !tile.view<64x64xf32>, %c: !tile.view<32x64xf32>) grid [] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["32", "64"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["64", "64"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["32", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %ta = tile.load %a[%c0, %c0] extents [32, 64] {in_bounds} : !tile.view<32x64xf32> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] {in_bounds} : !tile.view<64x64xf32> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%c0, %c0] extents [32, 64] {in_bounds} : tensor<32x64xf32>, !tile.view<32x64xf32>
  tile.return
}
