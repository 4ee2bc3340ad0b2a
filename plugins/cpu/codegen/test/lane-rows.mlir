// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-lower-tile{target=cpu:x86-64-v3},cse)' | FileCheck %s

// Each lane walks a row of its own. Four steps are read as pieces of eight rows and transposed; what the lanes store is transposed back.
// Steps that are left gather.
// CHECK-LABEL: func.func @tsr_kernel_rows(
// CHECK: scf.for {{.*}} step %c4 iter_args(%{{.*}}) -> (vector<8xf32>)
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: gather
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle {{.*}} [0, 8, 2, 10, 4, 12, 6, 14] : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-4: arith.addf {{.*}} : vector<8xf32>
// CHECK-COUNT-8: llvm.store {{.*}} : vector<4xf32>
// CHECK-NOT: scatter
// CHECK: scf.for {{.*}} step %c1 iter_args(%{{.*}}) -> (vector<8xf32>)
// CHECK: llvm.intr.masked.gather
// CHECK: llvm.intr.masked.scatter
tile.kernel @rows(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %n: index, %K: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n", "K"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n", "K"]>,
    #tile.param<name = "n", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %sum = scf.for %k = %c0 to %K step %c1 iter_args(%s = %zero) -> (f32) {
      %v = tile.load_elem %x[%i, %k] {in_bounds} : !tile.view<?x?xf32> -> f32
      %next = arith.addf %s, %v : f32
      tile.store_elem %next, %y[%i, %k] {in_bounds} : f32, !tile.view<?x?xf32>
      scf.yield %next : f32
    }
  } {tile.lanes}
  tile.return
}

// What is stored may be what a later step loads: its loop goes step by step.
// CHECK-LABEL: func.func @tsr_kernel_updates(
// CHECK-NOT: vector<4xf32>
// CHECK: return
tile.kernel @updates(%x: !tile.view<?x?xf32>, %n: index, %K: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 32 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = readwrite, dims = ["n", "K"]>,
    #tile.param<name = "n", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  %up = arith.subi %K, %c1 : index
  scf.for %i = %first to %end step %c1 {
    scf.for %k = %c0 to %up step %c1 {
      %v = tile.load_elem %x[%i, %k] {in_bounds} : !tile.view<?x?xf32> -> f32
      %e = tile.exp %v : f32
      %right = arith.addi %k, %c1 : index
      tile.store_elem %e, %x[%i, %right] {in_bounds} : f32, !tile.view<?x?xf32>
    }
  } {tile.lanes}
  tile.return
}
