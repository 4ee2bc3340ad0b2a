// Emits the groups that schedule-form-groups decides on.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/GroupSpace.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::schedule {

struct GroupContents {
  const GroupSpace &space;
  /// In order. The first has the decision about the group.
  llvm::ArrayRef<mlir::Operation *> ops;
  /// Those of the whole function. The group has copies of the ones that it needs.
  const llvm::SetVector<mlir::Operation *> &uniforms;
};

/// Replaces the operations by a schedule.group at the builder's place. Operations without users are erased.
void emitGroup(mlir::OpBuilder &, const GroupContents &, graph::FuncOp, const codegen::Target &);

/// Returns the variant that is chosen for the operation that a group begins with; "" if there is none.
llvm::StringRef chosenVariant(mlir::Operation *first);

bool isConstant(mlir::Value);

} // namespace tessera::schedule
