// tile-report-hints (normative phase 6): reports requests of the program that have no effect on the target.
//
//   tile.kernel @k ... attributes {decisions = {stages = 3}}    ->    fallbacks = ["cpu: stages=3 has ..."]
//     tile.alloc_shared : !tile.buffer<16x8xf32, xor>
//
// A hint never changes results, so a target may ignore it, but the artifact must record that it does. It runs
// last among the tile passes, because a hint of code that was removed needs no report. It changes only the
// kernel's `fallbacks`.
#include "compiler/layout/Products.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"

namespace tessera {
#define GEN_PASS_DEF_TILEREPORTHINTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

struct ReportHints : impl::TileReportHintsBase<ReportHints> {
  using impl::TileReportHintsBase<ReportHints>::TileReportHintsBase;

  void runOnOperation() override {
    std::set<std::string> lines;
    auto report = [&](const std::string &hint, const char *why) {
      lines.insert(backend + ": " + hint + " has no effect: " + why);
    };
    DictionaryAttr decisions = getOperation().getDecisionsAttr();
    if (auto stages = decisions ? decisions.getAs<IntegerAttr>("stages") : IntegerAttr();
        stages && stages.getInt() > 1 && !pipelines)
      report("stages=" + std::to_string(stages.getInt()), "loops are not pipelined");
    // tile-pipeline-loops has taken these decisions where it runs.
    if (getOperation()->removeAttr(schedule::kBlock)) report("schedule.block", "warps have no roles");
    getOperation()->walk([&](Operation *op) {
      if (auto alloc = dyn_cast<AllocSharedOp>(op);
          alloc && alloc.getType().getSwizzle() != Swizzle::None && !isSwizzled(alloc))
        report("swizzle=\"" + stringifySwizzle(alloc.getType().getSwizzle()).str() + "\"",
               swizzles ? "rows that are no whole factor of a matrix instruction are stored in order"
                        : "shared rows are stored in order");
      if (isa<PrefetchOp>(op) && !prefetches) report("prefetch", "nothing is fetched ahead");
      if (op->removeAttr(schedule::kCopy)) report("schedule.copy", "loops are not pipelined");
    });
    addFallbacks(getOperation(), lines);
  }

  bool isSwizzled(AllocSharedOp alloc) {
    BufferType type = alloc.getType();
    return swizzles && canSwizzle(alloc) &&
           !layout::swizzleOf(type.getShape().back() * storageBytes(type.getElementType())).isNone();
  }
};

} // namespace
} // namespace tessera
