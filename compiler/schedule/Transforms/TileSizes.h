// The tiles a fusion group starts with; a person, a mapper or a tuner may change them in the text.
#pragma once
#include "compiler/schedule/IR/GroupSpace.h"

namespace tessera::schedule {

/// Tile extents for a group of this space, in the order of its kind (ScheduleOps.td). Extents that are known,
/// as constants or from `function`'s `schedule.hints` (values its dims have in the call it is compiled for),
/// make smaller tiles; correctness never depends on them. `gpu`: for a thread block rather than a core.
llvm::SmallVector<int64_t> chooseTile(const GroupSpace &, graph::FuncOp function, bool gpu);

} // namespace tessera::schedule
