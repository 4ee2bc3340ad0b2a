// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-legalize-bounds,tile-vectorize{vector-bytes=32 vector-registers=16},tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,canonicalize,cse)' | FileCheck %s

// A vector of 8 elements at the end of a row: plain stores of 4, 2 and 1, where AVX's masked store is slow. A row that is
// past the tensor's end is not touched: its masked load goes to the tensor's first element.
// A whole vector of a large result is stored past the caches where its address is a multiple of its size. Vectors of half a line
// need rows of whole lines, or long ones (docs/decisions/0187).
// CHECK-LABEL: func.func @tsr_kernel_rows(
// CHECK-NOT: masked.store
// CHECK: %[[IS_LARGE:.*]] = arith.cmpi uge, %{{.*}}, %c16777216
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c4 : index
// CHECK: %[[REST:.*]] = arith.remui %[[ROW]], %c64
// CHECK: %[[IS_LONG:.*]] = arith.cmpi uge, %[[ROW]], %c4096
// CHECK: %[[ARE_LINES:.*]] = arith.cmpi eq, %[[REST]], %c0
// CHECK: %[[WHOLE:.*]] = arith.ori %[[IS_LONG]], %[[ARE_LINES]]
// CHECK: %[[LARGE:.*]] = arith.andi %[[IS_LARGE]], %[[WHOLE]]
// CHECK: %[[BITS:.*]] = arith.select %[[LARGE]], %c31_i64, %c-1_i64
// CHECK: arith.andi %{{.*}}, %[[BITS]]
// CHECK: llvm.store %{{.*}} {alignment = 32 : i64, nontemporal} : vector<8xf32>, !llvm.ptr
// CHECK: else
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK: %[[FROM:.*]] = arith.select %[[EMPTY]], %{{.*}}, %{{.*}} : !llvm.ptr
// CHECK: llvm.intr.masked.load %[[FROM]]
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr
// CHECK: else
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr
// CHECK: llvm.store %{{.*}} : vector<1xf32>, !llvm.ptr
// CHECK-NOT: masked.store
// CHECK: scf.if %[[LARGE]]
// CHECK: llvm.fence seq_cst
// CHECK: return
tile.kernel @rows(%x: !tile.view<?x?xf32>, %o: !tile.view<?x?xf32>, %r: index, %c: index) grid ["ceildiv(r, 8)"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["r", "c"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["r", "c"], access = write>,
    #tile.param<name = "r", kind = dim>, #tile.param<name = "c", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = tile.program_id 0 : index
  %i = arith.muli %p, %c8 : index
  %t = tile.load %x[%i, %c0] extents [8, 32] : !tile.view<?x?xf32> -> tensor<8x32xf32>
  %m = arith.negf %t : tensor<8x32xf32>
  tile.store %m, %o[%i, %c0] extents [8, 32] : tensor<8x32xf32>, !tile.view<?x?xf32>
  tile.return
}
