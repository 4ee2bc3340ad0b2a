// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics,tile-order-reductions,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// One function (values, begin, end, scratch) that loops over its programs. Inside the tensor a plain vector loop, at its
// edge the same body under one mask. The end is the tensor's, so that nothing else needs masks.
// CHECK-LABEL: func.func @tsr_kernel_negate(
// CHECK-SAME: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK-SAME: target.metadata = "name: negate
// CHECK: scf.for
// CHECK: %[[END:.*]] = arith.maxsi
// CHECK-NOT: scf.if
// CHECK: %[[WHOLE:.*]] = arith.subi %[[END]]
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c16
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.negf {{.*}} : vector<16xf32>
// CHECK: llvm.store
// CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[WHOLE]]
// CHECK: %[[MASK:.*]] = arith.cmpi sgt
// CHECK: llvm.intr.masked.load %{{.*}}, %[[MASK]]
// CHECK: llvm.intr.masked.store %{{.*}}, %{{.*}}, %[[MASK]]
// CHECK-NOT: masked
tile.kernel @negate(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c64 : index
  %t = tile.load %x[%i] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %m = arith.negf %t : tensor<64xf32>
  tile.store %m, %o[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// A reduction ends where its mask does: two partial loops over vectors, of which the second has masks.
// CHECK-LABEL: func.func @tsr_kernel_longest(
// CHECK: scf.for
// CHECK: %[[WHOLE:.*]] = arith.select
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c64 iter_args
// CHECK-NOT: masked
// CHECK: arith.maximumf
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %c64 iter_args
// CHECK: llvm.intr.masked.load
// CHECK: arith.select
// CHECK: arith.maximumf
tile.kernel @longest(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["n"], access = write>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %none = arith.constant 0xFF800000 : f32
  %end = arith.minsi %n, %c512 : index
  %t = tile.load %x[%c0] extents [512] : !tile.view<?xf32> -> tensor<512xf32>
  %m = tile.mask %t, %none bounds(%c0 to %end) : tensor<512xf32>
  %s = tile.reduce max %m axis 0 : tensor<512xf32> -> f32
  tile.store_elem %s, %o[%c0] : f32, !tile.view<?xf32>
  tile.return
}
