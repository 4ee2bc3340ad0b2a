// gpu.module -> target.module: the contents of one GPU image
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/target/IR/TargetDialect.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::gpu {
#define GEN_PASS_DEF_GPUWRAPTARGET
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

struct WrapTargetPass : impl::GpuWrapTargetBase<WrapTargetPass> {
  using GpuWrapTargetBase::GpuWrapTargetBase;

  void runOnOperation() final {
    auto gpu = findGpuTarget(target);
    if (!gpu) {
      getOperation().emitError() << gpu.error().message;
      return signalPassFailure();
    }
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    const Vendor &vendor = (*gpu)->vendor();
    const Architecture &architecture = (*gpu)->architecture();
    auto image = target::ModuleOp::create(b, getOperation().getLoc(), vendor.name(), vendor.triple(),
                                          architecture.name, architecture.features, IntegerAttr());
    Block &body = image.getBody().emplaceBlock();
    for (auto module : llvm::make_early_inc_range(getOperation().getOps<mlir::gpu::GPUModuleOp>())) {
      for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
        op.moveBefore(&body, body.end());
        auto metadata = op.getAttrOfType<StringAttr>(target::kMetadata);
        if (!metadata) continue;
        op.removeAttr(target::kMetadata);
        OpBuilder inner = OpBuilder::atBlockEnd(&body);
        StringAttr symbol = SymbolTable::getSymbolName(&op);
        target::KernelInfoOp::create(inner, op.getLoc(), inner.getStringAttr(kernelName(symbol.getValue())),
                                     FlatSymbolRefAttr::get(symbol), metadata);
      }
      module.erase();
    }
  }
};

} // namespace

} // namespace tessera::gpu
