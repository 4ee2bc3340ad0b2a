// The way of a kernel from Graph IR to Target IR: the seven normative phases of seed 003 §3.3, in order.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <string>

namespace tessera {

struct PipelineOptions {
  const codegen::Target &target;
  std::string printIrAfterAll; // directory for numbered snapshots; empty: none
};

/// The levels of the IR, as `tsr compile --emit` and inspect_ir name them.
enum class Level { Graph, Schedule, Tile, Target };

/// Adds the passes that lead from the level before up to `level`. One pass manager may take several levels in
/// order.
void addPassesTo(Level level, mlir::PassManager &, const PipelineOptions &);

} // namespace tessera
