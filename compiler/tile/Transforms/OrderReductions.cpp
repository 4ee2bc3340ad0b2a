// tile-order-reductions (normative phase 6): decides which partial result each element of a reduction belongs
// to.
//
//   vectors   along the last axis a partial result per lane, and four such vectors to hide the latency of
//   additions;
//             along another axis the elements in order, since the lanes are other results
//   threads   if there are more threads than results, a power of two of them share each result; along the
//   last axis each has
//             neighbouring lanes, which it reads by one access
//
// Chains that the profile permits (`reassociation`) are added where latency is not hidden otherwise.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"

namespace tessera {
#define GEN_PASS_DEF_TILEORDERREDUCTIONS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

class OrderReductions : public impl::TileOrderReductionsBase<OrderReductions> {
public:
  using impl::TileOrderReductionsBase<OrderReductions>::TileOrderReductionsBase;

private:
  int64_t threadCount() { return getOperation().getThreads().value_or(threads); }

  void runOnOperation() override {
    const bool mayRegroup = permitsOf(getOperation()).value_or(NumericsPermissions()).reassociation;
    getOperation()->walk([&](ReduceOp op) {
      if (op.getOrder() || isInRegisters(op.getInput())) return; // the layout decides
      const bool sumsFloats =
          op.getKind() == ReduceKind::Sum && isa<FloatType>(tileType(op.getInput()).getElementType());
      op.setOrderAttr(threadCount() ? amongThreads(op) : inVectors(op, mayRegroup && sumsFloats));
    });
  }

  OrderAttr order(int64_t lanes, ArrayRef<int64_t> chains = {}) {
    return OrderAttr::get(&getContext(), lanes, chains);
  }

  OrderAttr amongThreads(ReduceOp op) {
    auto type = tileType(op.getInput());
    const int64_t n = type.getDimSize(op.getAxis()), results = type.getNumElements() / n;
    const int64_t width = threadsPerResult(threadCount(), results, n);
    const bool alongLast = op.getAxis() + 1 == static_cast<uint64_t>(type.getRank());
    int64_t length = width > 1 && alongLast ? vectorLength(op.getInput(), /*computesRoots=*/false) : 1;
    while (n % (width * length) && length > 1)
      length /= 2;
    return order(width * length);
  }

  OrderAttr inVectors(ReduceOp op, bool regroups) {
    Value input = op.getInput();
    auto type = tileType(input);
    const int64_t lanes = std::max<int64_t>(*getOperation().getVectorBytes() / widestElement(input), 1);
    const bool alongLast = op.getAxis() + 1 == static_cast<uint64_t>(type.getRank());
    if (alongLast) return order(lanes, regroups ? ArrayRef<int64_t>{8, 4, 1} : ArrayRef<int64_t>{4, 1});
    // Several vectors of columns side by side hide latency, too.
    const bool hasOneVector = !isShort(input) || type.getShape().back() <= lanes;
    return regroups && hasOneVector ? order(1, {4, 1}) : order(1);
  }
};

} // namespace
} // namespace tessera
