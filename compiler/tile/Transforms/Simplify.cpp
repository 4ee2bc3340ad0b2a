// tile-simplify (normative phases 1 and 2): canonicalization that preserves what masks depend on.
//
//   %y = arith.andi %x, %zero : tensor<8xi32>        is kept, since %y is masked wherever %x is
//   %i = arith.addi %c8, %c8 : index            ->   %i = arith.constant 16 : index
//
// Folding an elementwise operation may remove the operand that is out of bounds at the tensor's edge, and the
// result would then be stored there. A loop that runs once keeps those elements of its variables that its
// body does not assign, so it must not be inlined either. With the option `explicit-masks`, after
// tile-legalize-bounds, both are allowed. This pass replaces the canonicalizer everywhere, which would also
// fold arithmetic that saturates:
//
//   %y = arith.addf %c448, %c448 : f8E4M3FN          is kept until tile-legalize-numerics widens it
#include "compiler/tile/Transforms/Simplify.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_TILESIMPLIFY
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Is the result out of bounds wherever an operand is? A select by one scalar has the mask of the selected
/// side.
bool carriesMask(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  return isElementwise(op) && isTile(op->getResult(0)) && (!select || isTile(select.getCondition()));
}

/// A canonicalization pattern of arith or math, applied to everything but tiles.
class OfScalars final : public RewritePattern {
public:
  explicit OfScalars(std::unique_ptr<RewritePattern> pattern)
      : RewritePattern(pattern->getRootKind()->getStringRef(), pattern->getBenefit(), pattern->getContext()),
        pattern_(std::move(pattern)) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (carriesMask(op)) return rewriter.notifyMatchFailure(op, "its operands may be masked");
    return pattern_->matchAndRewrite(op, rewriter);
  }

private:
  std::unique_ptr<RewritePattern> pattern_;
};

/// Folds as the driver does, except arithmetic that saturates and, while masks are implicit, elementwise
/// operations on tiles.
struct Fold final : RewritePattern {
  bool explicitMasks;

  Fold(MLIRContext *context, bool explicitMasks)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), explicitMasks(explicitMasks) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!explicitMasks && carriesMask(op))
      return rewriter.notifyMatchFailure(op, "its operands may be masked");
    if (saturates(op)) return rewriter.notifyMatchFailure(op, "folding would not saturate");
    SmallVector<Value> results;
    rewriter.startOpModification(op);
    if (failed(rewriter.tryFold(op, results))) {
      rewriter.cancelOpModification(op);
      return rewriter.notifyMatchFailure(op, "it does not fold");
    }
    rewriter.finalizeOpModification(op);
    if (!results.empty()) rewriter.replaceOp(op, results);
    return success();
  }
};

class Simplify : public impl::TileSimplifyBase<Simplify> {
public:
  using impl::TileSimplifyBase<Simplify>::TileSimplifyBase;

private:
  std::shared_ptr<const FrozenRewritePatternSet> patterns_;

  std::shared_ptr<const FrozenRewritePatternSet> patterns(MLIRContext *context, bool folds) {
    RewritePatternSet all(context), kept(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(all, context);
    if (folds) kept.add(std::make_unique<Fold>(context, explicitMasks));
    for (std::unique_ptr<RewritePattern> &pattern : all.getNativePatterns()) {
      std::optional<OperationName> root = pattern->getRootKind();
      StringRef dialect = root ? root->getDialectNamespace() : StringRef();
      if (!explicitMasks && root &&
          (root->getStringRef() == scf::ForOp::getOperationName() ||
           root->getStringRef() == scf::WhileOp::getOperationName()))
        continue;
      if (!explicitMasks && (dialect == arith::ArithDialect::getDialectNamespace() ||
                             dialect == math::MathDialect::getDialectNamespace()))
        kept.add(std::make_unique<OfScalars>(std::move(pattern)));
      else
        kept.add(std::move(pattern));
    }
    return std::make_shared<FrozenRewritePatternSet>(std::move(kept));
  }

  LogicalResult initialize(MLIRContext *context) override {
    patterns_ = patterns(context, /*folds=*/!explicitMasks);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.enableFolding(explicitMasks);
    auto patterns = patterns_;
    if (explicitMasks) {
      config.setUseTopDownTraversal().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
      // The driver's own folding is faster. Few kernels compute in dtypes that saturate.
      auto isSaturating = [](Operation *op) {
        return saturates(op) ? WalkResult::interrupt() : WalkResult::advance();
      };
      if (getOperation()->walk(isSaturating).wasInterrupted()) {
        config.enableFolding(false);
        patterns = this->patterns(&getContext(), /*folds=*/true);
      }
    }
    // As in the canonicalizer, which does not fail if it has not converged.
    (void)applyPatternsGreedily(getOperation(), *patterns, config);
  }
};

} // namespace

void tile::populateMaskKeepingFolds(RewritePatternSet &patterns) {
  patterns.add(std::make_unique<Fold>(patterns.getContext(), /*explicitMasks=*/false));
}

} // namespace tessera
