// The initial tiles of a fusion group: those that the target proposes.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/GroupSpace.h"

namespace tessera::schedule {

/// Rows of a part of a reduction or scan along an outer axis, whose programs have 128 columns each.
inline constexpr int64_t kPartRows = 256;

/// Returns the extent of axis `d`: a constant, or its value in the call that `function` is compiled for
/// (`schedule.hints`); nullopt if nothing is known about it.
std::optional<int64_t> likelyExtent(graph::TensorType, int64_t d, graph::FuncOp function);

/// Asks `target` for the tile of a group of this space. Extents are known if they are constants or in
/// `schedule.hints` of `function` (the values of its dims in the call it is compiled for).
llvm::SmallVector<int64_t> chooseTile(const GroupSpace &, graph::FuncOp function,
                                      const codegen::Target &target);

/// Gives the group of a product the tile that the program requests for `target` (`specialize` of
/// graph.matmul), and records it as its decision. Such a group has no variants. Returns whether there is a
/// request. One for a target that does not exist is listed in the function's fallbacks.
bool setRequestedTile(GroupOp, const codegen::Target &target);

} // namespace tessera::schedule
