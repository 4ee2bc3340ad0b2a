// RUN: tsr-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-min-max{target=ptx:sm_80}))' | FileCheck %s
// RUN: tsr-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-min-max{target=ptx:sm_75}))' | FileCheck %s --check-prefix=OTHER
// RUN: tsr-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-min-max{target=rocm:gfx942}))' | FileCheck %s --check-prefix=OTHER
// RUN: tsr-opt %s --pass-pipeline='builtin.module(gpu.module(gpu-min-max{target=levelzero:pvc}))' | FileCheck %s --check-prefix=OTHER
// min.NaN and max.NaN came with sm_80; AMD's and Intel's instructions prefer the number to a NaN.

gpu.module @image {
  // CHECK-LABEL: @single
  // CHECK: %[[MAX:.*]] = llvm.intr.maximum(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
  // CHECK: llvm.intr.minimum(%[[MAX]], %{{.*}}) : (f32, f32) -> f32
  // CHECK-NOT: arith.m{{ax|in}}imumf
  // OTHER-LABEL: @single
  // OTHER-NOT: llvm.intr
  // OTHER: arith.maximumf
  // OTHER: arith.minimumf
  gpu.func @single(%x: f32, %y: f32, %to: !llvm.ptr<1>) kernel {
    %one = arith.constant 1.0 : f32
    %r = arith.maximumf %x, %y : f32
    %s = arith.minimumf %r, %one : f32
    llvm.store %s, %to : f32, !llvm.ptr<1>
    gpu.return
  }
  // CHECK-LABEL: @vector
  // CHECK: llvm.intr.maximum(%{{.*}}, %{{.*}}) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  gpu.func @vector(%x: vector<8xf32>, %y: vector<8xf32>, %to: !llvm.ptr<1>) kernel {
    %r = arith.maximumf %x, %y : vector<8xf32>
    llvm.store %r, %to : vector<8xf32>, !llvm.ptr<1>
    gpu.return
  }
  // There are no such instructions of f64.
  // CHECK-LABEL: @double
  // CHECK-NOT: llvm.intr
  // CHECK: arith.maximumf %{{.*}} : f64
  gpu.func @double(%x: f64, %y: f64, %to: !llvm.ptr<1>) kernel {
    %r = arith.maximumf %x, %y : f64
    llvm.store %r, %to : f64, !llvm.ptr<1>
    gpu.return
  }
}
