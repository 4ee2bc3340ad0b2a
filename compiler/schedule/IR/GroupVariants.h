// The variants of a group as its kernel has them.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/schedule/IR/VariantBodies.h"
#include "core/metadata/KernelMetadata.h"

namespace tessera::schedule {

/// The names that stand for values of the group's function in its kernel: a dim of its tensors has a symbol's
/// name, or dim0, dim1, ...; the value of a graph.dim is an argument scalarN.
struct KernelNames {
  std::vector<IndexExpr> values, names;
};
KernelNames kernelNames(GroupOp group);

/// Returns the dtype of a scalar argument of a group. u8 is i8 in scalars, so the parameter of the function
/// that gives the argument tells.
DType scalarDType(GroupOp group, mlir::BlockArgument arg);

/// Returns the tile of a variant of body "tile": the extents of its parameters, or those of the group.
llvm::SmallVector<int64_t> tileOf(GroupOp group, VariantAttr variant);

/// Returns the variants among which launches of the kernel `kernel` choose, in the names of the kernel: those
/// of the group, or a pinned one and the last. The last is the kernel itself; the others have entries
/// KERNEL.NAME. Empty if the kernel has one body.
tessera::Expected<std::vector<MetadataVariant>> launchVariants(GroupOp group, llvm::StringRef kernel);

/// Checks that a tile has the extents that the group's kind needs, and that it fits a program.
mlir::LogicalResult verifyTile(GroupOp group, llvm::ArrayRef<int64_t> tile);

/// Checks names, bodies, parameters, conditions and orders of a group's variants.
mlir::LogicalResult verifyVariants(GroupOp group);

} // namespace tessera::schedule
