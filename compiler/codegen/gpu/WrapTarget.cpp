// gpu.module -> target.module: what one image of a GPU holds.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/target/IR/TargetDialect.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::gpu {
namespace {

struct WrapTargetPass : PassWrapper<WrapTargetPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WrapTargetPass)
  explicit WrapTargetPass(const GpuTarget &target) : target_(target) {}
  StringRef getArgument() const final { return "gpu-wrap-target"; }
  StringRef getDescription() const final {
    return "gather the kernels, their shared memory and their metadata in a target.module";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<target::TargetDialect>();
  }

  void runOnOperation() final {
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    const Vendor &vendor = target_.vendor();
    const Architecture &architecture = target_.architecture();
    auto image = target::ModuleOp::create(b, getOperation().getLoc(), vendor.name(), vendor.triple(),
                                          architecture.name, vendor.features(architecture), IntegerAttr());
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
};

} // namespace

std::unique_ptr<Pass> createWrapTargetPass(const GpuTarget &target) {
  return std::make_unique<WrapTargetPass>(target);
}

} // namespace tessera::gpu
