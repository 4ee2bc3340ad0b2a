// schedule-choose-variants (normative phase 2, before groups are formed): attaches a mapper's decisions to
// their operations.
//
//   graph.func @mlp attributes {schedule.variants = {"0" = {choice = "blas", ...}}}
//     %0 = graph.matmul %x, %w    ->    %0 = graph.matmul %x, %w {schedule.decision = {choice = "blas", ...}}
//
// It runs before groups are formed because a library computes only the product: the epilogue needs a group of
// its own.
#include "compiler/schedule/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULECHOOSEVARIANTS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

struct ScheduleChooseVariants : impl::ScheduleChooseVariantsBase<ScheduleChooseVariants> {
  void runOnOperation() override {
    auto decisions = getOperation()->getAttrOfType<DictionaryAttr>(schedule::kVariants);
    if (!decisions) return;
    int64_t number = 0;
    Builder b(&getContext());
    for (auto op : getOperation().getBody().front().getOps<graph::MatmulOp>()) {
      op->setAttr(schedule::kChoice, b.getI64IntegerAttr(number));
      if (Attribute decision = decisions.get(std::to_string(number)))
        op->setAttr(schedule::kDecision, decision);
      ++number;
    }
    if (!decisions.empty()) getOperation()->removeAttr(schedule::kVariants);
  }
};

} // namespace
} // namespace tessera
