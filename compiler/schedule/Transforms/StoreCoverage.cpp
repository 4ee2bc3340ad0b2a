#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "compiler/tile/IR/TileBounds.h"
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

/// Checks that a tile has a value wherever the tensor that it is stored to is in bounds.
class PresenceCheck {
public:
  explicit PresenceCheck(tile::StoreOp store) : kernel_(store->getParentOfType<KernelOp>()) {
    auto names = kernel_.getParam(store.getView()).getDims().getAsRange<StringAttr>();
    for (auto [start, extent, name] : llvm::zip_equal(store.getStarts(), store.getExtents(), names))
      (extent > 0 ? axes_ : indices_).push_back({Place::Along, start, name.getValue()});
  }

  bool run(tile::StoreOp store) {
    return !store.getFlags() && store.getLower().empty() && isPresent(store.getValue(), axes_);
  }

private:
  /// Where an axis of a value is: along a dim of the stored tensor, combined before it is stored (what is
  /// masked does not count there), or repeated from one element.
  struct Place {
    enum : uint8_t { Along, Combined, Repeated } kind;
    Value start = {};
    StringRef dim = {};
    bool operator==(const Place &) const = default;
  };
  using Places = SmallVector<Place, 4>;

  static bool isSame(const Place &place, Value start, StringRef dim) {
    return place.dim == dim && tile::sameExpression(withoutCasts(place.start), withoutCasts(start));
  }

  bool isLoadPresent(tile::LoadOp load, const Places &axes) {
    size_t next = 0;
    auto names = kernel_.getParam(load.getView()).getDims().getAsRange<StringAttr>();
    for (auto [start, extent, name] : llvm::zip_equal(load.getStarts(), load.getExtents(), names)) {
      const StringRef dim = name.getValue();
      int64_t length = 0;
      if (std::optional<int64_t> first = constantOf(start); first && !dim.getAsInteger(10, length)) {
        next += extent > 0;
        if (*first < 0 || *first + std::max<int64_t>(extent, 1) > length) return false;
      } else if (extent > 0) {
        const Place &place = axes[next++];
        if (place.kind == Place::Combined) continue;
        if (place.kind != Place::Along || !isSame(place, start, dim)) return false;
      } else {
        auto isHere = [&, start = start](const Place &place) { return isSame(place, start, dim); };
        if (llvm::none_of(indices_, isHere) && llvm::none_of(axes_, isHere)) return false;
      }
    }
    return true;
  }

  bool isPresent(Value v, const Places &axes) {
    if (!isa<RankedTensorType>(v.getType())) return true;
    if (auto arg = dyn_cast<BlockArgument>(v)) {
      auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
      return loop && isCarriedPresent(loop, arg.getArgNumber() - 1, axes);
    }
    Operation *op = v.getDefiningOp();
    auto all = [&](const Places &places) {
      return llvm::all_of(op->getOperands(), [&](Value operand) { return isPresent(operand, places); });
    };
    if (auto load = dyn_cast<tile::LoadOp>(op)) return isLoadPresent(load, axes);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return isCarriedPresent(loop, cast<OpResult>(v).getResultNumber(), axes);
    if (op->hasTrait<OpTrait::ConstantLike>() || isa<tile::IotaOp, tile::FillMaskedOp>(op)) return true;
    if (op->hasTrait<OpTrait::Elementwise>() || isa<tile::CastOp, tile::WhereOp>(op)) return all(axes);
    Places inner = axes;
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
      inner.erase(inner.begin() + static_cast<int64_t>(expand.getAxis()));
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      inner.insert(inner.begin() + static_cast<int64_t>(reduce.getAxis()), {Place::Combined});
    } else if (isa<tile::TransposeOp>(op)) {
      std::swap(inner[inner.size() - 1], inner[inner.size() - 2]);
    } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      auto from = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
      if (!from) return true;
      for (auto [place, extent] : llvm::zip_equal(inner, from.getShape()))
        if (extent == 1) place = {Place::Repeated};
    } else if (auto mma = dyn_cast<tile::MmaOp>(op)) {
      auto factor = [&](Value x, const Place &row, const Place &column, bool transposed) {
        return isa<RankedTensorType>(x.getType()) &&
               isPresent(x, transposed ? Places{column, row} : Places{row, column});
      };
      return factor(mma.getA(), axes[0], {Place::Combined}, mma.getTransA()) &&
             factor(mma.getB(), {Place::Combined}, axes[1], mma.getTransB()) && isPresent(mma.getAcc(), axes);
    } else {
      return false;
    }
    return all(inner);
  }

  /// A value that a loop carries: the one before the loop, and the one that each iteration gives.
  bool isCarriedPresent(scf::ForOp loop, unsigned number, const Places &axes) {
    auto [known, isNew] = carried_.try_emplace({loop, number}, axes);
    if (!isNew) return known->second == axes; // as present as the others are
    return isPresent(loop.getInitArgs()[number], axes) &&
           isPresent(loop.getBody()->getTerminator()->getOperand(number), axes);
  }

  KernelOp kernel_;
  Places axes_, indices_; // of the stored tensor
  llvm::DenseMap<std::pair<Operation *, unsigned>, Places> carried_;
};

class CoverageCheck {
public:
  /// Of the kernel's results, or of one tensor.
  explicit CoverageCheck(KernelOp kernel, Value only = {}, std::optional<KnownLength> known = {})
      : kernel_(kernel), only_(only), known_(std::move(known)) {}

  /// Does each store happen in every program, with a value for every element?
  bool isUnconditional() {
    bool found = false, each = true;
    auto isEach = [&](Operation *op, Value view) {
      if (view != only_) return true;
      found = true;
      for (Operation *outer = op->getParentOp(); outer != kernel_; outer = outer->getParentOp())
        if (!isa<GridOp, LanesOp>(outer) && !walks_.contains(outer)) return false;
      return true;
    };
    kernel_.walk([&](Operation *op) {
      if (auto store = dyn_cast<tile::StoreOp>(op))
        each &= isEach(op, store.getView()) && (store.getView() != only_ || PresenceCheck(store).run(store));
      else if (auto store = dyn_cast<tile::StoreElemOp>(op))
        each &= isEach(op, store.getView()) && isLaneOfOne(store);
      else if (isa<tile::ScatterOp>(op) && llvm::is_contained(op->getOperands(), only_))
        each = false;
    });
    return found && each;
  }

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
  bool isResult(Value view) { return only_ ? view == only_ : kernel_.getParam(view).isResult(); }

  /// A lane of a program of lanes stores the element of its number.
  bool isLaneOfOne(tile::StoreElemOp store) {
    auto lanes = store->getParentOfType<LanesOp>();
    if (store.getView() != only_ || !lanes) return true;
    return store.getIndices().size() == 1 &&
           withoutCasts(store.getIndices()[0]) == lanes.getBody().getArgument(0);
  }

  void fail(Value view, const std::string &what) {
    if (why_.empty()) why_ = "'" + kernel_.getParam(view).getName().str() + "' " + what;
  }

  void check(Value view, ValueRange starts, ArrayRef<int64_t> extents) {
    auto names = kernel_.getParam(view).getDims().getAsRange<StringAttr>();
    for (Operation &op : kernel_.getBody().front())
      if (auto lanes = dyn_cast<LanesOp>(op)) return checkLanes(view, lanes.getCount().getExpr());
    variables_.clear();
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
      int64_t length = known_ && known_->dim == dim ? known_->most : 0;
      if ((!length && dim.getAsInteger(10, length)) || *place != 0 || length > extent)
        fail(view, "is stored once " + at + ", " + std::to_string(extent) + " elements of it");
      return;
    }
    start = withoutCasts(start);
    if (isOfPart(view, d, dim, start, extent)) return;
    // of concatenated tensors: the loop runs over one of them
    auto sum = only_ ? arith::AddIOp() : start.getDefiningOp<arith::AddIOp>();
    auto variable = dyn_cast<BlockArgument>(sum ? withoutCasts(sum.getLhs()) : start);
    if (variable && !variables_.insert(variable).second)
      return fail(view, "is stored along a diagonal " + at);
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
      walks_.insert(loop);
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

  /// Is the place that of a loop over a part of the dim, part * count + position, in programs of all parts?
  bool isOfPart(Value view, size_t d, StringRef dim, Value start, int64_t extent) {
    auto sum = start.getDefiningOp<arith::AddIOp>();
    auto first = sum ? withoutCasts(sum.getLhs()).getDefiningOp<arith::MulIOp>() : arith::MulIOp();
    auto position = sum ? dyn_cast<BlockArgument>(withoutCasts(sum.getRhs())) : BlockArgument();
    auto part = first ? dyn_cast<BlockArgument>(withoutCasts(first.getLhs())) : BlockArgument();
    if (!position || !part || only_) return false; // the number of parts is the caller's
    const std::optional<int64_t> count = constantOf(first.getRhs());
    auto grid = dyn_cast<GridOp>(part.getOwner()->getParentOp());
    auto loop = dyn_cast<scf::ForOp>(position.getOwner()->getParentOp());
    if (!count || !grid || !loop || position != loop.getInductionVar()) return false;
    auto bound = [&](ArrayAttr exprs) {
      return cast<tile::IndexExprAttr>(exprs[part.getArgNumber()]).getExpr().asConstant();
    };
    if (bound(grid.getFrom()) != 0 || bound(grid.getStep()) != 1) return false;
    const std::optional<int64_t> step = constantOf(loop.getStep());
    if (constantOf(loop.getLowerBound()) != 0 || !step || *step < 1 || *step > extent) return false;
    auto least = withoutCasts(loop.getUpperBound()).getDefiningOp<arith::MinSIOp>();
    auto rest = least ? withoutCasts(least.getLhs()).getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    return rest && constantOf(least.getRhs()) == count && withoutCasts(rest.getRhs()) == first.getResult() &&
           isExtent(rest.getLhs(), view, d, dim) && variables_.insert(part).second &&
           variables_.insert(position).second;
  }

  /// Is it the dim's argument, or the constant that the dim is?
  bool isExtent(Value v, Value view, size_t d, StringRef dim) {
    if (std::optional<int64_t> known = constantOf(v))
      return cast<tile::ViewType>(view.getType()).getShape()[d] == *known;
    auto arg = dyn_cast<BlockArgument>(withoutCasts(v));
    return arg && arg.getOwner()->getParentOp() == kernel_ && kernel_.getParam(arg).getName() == dim;
  }

  KernelOp kernel_;
  Value only_;
  std::optional<KnownLength> known_;
  std::string why_;
  llvm::SmallPtrSet<Operation *, 4> walks_; // loops along a stored tensor
  llvm::SmallPtrSet<Value, 4> variables_;   // of the store that is checked
};

} // namespace

std::string whyNotCovered(KernelOp kernel, const std::optional<KnownLength> &known) {
  return CoverageCheck(kernel, {}, known).run();
}

bool overwrites(KernelOp kernel, Value view) {
  CoverageCheck check(kernel, view);
  return check.run().empty() && check.isUnconditional();
}

} // namespace tessera::schedule
