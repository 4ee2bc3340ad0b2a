// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-expand-minmax)' | FileCheck %s

// Whole vectors: the NaN that vrange ignores is put back.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[X:.*]]: vector<16xf32>, %[[Y:.*]]: vector<16xf32>, %[[P:.*]]: vector<8xf64>
// CHECK: %[[MAX:.*]] = llvm.mlir.constant(5 : i32)
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"(%[[X]], %[[Y]], %[[MAX]],
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : vector<16xf32>
// CHECK: %[[IS:.*]] = arith.cmpf uno, %[[X]], %[[Y]]
// CHECK: arith.select %[[IS]], %[[NAN]], %[[R]]
// CHECK: %[[MIN:.*]] = llvm.mlir.constant(4 : i32)
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.range.pd.512"(%[[P]], %[[P]], %[[MIN]],
func.func @whole(%x: vector<16xf32>, %y: vector<16xf32>, %p: vector<8xf64>) -> (vector<16xf32>, vector<8xf64>) {
  %a = arith.maximumf %x, %y : vector<16xf32>
  %b = arith.minimumf %p, %p : vector<8xf64>
  return %a, %b : vector<16xf32>, vector<8xf64>
}

// Other vectors, scalars and constants are left to tile-expand-minmax.
// CHECK-LABEL: func.func @others
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: arith.maximumf
func.func @others(%x: vector<8xf32>, %y: f32, %z: vector<16xf32>) -> (vector<8xf32>, f32, vector<16xf32>) {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %a = arith.maximumf %x, %x : vector<8xf32>
  %b = arith.minimumf %y, %y : f32
  %c = arith.maximumf %z, %zero : vector<16xf32>
  return %a, %b, %c : vector<8xf32>, f32, vector<16xf32>
}
