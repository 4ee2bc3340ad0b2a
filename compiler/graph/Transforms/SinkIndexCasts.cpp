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

/// index_cast(op(a, b)) -> op(index_cast(a), index_cast(b)), for scalar integer arithmetic on i64. Each value
/// becomes one index, which all casts of it share: with a copy for each, every line of `c = maximum(c, k -
/// c)` would double the work.
class Indices {
public:
  /// Returns the index with the value of `i64`; it is computed right after that.
  Value of(Value i64) {
    if (Value known = known_.lookup(i64)) return known;
    OpBuilder b(i64.getContext());
    b.setInsertionPointAfterValue(i64);
    Value index;
    Operation *source = i64.getDefiningOp();
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::RemSIOp,
                        arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(source)) {
      SmallVector<Value> operands;
      for (Value operand : source->getOperands()) // the condition of a select is no i64
        operands.push_back(operand.getType().isInteger(64) ? of(operand) : operand);
      index = b.create(source->getLoc(), source->getName().getIdentifier(), operands, b.getIndexType())
                  ->getResult(0);
    } else {
      index = b.createOrFold<arith::IndexCastOp>(i64.getLoc(), b.getIndexType(), i64);
    }
    return known_[i64] = index;
  }

private:
  llvm::DenseMap<Value, Value> known_;
};

struct GraphSinkIndexCasts : impl::GraphSinkIndexCastsBase<GraphSinkIndexCasts> {
  void runOnOperation() override {
    SmallVector<arith::IndexCastOp> casts;
    getOperation()->walk([&](arith::IndexCastOp cast) {
      if (cast.getType().isIndex() && cast.getIn().getType().isInteger(64)) casts.push_back(cast);
    });
    Indices indices;
    for (arith::IndexCastOp cast : casts)
      cast.replaceAllUsesWith(indices.of(cast.getIn()));
    for (arith::IndexCastOp cast : casts)
      cast.erase();
    RewritePatternSet patterns(&getContext());
    arith::IndexCastOp::getCanonicalizationPatterns(patterns, &getContext());
    tile::populateMaskKeepingFolds(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config))) signalPassFailure();
  }
};

} // namespace
} // namespace tessera
