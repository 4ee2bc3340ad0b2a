// Checks that the programs of a group write every element of its results.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <optional>
#include <string>

namespace tessera::schedule {

/// Returns an empty string if the programs of `kernel` together store every element of each result; else the
/// result, the dim and what is missing. `kernel` is a group's program: each store starts at constants, at
/// variables of the grid or of a loop, or (for concatenated tensors) at a loop's variable plus an offset. A
/// lane stores one element.
///
/// `known`: a dim that has at most so many elements wherever the kernel runs.
struct KnownLength {
  std::string dim;
  int64_t most;
};
std::string whyNotCovered(KernelOp kernel, const std::optional<KnownLength> &known = std::nullopt);

/// Do the programs of any kernel store every element of the tensor `view`, an argument that it only writes?
/// False also if that does not show: where a store is in a branch, or what it stores may be masked where the
/// tensor is in bounds.
bool overwrites(KernelOp kernel, mlir::Value view);

} // namespace tessera::schedule
