// RUN: tsr-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-expand-remainders))' | FileCheck %s
// Long division, 8 digits of the quotient in a step for f32, 11 for f64. f16 is divided in f32.

gpu.module @image {
  // CHECK-LABEL: @single
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 8 : i32
  // CHECK-NOT: arith.remf
  // CHECK: scf.while
  // CHECK: arith.minui %{{.*}}, %[[STEP]]
  // CHECK: arith.remui %{{.*}} : i32
  gpu.func @single(%x: f32, %y: f32, %to: !llvm.ptr<1>) kernel {
    %r = arith.remf %x, %y : f32
    llvm.store %r, %to : f32, !llvm.ptr<1>
    gpu.return
  }
  // CHECK-LABEL: @double
  // CHECK-DAG: arith.constant 11 : i64
  // CHECK: scf.while
  // CHECK: arith.remui %{{.*}} : i64
  gpu.func @double(%x: f64, %y: f64, %to: !llvm.ptr<1>) kernel {
    %r = arith.remf %x, %y : f64
    llvm.store %r, %to : f64, !llvm.ptr<1>
    gpu.return
  }
  // CHECK-LABEL: @half
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK: scf.while
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  gpu.func @half(%x: f16, %y: f16, %to: !llvm.ptr<1>) kernel {
    %r = arith.remf %x, %y : f16
    llvm.store %r, %to : f16, !llvm.ptr<1>
    gpu.return
  }
}
