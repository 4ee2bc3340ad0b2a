// RUN: tsr-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-extract-product{dtypes=bf16,u8}))' | FileCheck %s

#A = #tile.param<name = "A", kind = tensor, dtype = bf16, access = read, dims = ["M", "K"]>
#B = #tile.param<name = "B", kind = tensor, dtype = bf16, access = read, dims = ["K", "N"]>
#C = #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["M", "N"]>
#U = #tile.param<name = "A", kind = tensor, dtype = u8, access = read, dims = ["M", "K"]>
#V = #tile.param<name = "B", kind = tensor, dtype = u8, access = read, dims = ["K", "N"]>
#W = #tile.param<name = "C", kind = tensor, dtype = i32, access = write, dims = ["M", "N"]>
#M = #tile.param<name = "M", kind = dim>
#N = #tile.param<name = "N", kind = dim>
#K = #tile.param<name = "K", kind = dim>

// Narrow operands are summed in f32, the dtype of the product.
// CHECK-LABEL: tile.kernel @narrow(%ts.product: !tile.view<?x?xf32>, %A:
// CHECK-SAME: <name = "ts.product", kind = tensor, dtype = f32
// CHECK-NOT: scf.for
tile.kernel @narrow(%A: !tile.view<?x?xbf16>, %B: !tile.view<?x?xbf16>, %C: !tile.view<?x?xf32>, %M: index, %N: index, %K: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %1 = tile.program_id 0 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 1 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xbf16> -> tensor<48x32xbf16>
    %b = tile.load %B[%k, %j] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
    %s = tile.mma %a, %b, %acc : tensor<48x32xbf16>, tensor<32x64xbf16>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xf32>, !tile.view<?x?xf32>
  tile.return
}

// Unsigned bytes.
// CHECK-LABEL: tile.kernel @unsigned(%ts.product: !tile.view<?x?xi32>, %A:
// CHECK-SAME: #tile.param<name = "ts.product", kind = tensor, dtype = i32
// CHECK-SAME: tile.product =
// CHECK-NOT: scf.for
tile.kernel @unsigned(%A: !tile.view<?x?xui8>, %B: !tile.view<?x?xui8>, %C: !tile.view<?x?xi32>, %M: index, %N: index, %K: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#U, #V, #W, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0> : tensor<48x64xi32>
  %1 = tile.program_id 0 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 1 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xi32>) {
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xui8> -> tensor<48x32xi8>
    %b = tile.load %B[%k, %j] extents [32, 64] : !tile.view<?x?xui8> -> tensor<32x64xi8>
    %s = tile.mma %a, %b, %acc {is_unsigned} : tensor<48x32xi8>, tensor<32x64xi8>, tensor<48x64xi32>
    scf.yield %s : tensor<48x64xi32>
  }
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xi32>, !tile.view<?x?xi32>
  tile.return
}
