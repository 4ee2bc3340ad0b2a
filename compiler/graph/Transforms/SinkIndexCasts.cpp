// Integers of the language are i64, and memory operations take index. After import an address is an i64
// computation between two casts. As index arithmetic it uses the loop and grid variables without casts, so
// that later passes see one expression per address. i64 and index have the same width on every target of the
// project.
#include "compiler/graph/Transforms/Passes.h"
#include "compiler/tile/Transforms/Simplify.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_GRAPHSINKINDEXCASTS
#include "compiler/graph/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// index_cast(op(a, b)) -> op(index_cast(a), index_cast(b)), for scalar integer arithmetic on i64. All casts
/// of a value become one operation: a copy for each would double at every line of `c = maximum(c, k - c)`.
struct SinkCast : OpRewritePattern<arith::IndexCastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::IndexCastOp cast, PatternRewriter &rewriter) const override {
    if (!cast.getType().isIndex() || !cast.getIn().getType().isInteger(64))
      return rewriter.notifyMatchFailure(cast, "does not make an index of an i64");
    Operation *source = cast.getIn().getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::RemSIOp,
                         arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(source))
      return rewriter.notifyMatchFailure(cast, "its operand is no arithmetic that index has too");
    rewriter.setInsertionPointAfter(source);
    SmallVector<Value> operands;
    for (Value operand : source->getOperands()) {
      bool isI64 = operand.getType().isInteger(64); // the condition of a select is not
      operands.push_back(
          isI64 ? rewriter.createOrFold<arith::IndexCastOp>(cast.getLoc(), rewriter.getIndexType(), operand)
                : operand);
    }
    Operation *sunk = rewriter.create(source->getLoc(), source->getName().getIdentifier(), operands,
                                      rewriter.getIndexType());
    for (Operation *user : llvm::make_early_inc_range(source->getUsers()))
      if (auto other = dyn_cast<arith::IndexCastOp>(user); other && other.getType().isIndex())
        rewriter.replaceOp(other, sunk->getResults());
    return success();
  }
};

struct GraphSinkIndexCasts : impl::GraphSinkIndexCastsBase<GraphSinkIndexCasts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkCast>(&getContext());
    arith::IndexCastOp::getCanonicalizationPatterns(patterns, &getContext());
    tile::populateMaskKeepingFolds(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config))) signalPassFailure();
  }
};

} // namespace
} // namespace tessera
