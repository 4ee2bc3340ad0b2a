// Without AVX-512 a masked store follows a test whether all of its mask is set, and then is a plain store
// (docs/decisions/0181). Rows that a tensor chooses have one mask for each row.
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=32 vector-registers=16},tile-fuse,tile-legalize-numerics,tile-plan-memory))' -o %t.v3.mlir
// RUN: tsr compile %t.v3.mlir --emit asm --target cpu:x86-64-v3 | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=64 vector-registers=32},tile-fuse,tile-legalize-numerics,tile-plan-memory))' -o %t.v4.mlir
// RUN: tsr compile %t.v4.mlir --emit asm --target cpu:x86-64-v4 | FileCheck %s --check-prefix=WIDE

// CHECK: vptest
// CHECK-NEXT: ja
// CHECK-NEXT: vmovups{{[[:space:]]+}}%ymm{{[0-9]+}}, (
// WIDE-NOT: vptest
// WIDE: vmovups{{[[:space:]]+}}%zmm{{[0-9]+}}, {{.*}} {%k
// WIDE-NOT: vptest
module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  tile.kernel @f(%x: !tile.view<?x?xf32>, %c: !tile.view<?xi1>, %y: !tile.view<?x?xf32>, %M: index, %N: index) grid ["ceildiv(M, 8)"] attributes {params = [
      #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
      #tile.param<name = "c", kind = tensor, dtype = bool, access = read, dims = ["M"]>,
      #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["M", "N"]>,
      #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %p = tile.program_id 0 : index
    %i = arith.muli %p, %c8 : index
    %t = tile.load %x[%i, %c0] extents [8, 512] : !tile.view<?x?xf32> -> tensor<8x512xf32>
    %chosen = tile.load %c[%i] extents [8] : !tile.view<?xi1> -> tensor<8xi1>
    %column = tile.expand_dims %chosen axis 1 : tensor<8xi1> -> tensor<8x1xi1>
    %all = tile.broadcast %column : tensor<8x1xi1> -> tensor<8x512xi1>
    tile.store %t, %y[%i, %c0] extents [8, 512] where %all : tensor<8x512xi1> : tensor<8x512xf32>, !tile.view<?x?xf32>
    tile.return
  }
}
