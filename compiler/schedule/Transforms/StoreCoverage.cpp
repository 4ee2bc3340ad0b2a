#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

/// Looks through casts between index and i64.
Value withoutCasts(Value v) {
  while (auto cast = v.getDefiningOp<arith::IndexCastOp>())
    v = cast.getIn();
  return v;
}

std::optional<int64_t> constantOf(Value v) {
  APInt value;
  if (matchPattern(withoutCasts(v), m_ConstantInt(&value))) return value.getSExtValue();
  return std::nullopt;
}

class CoverageCheck {
public:
  explicit CoverageCheck(KernelOp kernel) : kernel_(kernel) {}

  std::string run() {
    llvm::SmallPtrSet<Value, 4> stored;
    kernel_.walk([&](Operation *op) {
      if (auto store = dyn_cast<tile::StoreOp>(op)) {
        if (!isResult(store.getView())) return;
        stored.insert(store.getView());
        check(store.getView(), store.getStarts(), store.getExtents());
      } else if (auto store = dyn_cast<tile::StoreElemOp>(op)) {
        if (!isResult(store.getView())) return;
        stored.insert(store.getView());
        check(store.getView(), store.getIndices(), {});
      }
    });
    for (BlockArgument arg : kernel_.getBody().getArguments())
      if (isResult(arg) && !stored.contains(arg)) fail(arg, "is not stored");
    return why_;
  }

private:
  bool isResult(Value view) { return kernel_.getParam(view).isResult(); }

  void fail(Value view, const std::string &what) {
    if (why_.empty()) why_ = "'" + kernel_.getParam(view).getName().str() + "' " + what;
  }

  void check(Value view, ValueRange starts, ArrayRef<int64_t> extents) {
    auto names = kernel_.getParam(view).getDims().getAsRange<StringAttr>();
    for (Operation &op : kernel_.getBody().front())
      if (auto lanes = dyn_cast<LanesOp>(op)) return checkLanes(view, lanes.getCount().getExpr());
    for (auto [d, name] : llvm::enumerate(names))
      checkDim(view, d, name.getValue(), starts[d], extents.empty() ? 1 : std::max<int64_t>(extents[d], 1));
  }

  void checkLanes(Value view, const IndexExpr &count) {
    SmallVector<std::string> wanted, found; // factors
    for (auto dim : kernel_.getParam(view).getDims().getAsRange<StringAttr>())
      wanted.push_back(dim.str());
    count.forEach([&](IndexExpr::Code code, int64_t value) {
      using Code = IndexExpr::Code;
      if (code == Code::Mul) return;
      found.push_back(code == Code::Slot    ? count.symbols()[static_cast<size_t>(value)]
                      : code == Code::Const ? std::to_string(value)
                                            : "");
    });
    llvm::sort(wanted);
    llvm::sort(found);
    if (wanted != found) fail(view, "does not have an element for each lane");
  }

  /// Checks tiles of `extent` elements along dim `d`, from `start` on.
  void checkDim(Value view, size_t d, StringRef dim, Value start, int64_t extent) {
    std::string at = "along dim " + std::to_string(d);
    if (std::optional<int64_t> place = constantOf(start)) {
      int64_t length = 0;
      if (dim.getAsInteger(10, length) || *place != 0 || length > extent)
        fail(view, "is stored once " + at + ", " + std::to_string(extent) + " elements of it");
      return;
    }
    start = withoutCasts(start);
    // of concatenated tensors: the loop runs over one of them
    auto sum = start.getDefiningOp<arith::AddIOp>();
    auto variable = dyn_cast<BlockArgument>(sum ? withoutCasts(sum.getLhs()) : start);
    std::optional<int64_t> step;
    bool isWhole = false;
    Operation *walk = variable ? variable.getOwner()->getParentOp() : nullptr;
    if (auto grid = dyn_cast_if_present<GridOp>(walk)) {
      unsigned axis = variable.getArgNumber();
      auto bound = [&](ArrayAttr exprs) { return cast<tile::IndexExprAttr>(exprs[axis]); };
      step = bound(grid.getStep()).getExpr().asConstant();
      isWhole =
          bound(grid.getFrom()).getExpr().asConstant() == 0 && (sum || bound(grid.getTo()).text() == dim);
    } else if (auto loop = dyn_cast_if_present<scf::ForOp>(walk);
               loop && variable == loop.getInductionVar()) {
      step = constantOf(loop.getStep());
      isWhole =
          constantOf(loop.getLowerBound()) == 0 && (sum || isExtent(loop.getUpperBound(), view, d, dim));
    } else {
      return fail(view, "is stored at no variable's place " + at);
    }
    if (!step || *step < 1 || *step > extent)
      fail(view, "is stored in tiles of " + std::to_string(extent) + " elements " + at + ", in steps of " +
                     std::to_string(step.value_or(0)));
    else if (!isWhole)
      fail(view, "is not stored from its beginning to its end " + at);
  }

  /// Is it the dim's argument, or the constant that the dim is?
  bool isExtent(Value v, Value view, size_t d, StringRef dim) {
    if (std::optional<int64_t> known = constantOf(v))
      return cast<tile::ViewType>(view.getType()).getShape()[d] == *known;
    auto arg = dyn_cast<BlockArgument>(withoutCasts(v));
    return arg && arg.getOwner()->getParentOp() == kernel_ && kernel_.getParam(arg).getName() == dim;
  }

  KernelOp kernel_;
  std::string why_;
};

} // namespace

std::string whyNotCovered(KernelOp kernel) { return CoverageCheck(kernel).run(); }

} // namespace tessera::schedule
