// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile)' | FileCheck %s

// The metadata denies that a kernel waits unless a `while` loop reads memory, which another thread may be about to write.
// Only such kernels run in the thread that launches them.

// Values alone.
// CHECK: func.func @tsr_kernel_computes(
// CHECK-SAME: may_wait: false
tile.kernel @computes(%o: !tile.view<?xi32>, %N: index) grid ["N"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = readwrite>, #tile.param<name = "N", kind = dim>]} {
  %c1 = arith.constant 1 : i32
  %p = tile.program_id 0 : index
  %n = tile.load_elem %o[%p] : !tile.view<?xi32> -> i32
  %r = scf.while (%v = %n) : (i32) -> i32 {
    %more = arith.cmpi sgt, %v, %c1 : i32
    scf.condition(%more) %v : i32
  } do {
  ^bb0(%v: i32):
    %next = arith.shrsi %v, %c1 : i32
    scf.yield %next : i32
  }
  tile.store_elem %r, %o[%p] : i32, !tile.view<?xi32>
  tile.return
}

// A loop that only writes sees nothing of other threads.
// CHECK: func.func @tsr_kernel_writes(
// CHECK-SAME: may_wait: false
tile.kernel @writes(%o: !tile.view<?xi32>, %n: i32, %N: index) grid ["N"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = write>,
    #tile.param<name = "n", kind = scalar, dtype = i32>, #tile.param<name = "N", kind = dim>]} {
  %c1 = arith.constant 1 : i32
  %p = tile.program_id 0 : index
  %r = scf.while (%v = %n) : (i32) -> i32 {
    %more = arith.cmpi sgt, %v, %c1 : i32
    scf.condition(%more) %v : i32
  } do {
  ^bb0(%v: i32):
    tile.store_elem %v, %o[%p] : i32, !tile.view<?xi32>
    %next = arith.shrsi %v, %c1 : i32
    scf.yield %next : i32
  }
  tile.return
}

// The number of iterations of a `for` loop is known before it begins.
// CHECK: func.func @tsr_kernel_counts(
// CHECK-SAME: may_wait: false
tile.kernel @counts(%o: !tile.view<?xi32>, %N: index) grid ["1"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = readwrite>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %N step %c1 {
    %v = tile.load_elem %o[%i] : !tile.view<?xi32> -> i32
    %r = tile.atomic add relaxed device %v, %o[%c0] : i32, !tile.view<?xi32> -> i32
  }
  tile.return
}

// CHECK: func.func @tsr_kernel_spins(
// CHECK-NOT: may_wait
tile.kernel @spins(%o: !tile.view<?xi32>, %N: index) grid ["1"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = readwrite>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  scf.while : () -> () {
    %v = tile.atomic add acq_rel system %zero, %o[%c0] : i32, !tile.view<?xi32> -> i32
    %more = arith.cmpi eq, %v, %zero : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
  tile.return
}

// CHECK: func.func @tsr_kernel_reads(
// CHECK-NOT: may_wait
tile.kernel @reads(%o: !tile.view<?xi32>, %N: index) grid ["1"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = readwrite>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %r = scf.while (%v = %zero) : (i32) -> i32 {
    %more = arith.cmpi eq, %v, %zero : i32
    scf.condition(%more) %v : i32
  } do {
  ^bb0(%v: i32):
    %next = tile.load_elem %o[%c0] : !tile.view<?xi32> -> i32
    scf.yield %next : i32
  }
  tile.return
}

// In a branch of the loop, and by a slice.
// CHECK: func.func @tsr_kernel_nested(
// CHECK-NOT: may_wait
tile.kernel @nested(%o: !tile.view<?xi32>, %flag: i1, %N: index) grid ["1"] attributes {params = [
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["N"], access = readwrite>,
    #tile.param<name = "flag", kind = scalar, dtype = bool>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %r = scf.while (%v = %zero) : (i32) -> i32 {
    %more = arith.cmpi eq, %v, %zero : i32
    scf.condition(%more) %v : i32
  } do {
  ^bb0(%v: i32):
    %next = scf.if %flag -> (i32) {
      %t = tile.load %o[%c0] extents [8] : !tile.view<?xi32> -> tensor<8xi32>
      %m = tile.reduce max %t axis 0 : tensor<8xi32> -> i32
      scf.yield %m : i32
    } else {
      scf.yield %v : i32
    }
    scf.yield %next : i32
  }
  tile.return
}
