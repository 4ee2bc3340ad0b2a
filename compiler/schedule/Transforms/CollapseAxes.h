// Elementwise groups over contiguous tensors, with as few axes as broadcasts leave.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/ScheduleDialect.h"

namespace tessera::schedule {

/// Rewrites a map group so that neighbouring axes of its space are one where every tensor of the group has
/// all of them or is broadcast along all of them:
///
///   %1 = schedule.group map(%x, %b)                %f = graph.reshape %x : (["B", "M", "N"]) -> ["B*M", "N"]
///     : (["B", "M", "N"], ["N"])           ->     %g = schedule.group map(%f, %b) : (["B*M", "N"], ["N"])
///                                                 %1 = graph.reshape %g : (["B*M", "N"]) -> ["B", "M", "N"]
///
/// A program's tile is then full whatever the extents of the merged axes are; a reshape costs nothing. Groups
/// that read elements at other places (transposes, slices, positions) stay as they are.
void collapseAxes(GroupOp group, graph::FuncOp function, const codegen::Target &target);

} // namespace tessera::schedule
