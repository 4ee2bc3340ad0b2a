// gpu-lower-tile (normative phase 7): the kernels of a module as one gpu.module.
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/tile/Transforms/ExpandMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera::gpu {
namespace {

struct LowerTilePass : PassWrapper<LowerTilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTilePass)
  LowerTilePass() = default;
  LowerTilePass(const LowerTilePass &other) : PassWrapper(other) { target_ = other.target_.getValue(); }
  explicit LowerTilePass(const GpuTarget &target) { target_ = target.name(); }
  StringRef getArgument() const final { return "gpu-lower-tile"; }
  StringRef getDescription() const final {
    return "lower tile kernels to a gpu.module in which a thread block runs a program";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, mlir::gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect>();
  }
  void runOnOperation() final {
    auto found = findGpuTarget(target_);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const GpuTarget *target = *found;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<graph::FuncOp>()))
      function.erase();
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = mlir::gpu::GPUModuleOp::create(b, getOperation().getLoc(), "kernels");
    module->setAttr("target.name", b.getStringAttr(target->name()));
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      KernelLowering lowering(kernel, *target);
      FailureOr<mlir::gpu::GPUFuncOp> function = lowering.lower(module);
      if (failed(function)) return signalPassFailure();
      KernelMetadata metadata = target::describeKernel(kernel, target->name());
      metadata.block[0] = target->architecture().threads;
      metadata.sharedBytes = lowering.resources().shared;
      metadata.dynamicSharedBytes = lowering.resources().dynamicShared;
      metadata.workspaceBytes = lowering.resources().workspace;
      metadata.scratchBytes = metadata.vectorBytes = 0; // a CPU program's
      (*function)->setAttr(target::kMetadata, b.getStringAttr(metadata.toYaml()));
      kernel.erase();
    }
  }
  Option<std::string> target_{*this, "target", llvm::cl::desc("GPU, as in ptx:sm_90"),
                              llvm::cl::init("ptx:sm_90")};
};

} // namespace

std::unique_ptr<Pass> createLowerTilePass(const GpuTarget &target) {
  return std::make_unique<LowerTilePass>(target);
}

void addKernelPasses(OpPassManager &pm, const GpuTarget &target) {
  pm.addPass(createLowerTilePass(target));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(tile::createExpandMathPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

namespace {
struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("GPU, as in ptx:sm_90"),
                             llvm::cl::init("ptx:sm_90")};
};
} // namespace

void registerGpuPasses() {
  registerPass([]() -> std::unique_ptr<Pass> { return std::make_unique<LowerTilePass>(); });
  static PassPipelineRegistration<GpuPipelineOptions> registration(
      "gpu-to-target", "turn thread programs into a vendor's Target IR",
      [](OpPassManager &pm, const GpuPipelineOptions &options) {
        auto target = findGpuTarget(options.target);
        if (!target) llvm::report_fatal_error(llvm::StringRef(target.error().message), false);
        addLlvmPasses(pm, **target);
      });
}

} // namespace tessera::gpu
