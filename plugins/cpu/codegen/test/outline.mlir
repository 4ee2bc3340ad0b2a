// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-outline{large=14 part=8})' -split-input-file | FileCheck %s
// RUN: tsr-opt %s -pass-pipeline='builtin.module(cpu-outline)' -split-input-file | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: part

// A function of bounded size stays whole.
// CHECK-LABEL: module
// CHECK-NOT: .part
// CHECK-LABEL: func.func @small(
// CHECK: scf.for
func.func @small(%p: !llvm.ptr {llvm.noalias}, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %p : f32, !llvm.ptr
  }
  return
}

// -----

// Parts of at least 8 operations; what is left at the end is one too. Constants and addresses are made where they are
// used; a part knows of its pointers what the function knew.
// CHECK-LABEL: func.func private @nests.part0(
// CHECK-SAME: %[[X:.*]]: f32, %[[P:.*]]: !llvm.ptr {llvm.noalias}, %[[N:.*]]: index)
// CHECK-NEXT: %[[Q:.*]] = llvm.getelementptr %[[P]][4]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK-NEXT: llvm.store %[[X]], %[[Q]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @nests.part1(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @nests(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr {llvm.noalias}, %[[N:.*]]: index, %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK-NOT: scf.for
// CHECK: call @nests.part0(%[[X]], %[[P]], %[[N]])
// CHECK-NEXT: call @nests.part1(%[[Y]], %[[P]], %[[N]])
// CHECK-NEXT: return
func.func @nests(%p: !llvm.ptr {llvm.noalias}, %n: index, %x: f32, %y: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = llvm.getelementptr %p[4] : (!llvm.ptr) -> !llvm.ptr, f32
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %q : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %q : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %q : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %y, %q : f32, !llvm.ptr
  }
  return
}

// -----

// Nobody outside needs a result of a part: what is loaded here and stored after the third nest keeps them in one.
// CHECK-LABEL: func.func private @open.part0(
// CHECK: %[[V:.*]] = llvm.load
// CHECK-COUNT-3: scf.for
// CHECK: llvm.store %[[V]]
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @open.part1(
// CHECK-SAME: %{{.*}}: f32, %{{.*}}: !llvm.ptr, %{{.*}}: index)
// CHECK-LABEL: func.func @open(
// CHECK-NOT: llvm.load
// CHECK: call @open.part0(
// CHECK-NEXT: call @open.part1(
// CHECK-NEXT: return
func.func @open(%p: !llvm.ptr {llvm.noalias}, %q: !llvm.ptr, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = llvm.load %q : !llvm.ptr -> f32
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %p : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %p : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %p : f32, !llvm.ptr
  }
  llvm.store %v, %p : f32, !llvm.ptr
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %x, %q : f32, !llvm.ptr
  }
  return
}

// -----

// A value that is returned can be no part's.
// CHECK-LABEL: module
// CHECK-NOT: .part
// CHECK-LABEL: func.func @returns(
// CHECK-COUNT-4: scf.for
// CHECK: return
func.func @returns(%p: !llvm.ptr, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = llvm.load %p : !llvm.ptr -> f32
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %v, %p : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %v, %p : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %v, %p : f32, !llvm.ptr
  }
  scf.for %j = %c0 to %n step %c1 {
    llvm.store %v, %p : f32, !llvm.ptr
  }
  return %v : f32
}

// -----

// Inside a loop: its counter is handed over, pure operations that need nothing of a part stay in front.
// CHECK-LABEL: func.func private @inside.part0(
// CHECK-SAME: %{{.*}}: f32, %{{.*}}: !llvm.ptr {llvm.noalias}, %[[M:.*]]: index, %[[I:.*]]: index)
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[M]]
// CHECK: scf.for %{{.*}} = %[[I]] to %[[M]]
// CHECK: scf.for %{{.*}} = %[[I]] to %[[M]]
// CHECK-LABEL: func.func private @inside.part1(
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK-NEXT: %[[M:.*]] = arith.addi %[[I]], %[[N]]
// CHECK-NEXT: call @inside.part0(%{{.*}}, %{{.*}}, %[[M]], %[[I]])
// CHECK-LABEL: func.func @inside(
// CHECK: call @inside.part1(
// CHECK-NEXT: return
func.func @inside(%p: !llvm.ptr {llvm.noalias}, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = arith.addi %i, %n : index
    scf.for %j = %c0 to %m step %c1 {
      llvm.store %x, %p : f32, !llvm.ptr
    }
    scf.for %j = %i to %m step %c1 {
      llvm.store %x, %p : f32, !llvm.ptr
    }
    scf.for %j = %i to %m step %c1 {
      llvm.store %x, %p : f32, !llvm.ptr
    }
  }
  return
}
