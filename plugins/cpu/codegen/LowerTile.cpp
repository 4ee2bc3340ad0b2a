// Tile kernels -> functions (cpu-lower-tile).
#include "compiler/target/Transforms/KernelMetadata.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPULOWERTILE
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

struct LowerTilePass : impl::CpuLowerTileBase<LowerTilePass> {
  using CpuLowerTileBase::CpuLowerTileBase;

  void runOnOperation() final {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (!kernel.getVectorBytes()) {
        kernel.emitOpError("has no vector width: run tile-vectorize first");
        return signalPassFailure();
      }
      std::string metadata = target::describeKernel(kernel, targetName).toYaml();
      FailureOr<func::FuncOp> function = KernelLowering(kernel, *kernel.getVectorBytes()).lower();
      if (failed(function)) return signalPassFailure();
      (*function)->setAttr(target::kMetadata, StringAttr::get(&getContext(), metadata));
      kernel.erase();
    }
  }
};

} // namespace
} // namespace tessera::cpu
