// Elementwise groups over contiguous tensors, with one axis for all of the space's.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"

namespace tessera::schedule {

/// Rewrites a map group in which every tensor is whole or a single element, so that its space has one axis:
///
///   %1 = schedule.group map(%x) : (["M", "N"])        %f = graph.reshape %x : (["M", "N"]) -> ["M*N"]
///                                              ->     %g = schedule.group map(%f) : (["M*N"])
///                                                     %1 = graph.reshape %g : (["M*N"]) -> ["M", "N"]
///
/// A program's tile is then full whatever the extents are; a reshape costs nothing. Other groups stay as they
/// are.
void collapseAxes(GroupOp group, graph::FuncOp function);

} // namespace tessera::schedule
