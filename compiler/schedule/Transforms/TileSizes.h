// The initial tiles of a fusion group: those that the target proposes.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/GroupSpace.h"

namespace tessera::schedule {

/// Asks `target` for the tile of a group of this space. Extents are known if they are constants or in
/// `schedule.hints` of `function` (the values of its dims in the call it is compiled for).
llvm::SmallVector<int64_t> chooseTile(const GroupSpace &, graph::FuncOp function,
                                      const codegen::Target &target);

} // namespace tessera::schedule
