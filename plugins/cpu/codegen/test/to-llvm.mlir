// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-to-llvm)' | FileCheck %s

// CHECK-LABEL: llvm.func @f(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr {llvm.noalias}, %[[N:.*]]: i64)
// CHECK: %[[X:.*]] = llvm.load %[[P]]
// CHECK: llvm.intr.fma(%[[X]]
// CHECK: llvm.cond_br
// CHECK-NOT: unrealized_conversion_cast
// CHECK: llvm.return
func.func @f(%p: !llvm.ptr {llvm.noalias}, %n: i64) {
  %x = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %y = math.fma %x, %x, %x : vector<16xf32>
  %zero = arith.constant 0 : i64
  %c = arith.cmpi sgt, %n, %zero : i64
  cf.cond_br %c, ^store, ^end
^store:
  llvm.store %y, %p : vector<16xf32>, !llvm.ptr
  cf.br ^end
^end:
  return
}
