// RUN: tsr-opt %s --gpu-to-target=target=ptx:sm_90 | FileCheck %s --check-prefixes=CHECK,PTX
// RUN: tsr-opt %s --gpu-to-target=target=rocm:gfx90a | FileCheck %s --check-prefixes=CHECK,ROCM
// RUN: tsr-opt %s --gpu-to-target=target=levelzero:pvc | FileCheck %s --check-prefixes=CHECK,ZE
// A lane per thread, elements outside the tensor masked; functions of math that are instructions, and a division.

// PTX: target.module @ptx attributes {cpu = "sm_90", features = "+ptx84", triple = "nvptx64-nvidia-cuda"}
// ROCM: target.module @rocm attributes {cpu = "gfx90a", triple = "amdgcn-amd-amdhsa"}
// ZE: target.module @levelzero attributes {cpu = "pvc", triple = "spirv64v1.2-unknown-unknown"}
// CHECK: @elementwise(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
// PTX-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>}
// ROCM-SAME: rocdl.flat_work_group_size = "256,256", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>}
// ZE-SAME: intel_reqd_sub_group_size = {{[0-9]+}} : i32, reqd_work_group_size = array<i32: 256, 1, 1>}
// PTX: nvvm.read.ptx.sreg.tid.x range <i32, 0, 256>
// PTX: nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 2147483647>
// ROCM: rocdl.workitem.id.x range <i32, 0, 256>
// ROCM: rocdl.workgroup.id.x
// ZE: llvm.call spir_funccc @_Z12get_local_idj
// ZE: llvm.call spir_funccc @_Z12get_group_idj
// CHECK-NOT: __nv
// CHECK-NOT: __ocml
// CHECK: llvm.intr.fabs
// CHECK: llvm.intr.sqrt
// CHECK: llvm.fdiv
// CHECK: target.kernel_info "elementwise" entry @elementwise metadata "name: elementwise\0A"
gpu.module @image {
  gpu.func @elementwise(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly, llvm.align = 16 : i64},
                        %y: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %n: i64) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, target.metadata = "name: elementwise\0A"} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %size = gpu.block_dim x
    %base = arith.muli %b, %size : index
    %i = arith.addi %base, %t : index
    %at = arith.index_cast %i : index to i64
    %inside = arith.cmpi slt, %at, %n : i64
    scf.if %inside {
      %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %v = llvm.load %from : !llvm.ptr<1> -> f32
      %a = math.absf %v : f32
      %r = math.sqrt %a : f32
      %one = arith.constant 1.0 : f32
      %d = arith.addf %r, %one : f32
      %q = arith.divf %v, %d : f32
      %m = math.fma %q, %q, %v : f32
      %f = math.floor %m : f32
      %g = arith.maximumf %f, %q : f32
      %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %g, %to : f32, !llvm.ptr<1>
    }
    gpu.return
  }
}
