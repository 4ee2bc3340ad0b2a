// RUN: tsr-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-extract-product{dtypes=f32}))' | FileCheck %s

#A = #tile.param<name = "A", kind = tensor, dtype = f32, access = read, dims = ["P", "M", "K"]>
#B = #tile.param<name = "B", kind = tensor, dtype = f32, access = read, dims = ["N", "K"]>
#C = #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["P", "M", "N"]>
#P = #tile.param<name = "P", kind = dim>
#M = #tile.param<name = "M", kind = dim>
#N = #tile.param<name = "N", kind = dim>
#K = #tile.param<name = "K", kind = dim>

// The grid's last axis becomes that of the rows; the kernel only stores the product.
// CHECK-LABEL: tile.kernel @whole(%ts.product: !tile.view<?x?xf32>, %A:
// CHECK-SAME: grid ["P", "ceildiv(N, 64)", "ceildiv(M, 48)"]
// CHECK-SAME: tile.product = {a = 1 : i64, b = 2 : i64, batch_a = array<i64: 0>, batch_b = array<i64: -1>, batch_c = array<i64: 0>, block = array<i64: 48, 64>, c = 3 : i64, has_columns = true, has_rows = true, trans_a = false, trans_b = true}
// CHECK-NOT: scf.for
// CHECK: %[[T:.*]] = tile.load %ts.product
// CHECK: tile.store %[[T]], %C
tile.kernel @whole(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %P: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #P, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%p, %i, %k] extents [-1, 48, 32] : !tile.view<?x?x?xf32> -> tensor<48x32xf32>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xf32>, tensor<64x32xf32>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  tile.return
}

// One tile may be both operands.
// CHECK-LABEL: tile.kernel @square(%ts.product:
// CHECK-SAME: tile.product = {a = 1 : i64, b = 1 : i64
tile.kernel @square(%A: !tile.view<1x?xf32>, %C: !tile.view<1x1xf32>, %K: index) grid [] attributes {params = [
    #tile.param<name = "A", kind = tensor, dtype = f32, access = read, dims = ["1", "K"]>,
    #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["1", "1"]>, #K]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<1x1xf32>
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<1x1xf32>) {
    %a = tile.load %A[%c0, %k] extents [1, 32] : !tile.view<1x?xf32> -> tensor<1x32xf32>
    %s = tile.mma %a, %a, %acc {trans_b} : tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x1xf32>
    scf.yield %s : tensor<1x1xf32>
  }
  tile.store %c, %C[%c0, %c0] extents [1, 1] : tensor<1x1xf32>, !tile.view<1x1xf32>
  tile.return
}

// A sum that begins with something else, or a part of the contraction, is no whole product.
// CHECK-LABEL: tile.kernel @half(%A:
// CHECK: scf.for
tile.kernel @half(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %P: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #P, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %N step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%p, %i, %k] extents [-1, 48, 32] : !tile.view<?x?x?xf32> -> tensor<48x32xf32>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xf32>, tensor<64x32xf32>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  tile.return
}

// A body reads every index of the batch, so those of A must not end before the grid.
#D = #tile.param<name = "A", kind = tensor, dtype = f32, access = read, dims = ["Q", "M", "K"]>
#Q = #tile.param<name = "Q", kind = dim>
// CHECK-LABEL: tile.kernel @outside(%A:
// CHECK: scf.for
tile.kernel @outside(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %P: index, %Q: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#D, #B, #C, #P, #Q, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%p, %i, %k] extents [-1, 48, 32] : !tile.view<?x?x?xf32> -> tensor<48x32xf32>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xf32>, tensor<64x32xf32>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  tile.return
}

// The program also stores in another loop.
#E = #tile.param<name = "E", kind = tensor, dtype = f32, access = write, dims = ["N"]>
// CHECK-LABEL: tile.kernel @stores(%ts.product:
// CHECK-SAME: c = -1 : i64
// CHECK: scf.for
tile.kernel @stores(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %E: !tile.view<?xf32>, %P: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #E, #P, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %a = tile.load %A[%p, %i, %k] extents [-1, 48, 32] : !tile.view<?x?x?xf32> -> tensor<48x32xf32>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xf32>, tensor<64x32xf32>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  %line = arith.constant dense<7.0> : tensor<32xf32>
  scf.for %l = %c0 to %N step %c32 {
    tile.store %line, %E[%l] extents [32] : tensor<32xf32>, !tile.view<?xf32>
  }
  tile.return
}

// Programs that ask for their numbers keep the grid that they have.
// CHECK-LABEL: tile.kernel @numbered(%A:
// CHECK-SAME: grid ["ceildiv(M, 48)", "ceildiv(N, 64)"]
// CHECK: scf.for
#I = #tile.param<name = "I", kind = tensor, dtype = i32, access = write, dims = ["L"]>
#L = #tile.param<name = "L", kind = dim>
#A2 = #tile.param<name = "A", kind = tensor, dtype = f32, access = read, dims = ["M", "K"]>
#C2 = #tile.param<name = "C", kind = tensor, dtype = f32, access = write, dims = ["M", "N"]>
tile.kernel @numbered(%A: !tile.view<?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?xf32>, %I: !tile.view<?xi32>, %M: index, %N: index, %K: index, %L: index) grid ["ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A2, #B, #C2, #I, #M, #N, #K, #L]} {
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
    %a = tile.load %A[%i, %k] extents [48, 32] : !tile.view<?x?xf32> -> tensor<48x32xf32>
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %a, %b, %acc {trans_b} : tensor<48x32xf32>, tensor<64x32xf32>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  %g = tile.group_info group_id : i32
  tile.store_elem %g, %I[%c0] : i32, !tile.view<?xi32>
  tile.store %c, %C[%i, %j] extents [48, 64] : tensor<48x64xf32>, !tile.view<?x?xf32>
  tile.return
}

// Factors that are staged in shared buffers are read where they are.
// CHECK-LABEL: tile.kernel @staged(%ts.product:
// CHECK-SAME: fallbacks = [": swizzle=\22xor\22 has no effect: the product reads its factors where they are"]
// CHECK-SAME: tile.product = {a = 1 : i64, b = 2 : i64,
// CHECK-NOT: tile.alloc_shared
// CHECK-NOT: tile.barrier
// CHECK: tile.load %ts.product
tile.kernel @staged(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %P: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #P, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %sa = tile.alloc_shared : !tile.buffer<48x32xf32, xor>
  %sb = tile.alloc_shared : !tile.buffer<64x32xf32, none>
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    tile.barrier
    tile.cp_async %A[%p, %i, %k] extents [-1, 48, 32] to %sa : !tile.view<?x?x?xf32>, !tile.buffer<48x32xf32, xor>
    tile.cp_async %B[%j, %k] extents [64, 32] to %sb : !tile.view<?x?xf32>, !tile.buffer<64x32xf32, none>
    tile.commit_group
    tile.wait_group 0
    tile.barrier
    %s = tile.mma %sa, %sb, %acc {trans_b} : !tile.buffer<48x32xf32, xor>, !tile.buffer<64x32xf32, none>, tensor<48x64xf32>
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  tile.return
}

// A buffer that is read elsewhere, too, or filled after the product, stays.
// CHECK-LABEL: tile.kernel @late(%A:
// CHECK: scf.for
tile.kernel @late(%A: !tile.view<?x?x?xf32>, %B: !tile.view<?x?xf32>, %C: !tile.view<?x?x?xf32>, %P: index, %M: index, %N: index, %K: index) grid ["P", "ceildiv(M, 48)", "ceildiv(N, 64)"] attributes {params = [#A, #B, #C, #P, #M, #N, #K]} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<48x64xf32>
  %p = tile.program_id 0 : index
  %1 = tile.program_id 1 : index
  %i = arith.muli %1, %c48 : index
  %2 = tile.program_id 2 : index
  %j = arith.muli %2, %c64 : index
  %sa = tile.alloc_shared : !tile.buffer<48x32xf32, none>
  %c = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (tensor<48x64xf32>) {
    %b = tile.load %B[%j, %k] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %s = tile.mma %sa, %b, %acc {trans_b} : !tile.buffer<48x32xf32, none>, tensor<64x32xf32>, tensor<48x64xf32>
    tile.barrier
    tile.cp_async %A[%p, %i, %k] extents [-1, 48, 32] to %sa : !tile.view<?x?x?xf32>, !tile.buffer<48x32xf32, none>
    tile.barrier
    scf.yield %s : tensor<48x64xf32>
  }
  tile.store %c, %C[%p, %i, %j] extents [-1, 48, 64] : tensor<48x64xf32>, !tile.view<?x?x?xf32>
  tile.return
}
