// Phase 2, first half: makes the decisions that are still open. ScheduleOps.td describes each attribute
// beside the operation that has it.
#include "compiler/schedule/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEDECIDE
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

struct ScheduleDecide : impl::ScheduleDecideBase<ScheduleDecide> {
  using ScheduleDecideBase::ScheduleDecideBase;

  void runOnOperation() override {
    // One fusion group per op that must have memory, unless the IR says otherwise.
    if (!getOperation()->hasAttr(tile::kFusion))
      getOperation()->setAttr(tile::kFusion, StringAttr::get(&getContext(), "auto"));
    getOperation().walk([&](Operation *op) {
      if (auto grid = dyn_cast<GridOp>(op)) decide(grid);
      if (auto lanes = dyn_cast<LanesOp>(op)) decide(lanes);
      if (auto loop = dyn_cast<scf::ForOp>(op)) decide(loop);
    });
  }

private:
  /// The order as written: consecutive programs differ in the last axis and share the rows that they read.
  void decide(GridOp grid) {
    if (!grid.getPlacement()) grid.setPlacement("any");
    if (!grid.getOrder())
      grid.setOrder(llvm::to_vector(llvm::seq<int64_t>(0, grid.getBody().getNumArguments())));
  }

  /// Enough lanes that a program outweighs its dispatch (some microseconds of streaming), and few enough that
  /// a million elements still make hundreds of programs.
  void decide(LanesOp lanes) {
    if (!lanes.getPlacement()) lanes.setPlacement("any");
    if (!lanes.getLanesPerProgram()) lanes.setLanesPerProgram(lanesPerProgram);
  }

  /// A target that pipelines loops chooses the number of stages when the use of shared memory is known.
  void decide(scf::ForOp loop) {
    if (!pipelines && !loop->hasAttr(schedule::kStages) && !loop->hasAttr(schedule::kMostStages))
      loop->setAttr(schedule::kStages, Builder(loop.getContext()).getI64IntegerAttr(1));
  }
};

} // namespace
} // namespace tessera
