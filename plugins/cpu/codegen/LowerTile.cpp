// Tile kernels -> functions (cpu-lower-tile).
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/tile/IR/Profiles.h"
#include "plugins/cpu/codegen/InternalFunction.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"
#include "plugins/cpu/codegen/products/Archive.h"
#include "plugins/cpu/codegen/products/Leaves.h"
#include "llvm/Support/MathExtras.h"
#include <tessera/backend.hpp>

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
      if (const int64_t programs = kernel.programsOfCluster(); programs > 1) {
        kernel.emitOpError() << "has clusters of " << programs << " programs; " << targetName << " has none";
        return signalPassFailure();
      }
      KernelMetadata metadata = target::describeKernel(kernel, targetName);
      FailureOr<func::FuncOp> function = failure();
      if (std::optional<tile::Product> product = tile::Product::of(kernel))
        function = lowerProduct(kernel, *product, metadata);
      else if (auto way = kernel->getAttrOfType<StringAttr>(tile::kProductWay))
        kernel.emitOpError() << "asks for the body product." << way.getValue() << ", but no body of "
                             << targetName << " computes its product";
      else
        function = lowering(kernel).lower(entrySymbol(kernel.getName()));
      if (failed(function)) return signalPassFailure();
      (*function)->setAttr(target::kMetadata, StringAttr::get(&getContext(), metadata.toYaml()));
      kernel.erase();
    }
  }

private:
  KernelLowering lowering(tile::KernelOp kernel) {
    const bool pairsOfBf16 = llvm::is_contained(chainBodies, "bf16=bf16.dot");
    return {kernel, static_cast<int64_t>(*kernel.getVectorBytes()), pairsOfBf16};
  }

  std::string bodyOf(tile::KernelOp kernel, const tile::Product &product) {
    auto param = cast<tile::ParamAttr>(kernel.getParams()[static_cast<unsigned>(product.a)]);
    const StringRef dtype = name(*param.getDtype());
    auto find = [&](ArrayRef<std::string> rows) {
      const auto *row = llvm::find_if(rows, [&](StringRef row) { return row.split('=').first == dtype; });
      return row == rows.end() ? std::string() : StringRef(*row).split('=').second.str();
    };
    const std::optional<NumericsPermissions> permits = permitsOf(kernel);
    if (permits && permits->fixedReductions)
      if (std::string chain = find(chainBodies); !chain.empty()) return chain;
    const std::string best = find(bodies);
    return best.empty() ? dtype.str() : best;
  }

  /// The scratch of the epilogue comes first, that of the body after it.
  FailureOr<func::FuncOp> lowerProduct(tile::KernelOp kernel, const tile::Product &product,
                                       KernelMetadata &metadata) {
    const auto own = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(metadata.scratchBytes), 64));
    func::FuncOp epilogue;
    if (product.c < 0) {
      FailureOr<func::FuncOp> made =
          lowering(kernel).lower(entrySymbol((kernel.getName() + ".epilogue").str()));
      if (failed(made)) return failure();
      epilogue = *made;
      makeInternal(epilogue);
    }
    Type element = cast<tile::ViewType>(kernel.getArgumentTypes()[0]).getElementType();
    const std::string body = bodyOf(kernel, product);
    if (std::string_view tiles = cpu::product::tileInstructionOf(body); !tiles.empty()) {
      auto operand = cast<tile::ParamAttr>(kernel.getParams()[static_cast<unsigned>(product.a)]);
      auto whole = cast<tile::ParamAttr>(kernel.getParams()[0]);
      Operation *use = *kernel.getBody().getArgument(0).user_begin();
      metadata.products.push_back(
          {std::string(tiles), *operand.getDtype(), *whole.getDtype(), target::placeOf(use)});
    }
    metadata.scratchBytes = own + productScratch(product, element);
    if (auto way = kernel->getAttrOfType<StringAttr>(tile::kProductWay)) {
      metadata.scratchBytes += sizeof(int64_t); // Problem::isReplaced
      metadata.forcedBody = "product." + way.str();
      if (const auto *known = llvm::find(cpu::product::kWayNames, way.getValue());
          known != std::end(cpu::product::kWayNames))
        metadata.forcedBody += std::string(", which computes ") +
                               cpu::product::kWayNeeds[known - std::begin(cpu::product::kWayNames)];
    }
    int64_t digits = 0;
    if (product.leaf) {
      digits = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(metadata.scratchBytes), 64));
      metadata.scratchBytes = digits + cpu::product::digitBytes(product.blockRows, product.blockColumns,
                                                                element.getIntOrFloatBitWidth() / 8);
    }
    return lowering(kernel).lowerProduct(product, body, epilogue, own, digits);
  }
};

} // namespace
} // namespace tessera::cpu
