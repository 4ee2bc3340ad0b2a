// gpu.module -> target.module: what one image of a GPU holds.
#include "compiler/target/IR/TargetDialect.h"
#include "compiler/target/gpu/ConvertToLlvm.h"
#include "compiler/target/lower/TileLowering.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::gpu {
namespace {

struct WrapTargetPass : PassWrapper<WrapTargetPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WrapTargetPass)
  WrapTargetPass(const GpuTarget &target, const Vendor &vendor) : target_(target), vendor_(vendor) {}
  StringRef getArgument() const final { return "gpu-wrap-target"; }
  StringRef getDescription() const final {
    return "gather the kernels, their shared memory and their metadata in a target.module";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<target::TargetDialect>();
  }

  void runOnOperation() final {
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto image = target::ModuleOp::create(b, getOperation().getLoc(), target_.kind, vendor_.triple(),
                                          target_.arch, vendor_.features(target_), IntegerAttr());
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
  const GpuTarget &target_;
  const Vendor &vendor_;
};

} // namespace

std::unique_ptr<Pass> createWrapTargetPass(const GpuTarget &target, const Vendor &vendor) {
  return std::make_unique<WrapTargetPass>(target, vendor);
}

} // namespace tessera::gpu
