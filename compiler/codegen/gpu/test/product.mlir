// RUN: tsr-opt %s --gpu-to-target=target=ptx:sm_90 | FileCheck %s
// RUN: tsr-opt %s --gpu-to-target=target=rocm:gfx90a | FileCheck %s
// RUN: tsr-opt %s --gpu-to-target=target=levelzero:pvc | FileCheck %s
// A register-blocked product of tiles in shared memory: 16 x 16 threads, 2 x 4 accumulators each, two-dimensional
// coordinates, vectors of four, shared memory that the launch sizes.

// CHECK: llvm.mlir.global external @dynamic_shared() {{.*}} : !llvm.array<0 x i8>
// CHECK-COUNT-2: llvm.intr.fma({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
gpu.module @image {
  llvm.mlir.global external @dynamic_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  gpu.func @product(%a: !llvm.ptr<1> {llvm.noalias, llvm.readonly, llvm.align = 16 : i64},
                    %b: !llvm.ptr<1> {llvm.noalias, llvm.readonly, llvm.align = 16 : i64},
                    %c: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %k: index)
      kernel attributes {known_block_size = array<i32: 16, 16, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %shared = llvm.mlir.addressof @dynamic_shared : !llvm.ptr<3>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %row = arith.muli %ty, %c2 : index
    %column = arith.muli %tx, %c4 : index
    %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%acc0 = %zero, %acc1 = %zero) -> (vector<4xf32>, vector<4xf32>) {
      %line = arith.muli %i, %c64 : index
      %bi = arith.addi %line, %column : index
      %b64 = arith.index_cast %bi : index to i64
      %pb = llvm.getelementptr %b[%b64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %vb = llvm.load %pb {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %ps = llvm.getelementptr %shared[%b64] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
      llvm.store %vb, %ps {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
      gpu.barrier
      %vs = llvm.load %ps {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
      %ai = arith.addi %line, %row : index
      %a64 = arith.index_cast %ai : index to i64
      %pa = llvm.getelementptr %a[%a64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %va = llvm.load %pa {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
      %a0 = vector.extract %va[0] : f32 from vector<2xf32>
      %a1 = vector.extract %va[1] : f32 from vector<2xf32>
      %v0 = vector.broadcast %a0 : f32 to vector<4xf32>
      %v1 = vector.broadcast %a1 : f32 to vector<4xf32>
      %n0 = vector.fma %v0, %vs, %acc0 : vector<4xf32>
      %n1 = vector.fma %v1, %vs, %acc1 : vector<4xf32>
      gpu.barrier
      scf.yield %n0, %n1 : vector<4xf32>, vector<4xf32>
    }
    %line = arith.muli %row, %c64 : index
    %ci = arith.addi %line, %column : index
    %c64i = arith.index_cast %ci : index to i64
    %p0 = llvm.getelementptr %c[%c64i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %r#0, %p0 {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    %p1 = llvm.getelementptr %p0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %r#1, %p1 {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
