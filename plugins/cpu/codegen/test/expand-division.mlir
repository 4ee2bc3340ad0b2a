// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-expand-division)' | FileCheck %s

// CHECK-LABEL: func.func @signed(
// CHECK-SAME: %[[X:.*]]: vector<16xi32>, %[[Y:.*]]: vector<16xi32>
// CHECK: %[[A:.*]] = arith.sitofp %[[X]] : vector<16xi32> to vector<16xf64>
// CHECK: %[[B:.*]] = arith.sitofp %[[Y]] : vector<16xi32> to vector<16xf64>
// CHECK: %[[F:.*]] = arith.divf %[[A]], %[[B]] : vector<16xf64>
// CHECK: %[[Q:.*]] = arith.fptosi %[[F]] : vector<16xf64> to vector<16xi32>
// CHECK: return %[[Q]]
func.func @signed(%x: vector<16xi32>, %y: vector<16xi32>) -> vector<16xi32> {
  %q = arith.divsi %x, %y : vector<16xi32>
  return %q : vector<16xi32>
}

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[X:.*]]: vector<16xi16>, %[[Y:.*]]: vector<16xi16>
// CHECK: arith.uitofp {{.*}} : vector<16xi16> to vector<16xf32>
// CHECK: %[[Q:.*]] = arith.fptoui {{.*}} : vector<16xf32> to vector<16xi16>
// CHECK: %[[P:.*]] = arith.muli %[[Q]], %[[Y]]
// CHECK: arith.subi %[[X]], %[[P]]
func.func @narrow(%x: vector<16xi16>, %y: vector<16xi16>) -> vector<16xi16> {
  %r = arith.remui %x, %y : vector<16xi16>
  return %r : vector<16xi16>
}

// The high half of a product of 64 bits is the sum of four products of 32 bits.
// CHECK-LABEL: func.func @byConstant(
// CHECK-SAME: %[[X:.*]]: vector<8xi64>
// CHECK-COUNT-4: arith.muli
// CHECK-NOT: arith.muli
// CHECK: arith.constant dense<1> : vector<8xi64>
// CHECK: arith.shrui
// CHECK-NEXT: %[[Q:.*]] = arith.addi
// CHECK-NEXT: %[[P:.*]] = arith.muli %[[Q]], %{{.*}} : vector<8xi64>
// CHECK: arith.subi %[[X]], %[[P]]
func.func @byConstant(%x: vector<8xi64>) -> vector<8xi64> {
  %seven = arith.constant dense<7> : vector<8xi64>
  %r = arith.remsi %x, %seven : vector<8xi64>
  return %r : vector<8xi64>
}

// Shifts divide by a power of two, and few elements are divided one after the other.
// CHECK-LABEL: func.func @byLlvm(
// CHECK: arith.divsi {{.*}} : vector<8xi64>
// CHECK: arith.divsi {{.*}} : vector<2xi64>
func.func @byLlvm(%x: vector<8xi64>, %y: vector<2xi64>) -> (vector<8xi64>, vector<2xi64>) {
  %eight = arith.constant dense<-8> : vector<8xi64>
  %seven = arith.constant dense<7> : vector<2xi64>
  %q = arith.divsi %x, %eight : vector<8xi64>
  %r = arith.divsi %y, %seven : vector<2xi64>
  return %q, %r : vector<8xi64>, vector<2xi64>
}

// No float has room for 64 bits; a scalar is divided by one instruction; a constant becomes a multiplication.
// CHECK-LABEL: func.func @kept(
// CHECK: arith.divsi {{.*}} : vector<8xi64>
// CHECK: arith.remsi {{.*}} : i32
// CHECK: arith.divui {{.*}} : vector<16xi32>
// CHECK-NOT: arith.divf
func.func @kept(%x: vector<8xi64>, %y: vector<8xi64>, %a: i32, %b: i32, %v: vector<16xi32>)
    -> (vector<8xi64>, i32, vector<16xi32>) {
  %q = arith.divsi %x, %y : vector<8xi64>
  %r = arith.remsi %a, %b : i32
  %seven = arith.constant dense<7> : vector<16xi32>
  %u = arith.divui %v, %seven : vector<16xi32>
  return %q, %r, %u : vector<8xi64>, i32, vector<16xi32>
}
