// The tiles a fusion group starts with: what the target proposes for it.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/GroupSpace.h"

namespace tessera::schedule {

/// Asks `target` for the tile of a group of this space. Extents are known as constants or from `function`'s
/// `schedule.hints` (values its dims have in the call it is compiled for).
llvm::SmallVector<int64_t> chooseTile(const GroupSpace &, graph::FuncOp function,
                                      const codegen::Target &target);

} // namespace tessera::schedule
