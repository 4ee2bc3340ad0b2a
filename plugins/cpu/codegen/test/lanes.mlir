// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-lower-tile{target=cpu:x86-64-v4},cse)' | FileCheck %s

// The lanes are cut where rows end. The row is one number for a vector; the columns are consecutive, so that a load next
// to the lane's own element is one masked load, whose mask is computed from scalars.
// CHECK-LABEL: func.func @tsr_kernel_rows(
// CHECK: scf.while
// CHECK: %[[R:.*]] = arith.divui
// CHECK: %[[C:.*]] = arith.remui
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[C]]
// CHECK: %[[COUNT:.*]] = arith.minsi %{{.*}}, %[[LEFT]]
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c16
// CHECK-NOT: arith.divui
// CHECK: arith.addi %[[C]], %[[J]]
// CHECK: llvm.intr.masked.load {{.*}} -> vector<16xf32>
// CHECK: llvm.intr.masked.store
// CHECK: scf.if
// CHECK: llvm.intr.masked.load
tile.kernel @rows(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %H: index, %W: index) grid ["ceildiv(H * W, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["H", "W"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["H", "W"]>,
    #tile.param<name = "H", kind = dim>, #tile.param<name = "W", kind = dim>]} {
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %lanes = arith.muli %H, %W : index
  %end = arith.minsi %last, %lanes : index
  scf.for %i = %first to %end step %c1 {
    %r = arith.divui %i, %W : index
    %c = arith.remui %i, %W : index
    %left = arith.subi %c, %c1 : index
    %v = tile.load_elem %x[%r, %left] : !tile.view<?x?xf32> -> f32
    tile.store_elem %v, %y[%r, %c] : f32, !tile.view<?x?xf32>
  } {tile.lanes}
  tile.return
}

// A branch that differs between lanes: a store under a mask, where any lane takes part; arithmetic for all lanes.
// CHECK-LABEL: func.func @tsr_kernel_branch(
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[M:.*]] = arith.cmpf olt, %[[X]], %{{.*}} : vector<16xf32>
// CHECK: arith.mulf %[[X]], %[[X]] : vector<16xf32>
// CHECK: arith.select %[[M]]
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[M]] : vector<16xi1> to i16
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[BITS]]
// CHECK: scf.if %[[ANY]]
// CHECK: llvm.intr.masked.store {{.*}}, %{{.*}}, %[[M]]
tile.kernel @branch(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %v = tile.load_elem %x[%i] : !tile.view<?xf32> -> f32
    %zero = arith.constant 0.0 : f32
    %m = arith.cmpf olt, %v, %zero : f32
    %w = scf.if %m -> (f32) {
      %s = arith.mulf %v, %v : f32
      scf.yield %s : f32
    } else {
      scf.yield %v : f32
    }
    scf.if %m {
      tile.store_elem %w, %y[%i] : f32, !tile.view<?xf32>
    }
  } {tile.lanes}
  tile.return
}

// A loop whose end differs between lanes runs as often as the longest; a lane past its own end keeps its value. An index
// that differs is gathered.
// CHECK-LABEL: func.func @tsr_kernel_loop(
// CHECK: %[[COUNTS:.*]] = arith.select %{{.*}} : vector<16xi1>, vector<16xindex>
// CHECK: vector.reduction <maxui>
// CHECK: scf.for unsigned %[[K:.*]] = %c0 to %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[RUNS:.*]] = arith.cmpi ult, %{{.*}}, %[[COUNTS]] : vector<16xindex>
// CHECK: llvm.intr.masked.gather
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]]
// CHECK: arith.select %[[RUNS]], %[[NEXT]], %[[SUM]]
tile.kernel @loop(%x: !tile.view<?xf32>, %k: !tile.view<?xi64>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "k", kind = tensor, dtype = i64, access = read, dims = ["n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %begin = tile.load_elem %k[%i] : !tile.view<?xi64> -> i64
    %from = arith.index_cast %begin : i64 to index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %from to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %v = tile.load_elem %x[%j] : !tile.view<?xf32> -> f32
      %e = tile.exp %v : f32
      %next = arith.addf %s, %e : f32
      scf.yield %next : f32
    }
    tile.store_elem %sum, %y[%i] : f32, !tile.view<?xf32>
  } {tile.lanes}
  tile.return
}

// The same without a function: gathers alone are faster one by one.
// CHECK-LABEL: func.func @tsr_kernel_sums(
// CHECK-NOT: vector<16
// CHECK: return
tile.kernel @sums(%x: !tile.view<?xf32>, %k: !tile.view<?xi64>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "k", kind = tensor, dtype = i64, access = read, dims = ["n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %begin = tile.load_elem %k[%i] : !tile.view<?xi64> -> i64
    %from = arith.index_cast %begin : i64 to index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %from to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %v = tile.load_elem %x[%j] : !tile.view<?xf32> -> f32
      %next = arith.addf %s, %v : f32
      scf.yield %next : f32
    }
    tile.store_elem %sum, %y[%i] : f32, !tile.view<?xf32>
  } {tile.lanes}
  tile.return
}

// A `while` goes on as long as any lane does, and keeps what lanes had when they left.
// CHECK-LABEL: func.func @tsr_kernel_newton(
// CHECK: scf.while {{.*}} : (vector<16xf32>, vector<16xi1>, vector<16xf32>) -> (vector<16xf32>, vector<16xi1>, vector<16xf32>)
// CHECK: %[[LEFT:.*]] = arith.select
// CHECK: %[[LIVE:.*]] = arith.andi {{.*}} : vector<16xi1>
// CHECK: llvm.bitcast %[[LIVE]]
// CHECK: scf.condition
tile.kernel @newton(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %v = tile.load_elem %x[%i] : !tile.view<?xf32> -> f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %r = scf.while (%a = %v) : (f32) -> f32 {
      %go = arith.cmpf ogt, %a, %one : f32
      scf.condition(%go) %a : f32
    } do {
    ^bb0(%a: f32):
      %h = arith.mulf %a, %half : f32
      scf.yield %h : f32
    }
    tile.store_elem %r, %y[%i] : f32, !tile.view<?xf32>
  } {tile.lanes}
  tile.return
}

// A lane that may wait for another one is executed alone.
// CHECK-LABEL: func.func @tsr_kernel_waits(
// CHECK-NOT: vector<16
// CHECK: llvm.cmpxchg
// CHECK-NOT: vector<16
// CHECK: return
tile.kernel @waits(%x: !tile.view<?xi32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = i32, access = readwrite, dims = ["n"]>,

    #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.while : () -> () {
      %old = tile.atomic_cas acq_rel device %zero, %one, %x[%c0] : i32, !tile.view<?xi32> -> i32
      %held = arith.cmpi ne, %old, %zero : i32
      scf.condition(%held)
    } do {
      scf.yield
    }
    tile.store_elem %zero, %x[%c0] : i32, !tile.view<?xi32>
  } {tile.lanes}
  tile.return
}

// Lanes in the opposite order are one load and a shuffle. Elements two apart are read with those between them, where all of them are in
// bounds.
// CHECK-LABEL: func.func @tsr_kernel_apart(
// CHECK: %[[DESCENDING:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[DESCENDING]], %[[DESCENDING]] [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
// CHECK: scf.if
// CHECK: %[[LOW:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[LOW]], %[[LOW]] [16, 18, 20, 22, 24, 26, 28, 30,
// CHECK: %[[HIGH:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[EVEN]], %[[HIGH]] [0, 1, 2, 3, 4, 5, 6, 7, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK: else
// CHECK: llvm.intr.masked.gather
tile.kernel @apart(%x: !tile.view<?xf32>, %z: !tile.view<?xf32>, %y: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "z", kind = tensor, dtype = f32, access = read, dims = ["n"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n"]>,
    #tile.param<name = "n", kind = dim>]} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %end = arith.minsi %last, %n : index
  scf.for %i = %first to %end step %c1 {
    %before = arith.subi %n, %c1 : index
    %opposite = arith.subi %before, %i : index
    %v = tile.load_elem %x[%opposite] {in_bounds} : !tile.view<?xf32> -> f32
    %twice = arith.muli %i, %c2 : index
    %w = tile.load_elem %z[%twice] : !tile.view<?xf32> -> f32
    %sum = arith.addf %v, %w : f32
    tile.store_elem %sum, %y[%i] {in_bounds} : f32, !tile.view<?xf32>
  } {tile.lanes}
  tile.return
}

// One condition of scalars finds the vectors in which all lanes take the branch and read inside: they have no masks. The
// others have.
// CHECK-LABEL: func.func @tsr_kernel_neighbours(
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c16
// CHECK: %[[C:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK-DAG: %[[ALWAYS:.*]] = arith.cmpi sgt, %[[C]], %c0
// CHECK-DAG: %[[LEFT:.*]] = arith.subi %[[C]], %c1
// CHECK-DAG: arith.cmpi sge, %[[LEFT]], %c0
// CHECK: scf.if %{{.*}} {
// CHECK-NOT: masked
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: } else {
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
tile.kernel @neighbours(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %H: index, %W: index) grid ["ceildiv(H * W, 4096)"] attributes {lanes_per_program = 4096 : i64, scratch_bytes = 0 : i64, shared_bytes = 0 : i64, vector_bytes = 64 : i64, params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["H", "W"]>,
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["H", "W"]>,
    #tile.param<name = "H", kind = dim>, #tile.param<name = "W", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %p = tile.program_id 0 : index
  %first = arith.muli %p, %c4096 : index
  %last = arith.addi %first, %c4096 : index
  %lanes = arith.muli %H, %W : index
  %end = arith.minsi %last, %lanes : index
  scf.for %i = %first to %end step %c1 {
    %r = arith.divui %i, %W : index
    %c = arith.remui %i, %W : index
    %inner = arith.cmpi sgt, %c, %c0 : index
    scf.if %inner {
      %left = arith.subi %c, %c1 : index
      %v = tile.load_elem %x[%r, %left] : !tile.view<?x?xf32> -> f32
      tile.store_elem %v, %y[%r, %c] {in_bounds} : f32, !tile.view<?x?xf32>
    }
  } {tile.lanes}
  tile.return
}
