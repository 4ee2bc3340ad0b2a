// Whether the programs of a group write every element of its results.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <string>

namespace tessera::schedule {

/// Empty when the programs of `kernel` together store every element of each result; else the result, the dim
/// and what is missing. `kernel` is a group's program: each store begins at constants, at variables of the
/// grid or of a loop, or (joined tensors) at a loop's variable past an offset; a lane stores one element.
std::string whyNotCovered(KernelOp kernel);

} // namespace tessera::schedule
