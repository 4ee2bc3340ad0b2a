// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile-expand-math,cpu-expand-scaling)' | FileCheck %s

// CHECK-LABEL: func.func @whole
// CHECK: %[[S:.*]] = math.fma {{.*}} : vector<16xf32>
// CHECK: %[[N:.*]] = arith.subf %[[S]], %{{.*}} : vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @whole(%x: vector<16xf32>) -> vector<16xf32> {
  %y = tile.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// Two vectors at a time, and f64.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: vector.shuffle
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"
func.func @twice(%x: vector<32xf32>, %y: vector<8xf64>) -> (vector<32xf32>, vector<8xf64>) {
  %a = tile.exp2 %x : vector<32xf32>
  %b = tile.exp %y : vector<8xf64>
  return %a, %b : vector<32xf32>, vector<8xf64>
}

// Other vectors, scalars and other multiplications stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scalef
func.func @others(%x: vector<8xf32>, %y: f32, %z: vector<16xf32>) -> (vector<8xf32>, f32, vector<16xf32>) {
  %a = tile.exp %x : vector<8xf32>
  %b = tile.exp %y : f32
  %c = arith.mulf %z, %z : vector<16xf32>
  %d = arith.mulf %c, %z : vector<16xf32>
  return %a, %b, %d : vector<8xf32>, f32, vector<16xf32>
}
