// RUN: tsr-opt %s --gpu-to-target=target=ptx:sm_80 | FileCheck %s --check-prefixes=CHECK,PTX
// RUN: tsr-opt %s --gpu-to-target=target=rocm:gfx1100 | FileCheck %s --check-prefixes=CHECK,ROCM
// RUN: tsr-opt %s --gpu-to-target=target=levelzero:pvc | FileCheck %s --check-prefixes=CHECK,ZE
// The block's tree through shared memory, a barrier between its levels, and a grid-wide stride.

// CHECK: llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>
// PTX: nvvm.read.ptx.sreg.nctaid.x
// ROCM: llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"
// ZE: @_Z14get_num_groupsj
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// PTX: nvvm.barrier
// ROCM: llvm.fence syncscope("workgroup") release
// ROCM-NEXT: rocdl.s.barrier
// ROCM-NEXT: llvm.fence syncscope("workgroup") acquire
// ZE: llvm.call spir_funccc @_Z7barrierj(%{{.*}}) {convergent}
gpu.module @image {
  llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>
  gpu.func @reduction(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %y: !llvm.ptr<1> {llvm.noalias}, %n: index)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %blocks = gpu.grid_dim x
    %first = arith.muli %b, %c256 : index
    %start = arith.addi %first, %t : index
    %step = arith.muli %blocks, %c256 : index
    %mine = scf.for %i = %start to %n step %step iter_args(%sum = %zero) -> f32 {
      %at = arith.index_cast %i : index to i64
      %p = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %v = llvm.load %p : !llvm.ptr<1> -> f32
      %square = arith.mulf %v, %v : f32
      %next = arith.addf %sum, %square : f32
      scf.yield %next : f32
    }
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %lane = arith.index_cast %t : index to i64
    %slot = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    llvm.store %mine, %slot : f32, !llvm.ptr<3>
    gpu.barrier
    %end = scf.while (%half = %c128) : (index) -> index {
      %more = arith.cmpi sge, %half, %c1 : index
      scf.condition(%more) %half : index
    } do {
    ^bb0(%half: index):
      %active = arith.cmpi slt, %t, %half : index
      scf.if %active {
        %o = arith.addi %t, %half : index
        %other = arith.index_cast %o : index to i64
        %q = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
        %u = llvm.load %q : !llvm.ptr<3> -> f32
        %v = llvm.load %slot : !llvm.ptr<3> -> f32
        %s = arith.addf %u, %v : f32
        llvm.store %s, %slot : f32, !llvm.ptr<3>
      }
      gpu.barrier
      %quarter = arith.divui %half, %c2 : index
      scf.yield %quarter : index
    }
    %leader = arith.cmpi eq, %t, %c0 : index
    scf.if %leader {
      %s = llvm.load %shared : !llvm.ptr<3> -> f32
      %at = arith.index_cast %b : index to i64
      %p = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %s, %p : f32, !llvm.ptr<1>
    }
    gpu.return
  }
}
