// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-lower-tile{target=cpu:x86-64-v3},cse)' | FileCheck %s
// RUN: sed 's/vector_bytes = 32/vector_bytes = 64/' %s | tsr-opt -pass-pipeline='builtin.module(cpu-lower-tile{target=cpu:x86-64-v4},cse)' | FileCheck %s --check-prefix=AVX512

// Without AVX-512, two to four columns are not transposed in blocks, whose loads would be masked. Where rows follow each other without gaps,
// vectors of a column are shuffled.
// CHECK-LABEL: func.func @tsr_kernel_turn(
// CHECK: arith.cmpi sle, %[[COLUMNS:.*]], %c4 : index
// CHECK: scf.if
// CHECK: arith.cmpi eq, %[[COLUMNS]], %c2 : index
// CHECK: scf.if
// CHECK-NOT: masked
// CHECK: vector.shuffle {{.*}} [0, 1, 5, 7] : vector<4xf32>, vector<4xf32>
// CHECK: arith.cmpi eq, %[[COLUMNS]], %c3 : index
// CHECK: arith.cmpi eq, %[[COLUMNS]], %c4 : index
// CHECK: masked.load
// AVX512-LABEL: func.func @tsr_kernel_turn(
// AVX512-NOT: vector<4xf32>
// AVX512: masked.load
tile.kernel @turn(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %M: index, %N: index) grid ["ceildiv(N, 8)", "ceildiv(M, 64)"] attributes {scratch_bytes = 2048 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["N", "M"]>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %0 = tile.program_id 0 : index
  %1 = arith.muli %0, %c8 : index
  %2 = tile.program_id 1 : index
  %3 = arith.muli %2, %c64 : index
  %4 = tile.load %x[%3, %1] extents [64, 8] : !tile.view<?x?xf32> -> tensor<64x8xf32>
  %5 = arith.subi %M, %3 : index
  %6 = arith.minsi %5, %c64 : index
  %7 = arith.maxsi %6, %c0 : index
  %8 = arith.subi %N, %1 : index
  %9 = arith.minsi %8, %c8 : index
  %10 = arith.maxsi %9, %c0 : index
  %11 = tile.transpose %4 {tile.scratch = array<i64: 0>} : tensor<64x8xf32> -> tensor<8x64xf32>
  tile.store %11, %y[%1, %3] extents [8, 64] bounds(%c0 to %10, %c0 to %7) : tensor<8x64xf32>, !tile.view<?x?xf32>
  tile.return
}
