// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,canonicalize,cse))' | FileCheck %s

// A sum reads zeros already: no mask. A maximum needs -inf in the place of absent elements.
// CHECK-LABEL: tile.kernel @reduce
tile.kernel @reduce(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %i: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["i"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["i"], access = write>, #tile.param<name = "i", kind = dim>]} {
  %c8 = arith.constant 8 : index
  // CHECK-DAG: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[T:.*]] = tile.load
  // CHECK-NOT: tile.mask
  // CHECK: tile.reduce sum %[[T]]
  // CHECK: %[[M:.*]] = tile.mask %[[T]], %[[LOW]] bounds(%{{.*}} to %{{.*}})
  // CHECK: tile.reduce max %[[M]]
  %t = tile.load %x[%c8] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %s = tile.reduce sum %t axis 0 : tensor<64xf32> -> f32
  %m = tile.reduce max %t axis 0 : tensor<64xf32> -> f32
  tile.store_elem %s, %o[%c8] : f32, !tile.view<?xf32>
  tile.store_elem %m, %o[%c8] : f32, !tile.view<?xf32>
  tile.return
}

// Absence follows elementwise ops: exp(0) is 1, so a sum over it is masked; the store gets bounds.
// CHECK-LABEL: tile.kernel @elementwise
tile.kernel @elementwise(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%n] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  // CHECK: %[[E:.*]] = tile.exp
  // CHECK: %[[M:.*]] = tile.mask %[[E]]
  // CHECK: tile.reduce sum %[[M]]
  // CHECK: tile.store %[[E]], %{{.*}} extents [64] bounds(
  %e = tile.exp %t : tensor<64xf32>
  %s = tile.reduce sum %e axis 0 : tensor<64xf32> -> f32
  tile.store_elem %s, %o[%c0] : f32, !tile.view<?xf32>
  tile.store %e, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Factors of a product that are absent along the contraction under the same bounds are zero on both sides; a whole
// factor beside a partly absent one is masked, since 0 * inf is not 0. The product is told where its factors end.
// CHECK-LABEL: tile.kernel @mma
tile.kernel @mma(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %o: !tile.view<?x?xf32>, %n: index) grid []
    attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["n", "n"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["n", "n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n", "n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<8x8xf32>
  // CHECK: %[[X:.*]] = tile.load
  // CHECK: %[[Y:.*]] = tile.load
  // CHECK-NOT: tile.mask
  // CHECK: tile.mma %[[X]], %[[Y]], %{{.*}} limits(%[[M:.*]], %[[N:.*]], %[[K:[a-z0-9_]+]])
  // CHECK: %[[W:.*]] = tile.mask
  // CHECK: tile.mma %[[X]], %[[W]]
  %x = tile.load %a[%c0, %c0] extents [8, 8] : !tile.view<?x?xf32> -> tensor<8x8xf32>
  %y = tile.load %b[%c0, %c0] extents [8, 8] : !tile.view<?x?xf32> -> tensor<8x8xf32>
  %p = tile.mma %x, %y, %z : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  %q = tile.mma %x, %inf, %p : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %q, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<?x?xf32>
  tile.return
}

// A loop-carried tile keeps the elements for which the new value is absent.
// CHECK-LABEL: tile.kernel @carried
tile.kernel @carried(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] =
  // CHECK: %[[NEW:.*]] = arith.maximumf
  // CHECK: %[[PRESENT:.*]] = tile.mask
  // CHECK: %[[KEPT:.*]] = arith.select %[[PRESENT]], %[[NEW]], %[[OLD]]
  // CHECK: scf.yield %[[KEPT]]
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%a = %z) -> (tensor<64xf32>) {
    %t = tile.load %x[%i] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    %m = arith.maximumf %a, %t : tensor<64xf32>
    scf.yield %m : tensor<64xf32>
  }
  tile.store %r, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// An if gives the values of the branch that was taken, absent elements and all: the ends of the box come with them.
// CHECK-LABEL: tile.kernel @branch
tile.kernel @branch(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %c: i1, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>,
    #tile.param<name = "c", kind = scalar, dtype = bool>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %five = arith.constant dense<5.0> : tensor<64xf32>
  // CHECK: %[[R:.*]]:2 = scf.if %c -> (tensor<64xf32>, index) {
  // CHECK: %[[HI:.*]] = arith.maxsi
  // CHECK: scf.yield %{{.*}}, %[[HI]] : tensor<64xf32>, index
  // CHECK: scf.yield %{{.*}}, %c64 : tensor<64xf32>, index
  // CHECK: %[[M:.*]] = tile.mask %[[R]]#0, %{{.*}} bounds(%c0 to %[[R]]#1)
  // CHECK: tile.reduce max %[[M]]
  %r = scf.if %c -> (tensor<64xf32>) {
    %t = tile.load %x[%c0] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
    scf.yield %t : tensor<64xf32>
  } else {
    scf.yield %five : tensor<64xf32>
  }
  %m = tile.reduce max %r axis 0 : tensor<64xf32> -> f32
  tile.store_elem %m, %o[%c0] : f32, !tile.view<?xf32>
  tile.return
}

// The batch of a product is the index of an axis of programs, of which there are as many as the dim has elements: both
// factors end at the same depth, and neither is masked. Any other index may be out of range and empty one of them.
// CHECK-LABEL: tile.kernel @batch
tile.kernel @batch(%a: !tile.view<?x?x?xf32>, %b: !tile.view<?x?x?xf32>, %o: !tile.view<8x8xf32>, %B: index, %M: index, %K: index, %N: index) grid ["M", "B"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["B", "M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["B", "K", "N"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "8"], access = write>,
    #tile.param<name = "B", kind = dim>, #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %other = tile.program_id 0 : index
  %batch = tile.program_id 1 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %x = tile.load %a[%batch, %c0, %c0] extents [-1, 8, 8] : !tile.view<?x?x?xf32> -> tensor<8x8xf32>
  %y = tile.load %b[%batch, %c0, %c0] extents [-1, 8, 8] : !tile.view<?x?x?xf32> -> tensor<8x8xf32>
  // CHECK-NOT: tile.mask
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} limits(
  %p = tile.mma %x, %y, %zero : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %p, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  %z = tile.load %b[%other, %c0, %c0] extents [-1, 8, 8] : !tile.view<?x?x?xf32> -> tensor<8x8xf32>
  // CHECK: tile.mask
  // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} limits(
  %q = tile.mma %x, %z, %zero : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  tile.store %q, %o[%c0, %c0] extents [8, 8] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// A start of which nothing is known is brought near the tensor before anything is added to it or taken from it. The
// start of a program's tile is known not to be negative: a sum of two such is saturated.
// CHECK-LABEL: tile.kernel @starts
tile.kernel @starts(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %s: i64, %n: index) grid ["ceildiv(n, 64)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>,
    #tile.param<name = "s", kind = scalar, dtype = i64>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK: %[[S:.*]] = arith.index_cast %s
  // CHECK: %[[NEAR:.*]] = arith.maxsi %[[S]], %c-64
  // CHECK: arith.subi %c0, %[[NEAR]]
  // CHECK: arith.subi %n, %[[NEAR]]
  %i = arith.index_cast %s : i64 to index
  %t = tile.load %x[%i] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %m = tile.reduce max %t axis 0 : tensor<64xf32> -> f32
  tile.store_elem %m, %o[%c0] : f32, !tile.view<?xf32>
  // CHECK: %[[P:.*]] = tile.program_id 0
  // CHECK: %[[START:.*]] = arith.muli %[[P]], %c64
  // CHECK: arith.subi %n, %[[START]]
  // CHECK: %[[SUM:.*]] = arith.addi %[[START]], %c64
  // CHECK: %[[LEAST:.*]] = arith.minui %[[SUM]], %c9223372036854775807
  // CHECK: arith.subi %n, %[[LEAST]]
  %p = tile.program_id 0 : index
  %start = arith.muli %p, %c64 : index
  %u = tile.load %x[%start] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %um = tile.reduce max %u axis 0 : tensor<64xf32> -> f32
  tile.store_elem %um, %o[%c0] : f32, !tile.view<?xf32>
  %next = arith.addi %start, %c64 : index
  %v = tile.load %x[%next] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %vm = tile.reduce max %v axis 0 : tensor<64xf32> -> f32
  tile.store_elem %vm, %o[%c0] : f32, !tile.view<?xf32>
  tile.return
}

// Axes that stay keep their ends: the store of a row's maximum stops where the rows do, and the maximum itself sees -inf
// in the columns past the end.
// CHECK-LABEL: tile.kernel @rows
tile.kernel @rows(%x: !tile.view<?x?xf32>, %o: !tile.view<64xf32>, %m: index, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["m", "n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load
  // CHECK: %[[FEW:.*]] = arith.minsi %m, %c64
  // CHECK: %[[ROWS:.*]] = arith.maxsi %[[FEW]], %c0
  // CHECK: %[[M:.*]] = tile.mask
  // CHECK: %[[MAX:.*]] = tile.reduce max %[[M]] axis 1
  // CHECK: tile.store %[[MAX]], %{{.*}} extents [64] bounds(%c0 to %[[ROWS]])
  %t = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
  %r = tile.reduce max %t axis 1 : tensor<64x32xf32> -> tensor<64xf32>
  tile.store %r, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// A sum of products ends where each product does: no step keeps elements of the old value, and the maximum over the columns is
// one of those that are in bounds.
// CHECK-LABEL: tile.kernel @products
tile.kernel @products(%a: !tile.view<?x?xf32>, %b: !tile.view<?x?xf32>, %o: !tile.view<64xf32>, %m: index, %k: index, %n: index) grid []
    attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["m", "k"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["k", "n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "k", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %z = arith.constant dense<0.0> : tensor<64x16xf32>
  // CHECK: scf.for
  // CHECK: %[[P:.*]] = tile.mma
  // CHECK-NOT: arith.select
  // CHECK: scf.yield %[[P]]
  // CHECK: tile.mask
  // CHECK: tile.reduce max
  // CHECK: tile.store {{.*}} bounds(
  %r = scf.for %i = %c0 to %k step %c32 iter_args(%acc = %z) -> (tensor<64x16xf32>) {
    %x = tile.load %a[%c0, %i] extents [64, 32] : !tile.view<?x?xf32> -> tensor<64x32xf32>
    %y = tile.load %b[%i, %c0] extents [32, 16] : !tile.view<?x?xf32> -> tensor<32x16xf32>
    %p = tile.mma %x, %y, %acc : tensor<64x32xf32>, tensor<32x16xf32>, tensor<64x16xf32>
    scf.yield %p : tensor<64x16xf32>
  }
  %s = tile.reduce max %r axis 1 : tensor<64x16xf32> -> tensor<64xf32>
  tile.store %s, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// `where` chooses elements in bounds and out of bounds: the store has flags. Before a maximum only the operand that is out of bounds
// is masked.
// CHECK-LABEL: tile.kernel @where
tile.kernel @where(%x: !tile.view<?xf32>, %c: !tile.view<64xi8>, %o: !tile.view<64xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = i8, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %five = arith.constant dense<5.0> : tensor<64xf32>
  %zero = arith.constant dense<0> : tensor<64xi8>
  // CHECK: %[[T:.*]] = tile.load %x
  // CHECK: %[[C:.*]] = arith.cmpi
  // CHECK: %[[R:.*]] = arith.select %[[C]], %[[T]]
  // CHECK: %[[IN:.*]] = tile.mask
  // CHECK: %[[FLAGS:.*]] = arith.select %[[C]], %[[IN]]
  // CHECK: tile.store %[[R]], %{{.*}} extents [64]
  // CHECK-SAME: where %[[FLAGS]] : tensor<64xi1>
  // CHECK: %[[M:.*]] = tile.mask %[[T]]
  // CHECK: %[[FILLED:.*]] = arith.select %[[C]], %[[M]]
  // CHECK: tile.reduce max %[[FILLED]]
  %t = tile.load %x[%c0] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %d = tile.load %c[%c0] extents [64] {in_bounds} : !tile.view<64xi8> -> tensor<64xi8>
  %e = arith.cmpi ne, %d, %zero : tensor<64xi8>
  %r = tile.where %e, %t, %five : tensor<64xi1>, tensor<64xf32>
  tile.store %r, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  %s = tile.reduce max %r axis 0 : tensor<64xf32> -> f32
  tile.store_elem %s, %o[%c0] : f32, !tile.view<64xf32>
  tile.return
}

// A part of a tile is in bounds where the tile is. What fill_masked gives is in bounds everywhere, zeros included.
// CHECK-LABEL: tile.kernel @parts
tile.kernel @parts(%x: !tile.view<?xf32>, %o: !tile.view<64xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tile.load %x[%c0] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  // CHECK: %[[T:.*]] = tile.load %x
  // CHECK: %[[PART:.*]] = tile.slice %[[T]] [48]
  // CHECK: arith.subi %{{.*}}, %c48
  // CHECK: %[[LO:.*]] = arith.minsi
  // CHECK: tile.store %[[PART]], %o[%c0] extents [16] bounds(%{{.*}} to %{{.*}})
  %p = tile.slice %t [48] : tensor<64xf32> -> tensor<16xf32>
  tile.store %p, %o[%c0] extents [16] : tensor<16xf32>, !tile.view<64xf32>
  // A load has zeros there already.
  // CHECK-NOT: tile.mask
  // CHECK: tile.store %{{.*}}, %o[%c0] extents [64] : tensor<64xf32>
  %f = tile.fill_masked %t, %zero : tensor<64xf32>
  tile.store %f, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  // CHECK: %[[FILLED:.*]] = tile.mask
  // CHECK: tile.store %[[FILLED]], %o[%c0] extents [64] : tensor<64xf32>
  %one = arith.constant 1.0 : f32
  %g = tile.fill_masked %t, %one : tensor<64xf32>
  tile.store %g, %o[%c0] extents [64] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// A row that an index chooses is in bounds where the index is inside the tensor: flags. The columns end with the tensor:
// bounds, as do the indices. An index that is out of bounds becomes one outside of the table, so that nothing is read.
// CHECK-LABEL: tile.kernel @gathered
tile.kernel @gathered(%x: !tile.view<?x?xf32>, %k: !tile.view<?xi64>, %o: !tile.view<?x?xf32>, %V: index, %D: index, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["V", "D"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = i64, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n", "D"], access = write>,
    #tile.param<name = "V", kind = dim>, #tile.param<name = "D", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : i64
  // CHECK: %[[K:.*]] = tile.load %k
  // CHECK: %[[I:.*]] = tile.mask %[[K]], %[[NONE]] bounds
  // CHECK: %[[T:.*]] = tile.gather %x[%[[I]], %{{.*}}] extents [-1, 32]
  // CHECK: %[[F:.*]] = arith.cmpi ult, %[[K]], %{{.*}} : tensor<16xi64>
  // CHECK: %[[E:.*]] = tile.expand_dims %[[F]] axis 1
  // CHECK: %[[B:.*]] = tile.broadcast %[[E]] : tensor<16x1xi1> -> tensor<16x32xi1>
  // CHECK: tile.store %[[T]], %o{{.*}} bounds(%{{.*}}) where %[[B]]
  %i = tile.load %k[%c0] extents [16] : !tile.view<?xi64> -> tensor<16xi64>
  %t = tile.gather %x[%i, %c0] extents [-1, 32] : !tile.view<?x?xf32>, tensor<16xi64>, index -> tensor<16x32xf32>
  tile.store %t, %o[%c0, %c0] extents [16, 32] : tensor<16x32xf32>, !tile.view<?x?xf32>
  tile.return
}

// What is not kept is out of bounds: the neutral element of a reduction.
// CHECK-LABEL: tile.kernel @kept
// CHECK: %[[X:.*]] = tile.load
// CHECK-NOT: tile.keep
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[X]], %{{.*}} : tensor<16xi1>, tensor<16xf32>
// CHECK: tile.reduce max %{{.*}} axis 0
tile.kernel @kept(%x: !tile.view<16xf32>, %o: !tile.view<?xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %t = tile.load %x[%c0] extents [16] {in_bounds} : !tile.view<16xf32> -> tensor<16xf32>
  %f = arith.cmpf ogt, %t, %zero : tensor<16xf32>
  %m = tile.keep %t where %f : tensor<16xf32>
  %r = tile.reduce max %m axis 0 : tensor<16xf32> -> f32
  tile.store_elem %r, %o[%c0] : f32, !tile.view<?xf32>
  tile.return
}

// Two results of one if are two masks.
// CHECK-LABEL: tile.kernel @masks_of_an_if
// CHECK: %[[R:.*]]:2 = scf.if
// CHECK: %[[BOTH:.*]] = arith.andi %[[R]]#{{[01]}}, %[[R]]#{{[01]}}
// CHECK: tile.store %{{.*}} where %[[BOTH]]
tile.kernel @masks_of_an_if(%x: !tile.view<16xf32>, %y: !tile.view<16xf32>, %o: !tile.view<16xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %t = tile.load %x[%c0] extents [16] {in_bounds} : !tile.view<16xf32> -> tensor<16xf32>
  %u = tile.load %y[%c0] extents [16] {in_bounds} : !tile.view<16xf32> -> tensor<16xf32>
  %some = arith.cmpi sgt, %n, %c0 : index
  %r:2 = scf.if %some -> (tensor<16xi1>, tensor<16xi1>) {
    %a = arith.cmpf ogt, %t, %zero : tensor<16xf32>
    %b = arith.cmpf ogt, %u, %zero : tensor<16xf32>
    scf.yield %a, %b : tensor<16xi1>, tensor<16xi1>
  } else {
    %a = arith.cmpf olt, %t, %zero : tensor<16xf32>
    %b = arith.cmpf olt, %u, %zero : tensor<16xf32>
    scf.yield %a, %b : tensor<16xi1>, tensor<16xi1>
  }
  %m = tile.keep %t where %r#0 : tensor<16xf32>
  %k = tile.keep %m where %r#1 : tensor<16xf32>
  tile.store %k, %o[%c0] extents [16] {in_bounds} : tensor<16xf32>, !tile.view<16xf32>
  tile.return
}

// Flags of whole rows pass through a maximum along them, without a fill. Of flags that are combined, those that vary along the
// rows end there, as the neutral element.
// CHECK-LABEL: tile.kernel @lines
tile.kernel @lines(%x: !tile.view<16x32xf32>, %k: !tile.view<16xi64>, %o: !tile.view<16xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["16", "32"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = i64, dims = ["16"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %i = tile.load %k[%c0] extents [16] {in_bounds} : !tile.view<16xi64> -> tensor<16xi64>
  // CHECK: %[[T:.*]] = tile.gather
  // CHECK: %[[ROWS:.*]] = arith.cmpi ult, %{{.*}} : tensor<16xi64>
  // CHECK: %[[E:.*]] = tile.exp %[[T]]
  // CHECK: tile.reduce max %[[E]] axis 1
  // CHECK: tile.store %{{.*}} where %[[ROWS]] : tensor<16xi1>
  %t = tile.gather %x[%i, %c0] extents [-1, 32] : !tile.view<16x32xf32>, tensor<16xi64>, index -> tensor<16x32xf32>
  %e = tile.exp %t : tensor<16x32xf32>
  %r = tile.reduce max %e axis 1 : tensor<16x32xf32> -> tensor<16xf32>
  tile.store %r, %o[%c0] extents [16] {in_bounds} : tensor<16xf32>, !tile.view<16xf32>
  // CHECK: %[[SOME:.*]] = arith.cmpf ogt
  // CHECK: %[[ALL:.*]] = arith.andi %{{.*}}, %[[SOME]]
  // CHECK: arith.select %[[ALL]], %[[E]]
  // CHECK: tile.reduce max
  // CHECK: tile.store %{{.*}} where %[[ROWS]] : tensor<16xi1>
  %f = arith.cmpf ogt, %t, %zero : tensor<16x32xf32>
  %m = tile.keep %e where %f : tensor<16x32xf32>
  %s = tile.reduce max %m axis 1 : tensor<16x32xf32> -> tensor<16xf32>
  tile.store %s, %o[%c0] extents [16] {in_bounds} : tensor<16xf32>, !tile.view<16xf32>
  tile.return
}

// A sum of products of gathered rows is masked in the rows that every step masks, which are known before the loop, although their
// indices are read in it. If the indices depend on the step, the step leaves the rows alone that it masks.
// CHECK-LABEL: tile.kernel @gathered_products
tile.kernel @gathered_products(%a: !tile.view<64x64xf32>, %b: !tile.view<64x16xf32>, %k: !tile.view<64xi64>, %o: !tile.view<16x16xf32>) grid []
    attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["64", "64"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["64", "16"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = i64, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["16", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<16x16xf32>
  // CHECK: %[[I:.*]] = tile.load %k
  // CHECK: %[[ROWS:.*]] = arith.cmpi ult, %[[I]]
  // CHECK: %[[FLAGS:.*]] = tile.broadcast %{{.*}} : tensor<16x1xi1> -> tensor<16x16xi1>
  // CHECK: %[[R:.*]] = scf.for
  // CHECK: %[[P:.*]] = tile.mma
  // CHECK-NOT: arith.select
  // CHECK: scf.yield %[[P]]
  // CHECK: tile.store %[[R]], %{{.*}} where %[[FLAGS]]
  %r = scf.for %j = %c0 to %c64 step %c16 iter_args(%acc = %z) -> (tensor<16x16xf32>) {
    %i = tile.load %k[%c0] extents [16] {in_bounds} : !tile.view<64xi64> -> tensor<16xi64>
    %x = tile.gather %a[%i, %j] extents [-1, 16] : !tile.view<64x64xf32>, tensor<16xi64>, index -> tensor<16x16xf32>
    %y = tile.load %b[%j, %c0] extents [16, 16] {in_bounds} : !tile.view<64x16xf32> -> tensor<16x16xf32>
    %p = tile.mma %x, %y, %acc : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    scf.yield %p : tensor<16x16xf32>
  }
  tile.store %r, %o[%c0, %c0] extents [16, 16] {in_bounds} : tensor<16x16xf32>, !tile.view<16x16xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %{{.*}})
  // CHECK: %[[Q:.*]] = tile.mma
  // CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %[[Q]], %[[OLD]]
  // CHECK: scf.yield %[[KEPT]]
  %s = scf.for %j = %c0 to %c64 step %c16 iter_args(%acc = %z) -> (tensor<16x16xf32>) {
    %i = tile.load %k[%j] extents [16] {in_bounds} : !tile.view<64xi64> -> tensor<16xi64>
    %x = tile.gather %a[%i, %c0] extents [-1, 16] : !tile.view<64x64xf32>, tensor<16xi64>, index -> tensor<16x16xf32>
    %y = tile.load %b[%j, %c0] extents [16, 16] {in_bounds} : !tile.view<64x16xf32> -> tensor<16x16xf32>
    %p = tile.mma %x, %y, %acc : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    scf.yield %p : tensor<16x16xf32>
  }
  tile.store %s, %o[%c0, %c0] extents [16, 16] {in_bounds} : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// Products added one after the other have other rows, and the same columns: only the columns are masked.
// CHECK-LABEL: tile.kernel @taps
tile.kernel @taps(%a: !tile.view<?x4xf32>, %b: !tile.view<4x?xf32>, %o: !tile.view<8x16xf32>, %m: index, %n: index) grid []
    attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["m", "4"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["4", "n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "16"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<8x16xf32>
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
  // CHECK: %[[P:.*]] = tile.mma {{.*}} limits(
  // CHECK: %[[Q:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[P]] limits(
  // CHECK: tile.store %[[Q]], %{{.*}} bounds(%[[C0]] to %[[C8]], %[[C0]] to %{{.*}})
  %x = tile.load %a[%c0, %c0] extents [8, 4] : !tile.view<?x4xf32> -> tensor<8x4xf32>
  %y = tile.load %a[%c1, %c0] extents [8, 4] : !tile.view<?x4xf32> -> tensor<8x4xf32>
  %w = tile.load %b[%c0, %c0] extents [4, 16] : !tile.view<4x?xf32> -> tensor<4x16xf32>
  %p = tile.mma %x, %w, %z : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  %q = tile.mma %y, %w, %p : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  tile.store %q, %o[%c0, %c0] extents [8, 16] {in_bounds} : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// A row that a product of gathered rows masks keeps what the sum had before.
// CHECK-LABEL: tile.kernel @gathered_taps
tile.kernel @gathered_taps(%a: !tile.view<64x4xf32>, %b: !tile.view<4x16xf32>, %k: !tile.view<64xi64>, %o: !tile.view<8x16xf32>) grid []
    attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["64", "4"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = f32, dims = ["4", "16"], access = read>,
    #tile.param<name = "k", kind = tensor, dtype = i64, dims = ["64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["8", "16"], access = write>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK-DAG: %[[START:.*]] = arith.constant dense<1.000000e+00>
  %one = arith.constant dense<1.0> : tensor<8x16xf32>
  // CHECK: %[[P:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[START]]
  // CHECK: %[[R:.*]] = arith.select %{{.*}}, %[[P]], %[[START]]
  // CHECK: %[[Q:.*]] = tile.mma %{{.*}}, %{{.*}}, %[[R]]
  // CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[Q]], %[[R]]
  // CHECK: tile.store %[[S]], %{{.*}} extents [8, 16] {in_bounds}
  %i = tile.load %k[%c0] extents [8] {in_bounds} : !tile.view<64xi64> -> tensor<8xi64>
  %j = tile.load %k[%c8] extents [8] {in_bounds} : !tile.view<64xi64> -> tensor<8xi64>
  %x = tile.gather %a[%i, %c0] extents [-1, 4] : !tile.view<64x4xf32>, tensor<8xi64>, index -> tensor<8x4xf32>
  %y = tile.gather %a[%j, %c0] extents [-1, 4] : !tile.view<64x4xf32>, tensor<8xi64>, index -> tensor<8x4xf32>
  %w = tile.load %b[%c0, %c0] extents [4, 16] {in_bounds} : !tile.view<4x16xf32> -> tensor<4x16xf32>
  %p = tile.mma %x, %w, %one : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  %q = tile.mma %y, %w, %p : tensor<8x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>
  tile.store %q, %o[%c0, %c0] extents [8, 16] {in_bounds} : tensor<8x16xf32>, !tile.view<8x16xf32>
  tile.return
}

// A condition of the kernel says that the steps of a walk divide its dim: nothing is out of bounds along it.
// CHECK-LABEL: tile.kernel @divides
tile.kernel @divides(%x: !tile.view<?xf32>, %y: !tile.view<?x?xf32>, %o: !tile.view<?xf32>, %M: index, %K: index) grid ["ceildiv(2*K, 16)"]
    attributes {tile.checks = [{says = "K % 8 == 0", value = "-mod(K, 8)"}], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["2*K"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["M", "K"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["2*K"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c16 : index
  // CHECK: tile.load %x[%{{.*}}] extents [16] {in_bounds}
  // CHECK-NOT: tile.mask
  // CHECK: tile.reduce max
  %t = tile.load %x[%i] extents [16] : !tile.view<?xf32> -> tensor<16xf32>
  %r = tile.reduce max %t axis 0 : tensor<16xf32> -> f32
  %b = tile.broadcast %r : f32 -> tensor<16xf32>
  // CHECK: scf.for
  scf.for %k = %c0 to %K step %c8 {
    // The rows may end within a tile, the columns do not.
    // CHECK: tile.load %y[%{{.*}}] extents [16, 8] : !tile.view<?x?xf32>
    // CHECK: tile.mask %{{.*}} bounds(%{{.*}}, %c0 to %c8)
    // CHECK: tile.reduce max
    %u = tile.load %y[%p, %k] extents [16, 8] : !tile.view<?x?xf32> -> tensor<16x8xf32>
    %m = tile.reduce max %u axis 0 : tensor<16x8xf32> -> tensor<8xf32>
    // One step too far: this is not a walk of 16.
    // CHECK: tile.store %{{.*}}, %o[%{{.*}}] extents [16] : tensor<16xf32>
    %n = arith.addi %i, %c8 : index
    tile.store %b, %o[%n] extents [16] : tensor<16xf32>, !tile.view<?xf32>
    %s = tile.broadcast %r : f32 -> tensor<8xf32>
    %a = arith.addf %m, %s : tensor<8xf32>
    // CHECK: tile.store_elem
    %e = tile.reduce max %a axis 0 : tensor<8xf32> -> f32
    tile.store_elem %e, %o[%k] : f32, !tile.view<?xf32>
  }
  // CHECK: tile.store %{{.*}}, %o[%{{.*}}] extents [16] {in_bounds}
  tile.store %b, %o[%i] extents [16] : tensor<16xf32>, !tile.view<?xf32>
  tile.return
}

// A part of a dim that begins at another dim, or at a parameter of which a condition says that the part is inside.
// CHECK-LABEL: tile.kernel @parts_of_dims
tile.kernel @parts_of_dims(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %o: !tile.view<?xf32>, %s: i64, %K: index, %N: index) grid []
    attributes {tile.checks = [{says = "K % 16 == 0", value = "-mod(K, 16)"}, {says = "s >= 0", value = "s"},
                               {says = "s + K <= N", value = "N - (s + K)"}], params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["2*K"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f32, dims = ["N"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["K"], access = write>,
    #tile.param<name = "s", kind = scalar, dtype = i64>, #tile.param<name = "K", kind = dim>, #tile.param<name = "N", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %first = arith.index_cast %s : i64 to index
  scf.for %k = %c0 to %K step %c16 {
    %i = arith.addi %K, %k : index
    // CHECK: tile.load %x[%{{.*}}] extents [16] {in_bounds}
    %t = tile.load %x[%i] extents [16] : !tile.view<?xf32> -> tensor<16xf32>
    %j = arith.addi %k, %first : index
    // CHECK: tile.load %y[%{{.*}}] extents [16] {in_bounds}
    %u = tile.load %y[%j] extents [16] : !tile.view<?xf32> -> tensor<16xf32>
    // CHECK: tile.load %y[%{{.*}}] extents [16] :
    %l = arith.addi %j, %c1 : index
    %v = tile.load %y[%l] extents [16] : !tile.view<?xf32> -> tensor<16xf32>
    // CHECK: tile.load %y[%{{.*}}] extents [16] :
    %w = tile.load %y[%i] extents [16] : !tile.view<?xf32> -> tensor<16xf32>
    %a = arith.addf %t, %u : tensor<16xf32>
    %b = arith.addf %v, %w : tensor<16xf32>
    %c = arith.addf %a, %b : tensor<16xf32>
    // CHECK: tile.store %{{.*}}, %o[%{{.*}}] extents [16]{{.*}} {in_bounds}
    tile.store %c, %o[%k] extents [16] : tensor<16xf32>, !tile.view<?xf32>
  }
  tile.return
}
