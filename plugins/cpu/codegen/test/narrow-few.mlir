// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile{chain-bodies=bf16=bf16.dot},cse)' | FileCheck %s --check-prefix=PAIRS
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=32},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s --check-prefix=SHORT

// Vectors of 32 bytes have no masked loads of 16 bits: only tiles whose columns all exist are read where they are.
// SHORT: func.func private @mma.chain.bf16.f32.bf16.f32.64.whole(
// SHORT-NOT: masked.load %{{.*}}xbf16
// SHORT-LABEL: func.func @tsr_kernel_few(
// SHORT: call @mma.dot.bf16.f32.bf16.f32(
// SHORT: %[[WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c64
// SHORT: arith.andi %{{.*}}, %[[WHOLE]]
// SHORT: call @mma.chain.bf16.f32.bf16.f32.64.whole(
// SHORT: } else {
// SHORT: call @read.bf16.f32.32x64(

// With vectors of 64 bytes few rows multiply a narrow right operand where it is: masked loads, widened.
// CHECK: func.func private @mma.chain.bf16.f32.bf16.f32.64(
// CHECK: llvm.intr.masked.load
// CHECK-LABEL: func.func @tsr_kernel_few(
// CHECK: call @mma.dot.bf16.f32.bf16.f32(
// CHECK-NOT: call @read
// CHECK: call @mma.chain.bf16.f32.bf16.f32.64(
// CHECK: call @read.bf16.f32.32x64(

// Where the archive of products multiplies pairs, it has three rows or more, and fewer stay as they are.
// PAIRS-LABEL: func.func @tsr_kernel_few(
// PAIRS: %[[SEVERAL:.*]] = arith.cmpi sge, %{{.*}}, %c3
// PAIRS: scf.if %[[SEVERAL]] {
// PAIRS-NEXT: call @tsr.p.bf16.dot.rows(
// PAIRS-NEXT: } else {
// PAIRS: call @mma.dot.bf16.f32.bf16.f32(
// PAIRS: call @mma.chain.bf16.f32.bf16.f32.64(
tile.kernel @few(%a: !tile.view<?x?xbf16>, %b: !tile.view<?x?xbf16>, %c: !tile.view<?x?xf32>, %M: index, %K: index, %N: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = bf16, dims = ["K", "N"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["M", "N"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xbf16> -> tensor<64x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %ta, %tb, %zero : tensor<32x64xbf16>, tensor<64x64xbf16>, tensor<32x64xf32>
  tile.store %sum, %c[%row, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<?x?xf32>
  tile.return
}
