// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-extract-product{dtypes=bf16,u8},tile-vectorize{vector-bytes=64 vector-registers=32},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile{bodies=bf16=bf16.amx,u8=u8.amx chain-bodies=bf16=bf16.dot})' | FileCheck %s

// The best body of the dtype; that of a chain over k if the profile asks for fixed reductions. Instructions of AMX are
// named in the metadata, and that a call packs operands.
// CHECK-LABEL: func.func @tsr_kernel_best(
// CHECK-SAME: instruction: tdpbf16ps.16x16x32
// CHECK-SAME: shares_operands: true
// CHECK: call @tsr.p.bf16.amx.nt(
// CHECK-LABEL: func.func @tsr_kernel_chain(
// CHECK-NOT: instruction: tdp
// CHECK: call @tsr.p.bf16.dot.nt(
// CHECK-LABEL: func.func @tsr_kernel_bytes(
// CHECK-SAME: instruction: tdpbuud.16x16x64
// CHECK: call @tsr.p.u8.amx.nt(

tile.kernel @best(%A: !tile.view<?x?xbf16>, %B: !tile.view<?x?xbf16>, %C: !tile.view<?x?xf32>, %M: index, %N: index, %K: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [
    #tile.param<name = "A", kind = tensor, dtype = bf16, access = read, dims = ["M", "K"]>,
    #tile.param<name = "B", kind = tensor, dtype = bf16, access = read, dims = ["N", "K"]>,
    #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %0 = tile.program_id 0 : index
  %i = arith.muli %0, %c48 : index
  %1 = tile.program_id 1 : index
  %j = arith.muli %1, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xbf16> -> tensor<48x32xbf16>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xbf16>, tensor<64x32xbf16>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xf32>, !tile.view<?x?xf32>
  tile.return
}

tile.kernel @chain(%A: !tile.view<?x?xbf16>, %B: !tile.view<?x?xbf16>, %C: !tile.view<?x?xf32>, %M: index, %N: index, %K: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [
    #tile.param<name = "A", kind = tensor, dtype = bf16, access = read, dims = ["M", "K"]>,
    #tile.param<name = "B", kind = tensor, dtype = bf16, access = read, dims = ["N", "K"]>,
    #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>, #tile.param<name = "K", kind = dim>], numerics = "strict"} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %0 = tile.program_id 0 : index
  %i = arith.muli %0, %c48 : index
  %1 = tile.program_id 1 : index
  %j = arith.muli %1, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xbf16> -> tensor<48x32xbf16>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xbf16>, tensor<64x32xbf16>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xf32>, !tile.view<?x?xf32>
  tile.return
}

tile.kernel @bytes(%A: !tile.view<?x?xui8>, %B: !tile.view<?x?xui8>, %C: !tile.view<?x?xi32>, %M: index, %N: index, %K: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [
    #tile.param<name = "A", kind = tensor, dtype = u8, access = read, dims = ["M", "K"]>,
    #tile.param<name = "B", kind = tensor, dtype = u8, access = read, dims = ["N", "K"]>,
    #tile.param<name = "C", kind = tensor, dtype = i32, access = write, dims = ["M", "N"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0> : tensor<48x64xi32>
  %0 = tile.program_id 0 : index
  %i = arith.muli %0, %c48 : index
  %1 = tile.program_id 1 : index
  %j = arith.muli %1, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xi32>) {
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xui8> -> tensor<48x32xi8>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xui8> -> tensor<64x32xi8>
    %s = tile.mma %a, %b, %acc unsigned {trans_b} : tensor<48x32xi8>, tensor<64x32xi8>, tensor<48x64xi32>
    scf.yield %s : tensor<48x64xi32>
  }
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xi32>, !tile.view<?x?xi32>
  tile.return
}
