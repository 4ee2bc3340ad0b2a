// The initial variants of a fusion group: those that the target proposes.
#pragma once
#include "compiler/codegen/TargetBackend.h"

namespace tessera::schedule {

/// Asks `target` for the variants of a group that has its tile, and attaches them. Of a group whose `variant`
/// names none of them, the attribute stays for the verifier.
mlir::LogicalResult proposeVariants(GroupOp group, graph::FuncOp function, const codegen::Target &target);

} // namespace tessera::schedule
