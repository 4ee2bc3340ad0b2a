// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=ptx:sm_80},canonicalize,cse)' | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-plan-memory),gpu-lower-tile{target=levelzero:pvc},canonicalize,cse)' | FileCheck %s

// Where rows begin at multiples of 8 bytes, a thread loads and stores a word of eight elements. Elsewhere it has a byte, of
// which it stores both halves, or updates one: no two threads of a tile write the same byte.
// CHECK-LABEL: gpu.func @tsr_kernel_copy
// CHECK: arith.constant dense<252645135> : vector<1xi32>
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xi8>
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<4xi8>, !llvm.ptr<1>
// CHECK-NOT: llvm.atomicrmw
// CHECK: } else {
// CHECK: scf.if
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<1>
// CHECK: } else {
// CHECK: llvm.atomicrmw _and %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i8
// CHECK: llvm.atomicrmw _or %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i8
// CHECK-NOT: llvm.atomicrmw
tile.kernel @copy(%x: !tile.view<?x?xi4>, %y: !tile.view<?x?xi4>, %m: index, %n: index) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i4, dims = ["m", "n"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = i4, dims = ["m", "n"], access = write>,
    #tile.param<name = "m", kind = dim>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] extents [64, 128] : !tile.view<?x?xi4> -> tensor<64x128xi8>
  tile.store %t, %y[%c0, %c0] extents [64, 128] : tensor<64x128xi8>, !tile.view<?x?xi4>
  tile.return
}
