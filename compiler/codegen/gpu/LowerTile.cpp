// gpu-lower-tile (normative phase 7): lowers the kernels of a module to one gpu.module.
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::gpu {
#define GEN_PASS_DEF_GPULOWERTILE
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

struct LowerTilePass : impl::GpuLowerTileBase<LowerTilePass> {
  using GpuLowerTileBase::GpuLowerTileBase;

  void getDependentDialects(DialectRegistry &registry) const final {
    GpuLowerTileBase::getDependentDialects(registry);
    if (auto gpu = findGpuTarget(target)) (*gpu)->vendor().registerDialects(registry);
  }

  void runOnOperation() final {
    auto found = findGpuTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const GpuTarget &gpu = **found;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<graph::FuncOp>()))
      function.erase();
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = mlir::gpu::GPUModuleOp::create(b, getOperation().getLoc(), "kernels");
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      KernelMetadata metadata = target::describeKernel(kernel, gpu.name());
      KernelLowering lowering(kernel, gpu);
      FailureOr<mlir::gpu::GPUFuncOp> function = lowering.lower(module);
      if (failed(function)) return signalPassFailure();
      metadata.block[0] = lowering.blockThreads();
      metadata.sharedBytes = lowering.resources().shared;
      metadata.dynamicSharedBytes = lowering.resources().dynamicShared;
      metadata.workspaceBytes = lowering.resources().workspace;
      metadata.tensorMaps = lowering.resources().tensorMaps;
      metadata.isPersistent = lowering.resources().isPersistent;
      metadata.cluster[0] = lowering.resources().cluster;
      metadata.scratchBytes = metadata.vectorBytes = 0; // only CPU programs use them
      if (permitsOf(kernel).value_or(NumericsPermissions()).approximate)
        (*function)->setAttr(kApproximates, b.getUnitAttr());
      (*function)->setAttr(target::kMetadata, b.getStringAttr(metadata.toYaml()));
      kernel.erase();
    }
  }
};

} // namespace

void addKernelPasses(OpPassManager &pm, const GpuTarget &target) {
  pm.addPass(createGpuLowerTile({target.name()}));
  pm.addPass(createSimplifyOps());
  pm.addPass(createCSEPass());
  pm.addPass(createTileExpandMath());
  pm.addPass(createSimplifyOps());
  pm.addPass(createCSEPass());
}

} // namespace tessera::gpu
