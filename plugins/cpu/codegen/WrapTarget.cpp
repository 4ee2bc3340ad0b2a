// cpu-wrap-target: wraps functions in one image's target.module.
#include "compiler/codegen/common/TileLowering.h"
#include "plugins/cpu/codegen/CpuTarget.h"
#include "plugins/cpu/codegen/Passes.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUWRAPTARGET
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

struct WrapTargetPass : impl::CpuWrapTargetBase<WrapTargetPass> {
  using CpuWrapTargetBase::CpuWrapTargetBase;

  void runOnOperation() final {
    Expected<CpuTarget> target =
        triple.empty() ? findCpu(cpu) : describeMachine({triple, cpu, features, vectorBytes});
    if (!target) {
      getOperation().emitError() << target.error().message;
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    for (Operation &op : *getOperation().getBody())
      ops.push_back(&op);
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = target::ModuleOp::create(b, getOperation().getLoc(), "cpu", target->triple, target->cpu,
                                           target->features, b.getI64IntegerAttr(target->vectorBytes));
    Block &body = module.getBody().emplaceBlock();
    for (Operation *op : ops) {
      op->moveBefore(&body, body.end());
      auto metadata = op->getAttrOfType<StringAttr>(target::kMetadata);
      if (!metadata) continue;
      op->removeAttr(target::kMetadata);
      OpBuilder inner = OpBuilder::atBlockEnd(&body);
      auto symbol = SymbolTable::getSymbolName(op);
      target::KernelInfoOp::create(inner, op->getLoc(), inner.getStringAttr(kernelName(symbol.getValue())),
                                   FlatSymbolRefAttr::get(symbol), metadata);
    }
  }
};

} // namespace
} // namespace tessera::cpu
