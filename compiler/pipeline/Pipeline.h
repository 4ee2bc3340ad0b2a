// The pipeline from Graph IR to Target IR: the seven normative phases of docs/decisions/0005, in order.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <string>

namespace tessera {

struct PipelineOptions {
  const codegen::Target &target;
  std::string printIrAfterAll; // directory of numbered snapshots; empty: none
};

/// The levels of the IR, by their names in `tsr compile --emit` and inspect_ir.
enum class Level { Graph, Schedule, Tile, Target };

/// Adds the passes that lower from the previous level to `level`. One pass manager may get several levels in
/// order.
void addPassesTo(Level level, mlir::PassManager &, const PipelineOptions &);

} // namespace tessera
