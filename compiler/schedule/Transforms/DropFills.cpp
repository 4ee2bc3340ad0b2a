// schedule-drop-fills (normative phase 2, after storage is decided): a tensor that a launch overwrites needs
// no elements before it.
//
//   %z = graph.broadcast %zero              ->    %z = graph.empty
//   %y = graph.launch @k(read %x, write %z)       %y = graph.launch @k(read %x, write %z)
//
// A function makes such a tensor, with ts.zeros, for what a kernel computes. It runs after graph-own-storage,
// whose copies it spares as well, and before groups are formed, which would compute the elements.
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/StoreCoverage.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEDROPFILLS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

struct ScheduleDropFills : impl::ScheduleDropFillsBase<ScheduleDropFills> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<graph::FuncOp>())
      for (auto launch : function.getBody().front().getOps<graph::LaunchOp>())
        visit(launch);
  }

  static void visit(graph::LaunchOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
    if (!kernel) return;
    OpBuilder b(launch);
    for (OpOperand &operand : launch->getOpOperands()) {
      const unsigned number = operand.getOperandNumber(); // tensors come first, as in the kernel
      if (launch.getEffect(number) != tile::Access::Write || !isComputed(operand.get())) continue;
      if (!overwrites(kernel, kernel.getBody().getArgument(number))) continue;
      operand.set(graph::EmptyOp::create(b, launch.getLoc(), operand.get().getType()));
    }
  }

  /// Is it computed by an operation, in memory that no other value has?
  static bool isComputed(Value v) {
    while (auto reshape = v.getDefiningOp<graph::ReshapeOp>())
      v = reshape.getInput();
    Operation *op = v.getDefiningOp();
    return op && !isa<graph::LaunchOp, graph::EmptyOp>(op);
  }
};

} // namespace
} // namespace tessera
