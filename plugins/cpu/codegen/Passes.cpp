// The CPU's own passes of phase 7: tile kernels to functions, functions into one image.
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/target/IR/TargetDialect.h"
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/tile/Transforms/ExpandHalf.h"
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMinMax.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::cpu {
namespace {

struct LowerTilePass : PassWrapper<LowerTilePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTilePass)
  explicit LowerTilePass(std::string targetName) : targetName_(std::move(targetName)) {}
  StringRef getArgument() const final { return "cpu-lower-tile"; }
  StringRef getDescription() const final {
    return "lower tile kernels to loops over vectors for one CPU thread";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() final {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (!kernel.getVectorBytes()) {
        kernel.emitOpError("has no vector width: run tile-vectorize first");
        return signalPassFailure();
      }
      std::string metadata = target::describeKernel(kernel, targetName_).toYaml();
      FailureOr<func::FuncOp> function = KernelLowering(kernel, *kernel.getVectorBytes()).lower();
      if (failed(function)) return signalPassFailure();
      (*function)->setAttr(target::kMetadata, StringAttr::get(&getContext(), metadata));
      kernel.erase();
    }
  }
  std::string targetName_;
};

struct WrapTargetPass : PassWrapper<WrapTargetPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WrapTargetPass)
  explicit WrapTargetPass(CpuTarget target) : target_(std::move(target)) {}
  StringRef getArgument() const final { return "cpu-wrap-target"; }
  StringRef getDescription() const final {
    return "gather the lowered functions and their metadata in a target.module";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<target::TargetDialect>();
  }
  void runOnOperation() final {
    SmallVector<Operation *> ops;
    for (Operation &op : *getOperation().getBody())
      ops.push_back(&op);
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = target::ModuleOp::create(b, getOperation().getLoc(), "cpu", target_.triple, target_.cpu,
                                           target_.features, b.getI64IntegerAttr(target_.vectorBytes));
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
  CpuTarget target_;
};

} // namespace

void registerCpuPasses() {
  registerPass(createPrivatizePass);
  registerPass([] { return createLowerTilePass("cpu"); });
  registerPass(createOutlinePass);
  registerPass(tile::createExpandMathPass);
  registerPass(tile::createExpandMinMaxPass);
  registerPass(tile::createExpandHalfPass);
  registerPass(createToLLVMPass);
  registerPass([] {
    auto host = findCpu("");
    if (!host) llvm::report_fatal_error(llvm::StringRef(host.error().message));
    return createWrapTargetPass(*host);
  });
}

std::unique_ptr<Pass> createLowerTilePass(std::string targetName) {
  return std::make_unique<LowerTilePass>(std::move(targetName));
}
std::unique_ptr<Pass> createWrapTargetPass(CpuTarget target) {
  return std::make_unique<WrapTargetPass>(std::move(target));
}

} // namespace tessera::cpu
