// Reduces elementwise groups over contiguous tensors to as few axes as their broadcasts permit.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/ScheduleDialect.h"

namespace tessera::schedule {

/// Rewrites a map group so that adjacent axes of its space become one if every tensor of the group has all of
/// them or is broadcast along all of them:
///
///   %1 = schedule.group map(%x, %b)                %f = graph.reshape %x : (["B", "M", "N"]) -> ["B*M", "N"]
///     : (["B", "M", "N"], ["N"])           ->     %g = schedule.group map(%f, %b) : (["B*M", "N"], ["N"])
///                                                 %1 = graph.reshape %g : (["B*M", "N"]) -> ["B", "M", "N"]
///
/// The tiles of a program are then full whatever the extents of the merged axes are, and a reshape is free. A
/// group that reads elements at other positions (transposes, gathers) does not change; axes of which a slice
/// takes a part stay apart.
void collapseAxes(GroupOp group, graph::FuncOp function, const codegen::Target &target);

} // namespace tessera::schedule
