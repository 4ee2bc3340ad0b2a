// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// One function (values, begin, end, scratch) that loops over its programs. Inside the tensor a plain vector loop, at its
// edge the same loop under masks.
// CHECK-LABEL: func.func @tsr_kernel_negate(
// CHECK-SAME: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK-SAME: target.metadata = "name: negate
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.negf {{.*}} : vector<16xf32>
// CHECK: llvm.store
// CHECK: } else {
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
tile.kernel @negate(%x: !tile.view<?xf32>, %o: !tile.view<?xf32>, %n: index) grid ["ceildiv(n, 64)"] attributes {params = [
    {name = "x", kind = "tensor", dtype = "f32", dims = ["n"], access = "read"},
    {name = "o", kind = "tensor", dtype = "f32", dims = ["n"], access = "write"}, {name = "n", kind = "dim"}]} {
  %c64 = arith.constant 64 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c64 : index
  %t = tile.load %x[%i] extents [64] : !tile.view<?xf32> -> tensor<64xf32>
  %m = arith.negf %t : tensor<64xf32>
  tile.store %m, %o[%i] extents [64] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}
