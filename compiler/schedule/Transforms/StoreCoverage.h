// Checks that the programs of a group write every element of its results.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <string>

namespace tessera::schedule {

/// Returns an empty string if the programs of `kernel` together store every element of each result; else the
/// result, the dim and what is missing. `kernel` is a group's program: each store starts at constants, at
/// variables of the grid or of a loop, or (for concatenated tensors) at a loop's variable plus an offset. A
/// lane stores one element.
std::string whyNotCovered(KernelOp kernel);

} // namespace tessera::schedule
