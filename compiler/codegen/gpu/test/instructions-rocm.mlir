// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mfma.32x32x16.i8,mfma.16x16x32.i8 warps=4},tile-vectorize{threads=256},tile-fuse,tile-legalize-numerics{backend=rocm},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=rocm:gfx942},canonicalize,cse)' | FileCheck %s --check-prefix=BYTES
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=mfma.32x32x8,mfma.16x16x16 warps=4},tile-vectorize{threads=256},tile-fuse,tile-legalize-numerics{backend=rocm},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=rocm:gfx942},canonicalize,cse)' | FileCheck %s --check-prefixes=CHECK,MFMA
// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts{instructions=wmma.16x16x16 warps=8},tile-vectorize{threads=256},tile-fuse,tile-legalize-numerics{backend=rocm},tile-order-reductions{threads=256},tile-plan-memory),gpu-lower-tile{target=rocm:gfx1100},canonicalize,cse)' | FileCheck %s --check-prefixes=CHECK,WMMA

// Rows of A are loaded as vectors; of B, whose lanes hold columns, pairs of columns, each of which is of another instruction
// (docs/decisions/0127). Warps that multiply have priority.
// CHECK-LABEL: gpu.func @tsr_kernel_bf16
// MFMA-DAG: %[[HIGH:.*]] = llvm.mlir.constant(117834498 : i32) : i32
// MFMA-DAG: %[[LOW:.*]] = llvm.mlir.constant(84148480 : i32) : i32
// MFMA: rocdl.s.setprio 1
// MFMA-NEXT: %{{.*}}:16 = scf.for
// MFMA-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xi16>
// MFMA: %[[A:.*]] = llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// MFMA: %[[B:.*]] = llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// MFMA-COUNT-2: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// MFMA-NEXT: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[B]], %[[A]], %[[LOW]])
// MFMA: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[B]], %[[A]], %[[HIGH]])
// MFMA-COUNT-4: rocdl.mfma.f32.16x16x16bf16.1k
// MFMA: rocdl.s.setprio 0
// WMMA-NOT: setprio
// WMMA: %{{.*}}:16 = scf.for
// WMMA-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xi16>
// WMMA-COUNT-16: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// WMMA-COUNT-16: llvm.call_intrinsic "llvm.amdgcn.perm"
// WMMA: rocdl.wmma.f32.16x16x16.bf16
// CHECK-NOT: math.fma
tile.kernel @bf16(%x: !tile.view<64x32xbf16>, %y: !tile.view<32x64xbf16>, %o: !tile.view<64x64xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = bf16, dims = ["64", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = bf16, dims = ["32", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<64x32xbf16> -> tensor<64x32xbf16>
  %b = tile.load %y[%c0, %c0] extents [32, 64] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %p = tile.mma %a, %b, %z : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// Four waves divide 32 x 32 among smaller instructions; eight do not divide it.
// CHECK-LABEL: gpu.func @tsr_kernel_f16
// MFMA: rocdl.mfma.f32.16x16x16f16
// MFMA-NOT: math.fma
// WMMA-NOT: rocdl.wmma
// WMMA: math.fma
tile.kernel @f16(%x: !tile.view<32x16xf16>, %y: !tile.view<16x32xf16>, %o: !tile.view<32x32xf32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f16, dims = ["32", "16"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = f16, dims = ["16", "32"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["32", "32"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<32x32xf32>
  %a = tile.load %x[%c0, %c0] extents [32, 16] : !tile.view<32x16xf16> -> tensor<32x16xf16>
  %b = tile.load %y[%c0, %c0] extents [16, 32] : !tile.view<16x32xf16> -> tensor<16x32xf16>
  %p = tile.mma %a, %b, %z : tensor<32x16xf16>, tensor<16x32xf16>, tensor<32x32xf32>
  tile.store %p, %o[%c0, %c0] extents [32, 32] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}

// Words of four columns become one register of each of four instructions by eight permutations for four rows.
// BYTES-LABEL: gpu.func @tsr_kernel_bytes
// BYTES: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<8xi8>
// BYTES-NOT: llvm.load {{.*}} -> i8
// BYTES-COUNT-8: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// BYTES-COUNT-16: llvm.call_intrinsic "llvm.amdgcn.perm"
// BYTES-NOT: llvm.amdgcn.perm
// BYTES-COUNT-4: rocdl.mfma.i32.16x16x32.i8
tile.kernel @bytes(%x: !tile.view<64x32xi8>, %y: !tile.view<32x64xi8>, %o: !tile.view<64x64xi32>) grid [] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = i8, dims = ["64", "32"], access = read>,
    #tile.param<name = "y", kind = tensor, dtype = i8, dims = ["32", "64"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = i32, dims = ["64", "64"], access = write>]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.load %x[%c0, %c0] extents [64, 32] : !tile.view<64x32xi8> -> tensor<64x32xi8>
  %b = tile.load %y[%c0, %c0] extents [32, 64] : !tile.view<32x64xi8> -> tensor<32x64xi8>
  %p = tile.mma %a, %b, %z : tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32>
  tile.store %p, %o[%c0, %c0] extents [64, 64] : tensor<64x64xi32>, !tile.view<64x64xi32>
  tile.return
}
