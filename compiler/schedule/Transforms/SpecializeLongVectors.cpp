// schedule-specialize-long-vectors (normative phase 1, before reductions are split): a variant of a function
// for long vectors.
//
//   graph.func @f(N)    ->    graph.func @f(N)                                        one program adds all
//     reduce sum x[N]         graph.func @f.v0(N), when N >= 131072, hint N = 131072  parts
//
// One program is one core, however many there are; parts are a second launch, which takes longer than a short
// sum. So the length decides, at each call.
#include "compiler/schedule/IR/FunctionVariants.h"
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULESPECIALIZELONGVECTORS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;

namespace {

/// The dims of the function that are the length of a vector which it reduces.
llvm::SmallSetVector<StringRef, 2> reducedDims(FuncOp function) {
  llvm::SmallSetVector<StringRef, 2> out;
  for (auto reduce : function.getBody().front().getOps<ReduceOp>()) {
    const bool finds = isPosition(reduce.getKind());
    const TensorType input = reduce.getInput().getType();
    if (finds || input.getRank() != 1 || reduce.getAxes().empty() || schedule::hasFixedOrder(reduce))
      continue;
    for (auto param : function.getParamsAttr().getAsRange<tile::ParamAttr>())
      if (param.getKind() == tile::ParamKind::Dim &&
          input.getExtent(0).text() == param.getName().getValue().str())
        out.insert(param.getName().getValue());
  }
  return out;
}

struct ScheduleSpecializeLongVectors
    : impl::ScheduleSpecializeLongVectorsBase<ScheduleSpecializeLongVectors> {
  using ScheduleSpecializeLongVectorsBase::ScheduleSpecializeLongVectorsBase;

  void runOnOperation() override {
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const codegen::Capabilities &known = (*found)->capabilities();
    if (!known.collapsesAxes || known.threads > 0) return;
    const auto functions = llvm::to_vector(getOperation().getOps<FuncOp>());
    if (llvm::any_of(functions, [](FuncOp f) {
          return f->hasAttr(schedule::kHints) || f->hasAttr(schedule::kVariantOf);
        }))
      return;
    for (FuncOp function : functions)
      if (function.getParamsAttr()) specialize(function, 2 * known.partElements);
  }

private:
  static void specialize(FuncOp function, int64_t least) {
    NamedAttrList hints;
    std::vector<std::string> when;
    Builder b(function.getContext());
    for (StringRef dim : reducedDims(function)) {
      hints.append(dim, b.getI64IntegerAttr(least));
      when.push_back(dim.str() + " >= " + std::to_string(least));
    }
    if (when.empty()) return;
    FuncOp variant = function.clone();
    variant.setSymName(function.getSymName().str() + ".v0");
    variant->setAttr(schedule::kVariantOf, FlatSymbolRefAttr::get(function.getSymNameAttr()));
    variant->setAttr(schedule::kWhen, b.getStrArrayAttr(SmallVector<StringRef>(when.begin(), when.end())));
    variant->setAttr(schedule::kHints, hints.getDictionary(function.getContext()));
    function->getBlock()->getOperations().insertAfter(function->getIterator(), variant);
  }
};

} // namespace
} // namespace tessera
