// schedule-split-reductions (normative phase 2, before formulas are decomposed): reduces adjacent axes as
// one, in parts that are programs of their own.
//
//   %y = graph.reduce max %x axes [0, 1]    ->    %f = graph.reshape %x           [M, N] -> [M*N]
//                                                 %p = graph.reduce max %f axes [0] parts 65536
//                                                 %y = graph.reduce max %p axes [0]
//
// One axis after the other would be as slow as the shortest row is: each row of 7 elements is a reduction of
// its own. Parts have the same size whatever the shape is. What is reduced may be computed from tensors of
// the same shape: then these are reshaped, which costs nothing, and fusion sees the computation beside the
// reduction as before. Reductions that this does not fit are left to graph-decompose, which is why it runs
// first.
//
// A search for the first extreme finds its position in each part; then the lowest position of the parts whose
// element there is the extreme of all, or a NaN, is the result:
//
//   %y = graph.reduce argmax %x axes [0]    ->    %i = graph.reduce argmax %x axes [0] parts 8192
//                                                 %v = graph.gather %x[%i]
//                                                 %m = graph.reduce max %v axes [0] {keep_dims}
//                                                 %p = select(%v == %m or %v != %v, %i, most)
//                                                 %y = graph.reduce min %p axes [0]
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULESPLITREDUCTIONS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

/// Rewrites one reduction.
class ReductionSplit {
public:
  ReductionSplit(ReduceOp op, FuncOp function, const codegen::Capabilities &target)
      : b_(op), op_(op), function_(function), part_(target.partElements), hasManyUnits_(target.threads > 0) {}

  void run() {
    const bool finds = isPosition(op_.getKind());
    if (op_.getAxes().empty() || (finds && !hasManyUnits_)) return;
    const Tensor input = op_.getInput().getType();
    first_ = op_.getAxes().front();
    count_ = static_cast<int64_t>(op_.getAxes().size());
    rank_ = input.getRank();
    if (op_.getAxes().back() != first_ + count_ - 1) return; // other axes are between them
    std::optional<int64_t> likely = 1;
    for (int64_t axis : op_.getAxes()) {
      const std::optional<int64_t> extent = schedule::likelyExtent(input, axis, function_);
      if (!extent || __builtin_mul_overflow(likely.value_or(0), *extent, &*likely)) likely = std::nullopt;
      if (!likely) break;
    }
    // Parts are another order of a sum than the fixed one.
    const bool isFixed = schedule::hasFixedOrder(op_);
    if (count_ == 1 && (isFixed || !isWorthParts(likely))) return;
    if (finds) return replaceBy(found());
    if (count_ > 1) findOwn();
    Value x = count_ == 1 ? Value(op_.getInput()) : merged(op_.getInput());
    if (!x) {
      for (Operation *op : llvm::reverse(made_))
        op->erase();
      // The order is that of one axis whatever the input is computed from.
      const Tensor flat = isFixed ? mergedType(op_.getInput().getType()) : Tensor();
      if (!flat) return;
      x = ReshapeOp::create(b_, op_.getLoc(), flat, op_.getInput());
    }
    replaceBy(reduced(x, !isFixed && (!likely || *likely > part_)));
  }

private:
  /// A single axis is worth a second launch where it is all the work and known to be long. Of a device with
  /// many units one would do all of it, and few those of a sum along an outer axis, which has a program for
  /// each 128 columns: there an axis is worth it unless it is known to be short.
  bool isWorthParts(std::optional<int64_t> likely) {
    if (!hasManyUnits_) return rank_ == 1 && likely.value_or(0) >= 2 * part_;
    if (rank_ > 1 && first_ == rank_ - 1) return false;
    if (rank_ > 1) part_ = schedule::kPartRows;
    return likely.value_or(2 * part_) >= 2 * part_;
  }

  /// The axes of a tensor whose last axes are those of the input: is each of the reduced ones there, or none?
  bool hasAll(Tensor t) {
    const int64_t first = first_ - (rank_ - t.getRank());
    return first >= 0 && t.getDims().getValue().slice(first, count_) ==
                             op_.getInput().getType().getDims().getValue().slice(first_, count_);
  }
  bool hasNone(Tensor t) {
    const int64_t first = first_ - (rank_ - t.getRank());
    for (int64_t d = std::max<int64_t>(first, 0); d < first + count_; ++d)
      if (!t.isOne(d)) return false;
    return true;
  }

  /// The type with the reduced axes merged; null if there is none.
  Tensor mergedType(Tensor t) {
    SmallVector<Attribute> dims(t.getDims().getValue());
    const int64_t first = std::max<int64_t>(first_ - (rank_ - t.getRank()), 0);
    const int64_t end = first_ + count_ - (rank_ - t.getRank());
    if (end <= 0) return t;
    Attribute extent = b_.getI64IntegerAttr(1);
    if (hasAll(t)) {
      std::vector<IndexExpr> extents;
      for (int64_t d = first; d < end; ++d)
        extents.push_back(t.getExtent(d));
      std::optional<IndexExpr> product = IndexExpr::product(extents);
      if (!product || product->checkText()) return {};
      extent = extentAttr(b_.getContext(), *product);
    } else if (!hasNone(t)) {
      return {};
    }
    dims.erase(dims.begin() + first, dims.begin() + end);
    dims.insert(dims.begin() + first, extent);
    return Tensor::get(b_.getContext(), b_.getArrayAttr(dims), t.getElementType());
  }

  /// The value with the reduced axes merged. What only this reduction needs is computed in that shape.
  Value merged(Value v) {
    auto type = dyn_cast<Tensor>(v.getType());
    if (!type || type.getRank() == 0) return v;
    if (Value known = merged_.lookup(v)) return known;
    const Tensor flat = mergedType(type);
    if (!flat) return {};
    Operation *op = v.getDefiningOp();
    Value result;
    if (!op || isa<LaunchOp, ReshapeOp, MatmulOp, ReduceOp, ScanOp, ConcatOp, AttentionOp>(op)) {
      result = flat == type ? v : ReshapeOp::create(b_, op_.getLoc(), flat, v).getResult();
    } else {
      if (!own_.contains(op)) return {};
      SmallVector<Value> operands;
      for (Value operand : op->getOperands()) {
        auto tensor = dyn_cast<Tensor>(operand.getType());
        if (isa<BroadcastOp>(op) && tensor && tensor.getRank() != 0) return {};
        operands.push_back(merged(operand));
        if (!operands.back()) return {};
      }
      Operation *copy = b_.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(flat);
      result = copy->getResult(0);
    }
    if (result != v) made_.push_back(result.getDefiningOp());
    merged_[v] = result;
    return result;
  }

  /// Finds the elementwise operations whose results only the reduction, and what is computed for it, reads.
  void findOwn() {
    for (Operation *op = op_->getPrevNode(); op; op = op->getPrevNode()) {
      if (!isa<UnaryOp, BinaryOp, SelectOp, CastOp, BroadcastOp>(op) || op->use_empty()) continue;
      if (llvm::all_of(op->getUsers(), [&](Operation *user) { return user == op_ || own_.contains(user); }))
        own_.insert(op);
    }
  }

  Value reduce(ReduceKind kind, Value x, bool inParts, bool keepsDims = false) {
    auto type = cast<Tensor>(x.getType());
    const bool finds = isPosition(kind);
    SmallVector<Attribute> dims(type.getDims().getValue());
    if (inParts)
      dims[first_] = partsOf(type, first_, part_);
    else if (keepsDims)
      dims[first_] = b_.getI64IntegerAttr(1);
    else
      dims.erase(dims.begin() + first_);
    auto result =
        Tensor::get(b_.getContext(), b_.getArrayAttr(dims), finds ? b_.getI32Type() : type.getElementType());
    return ReduceOp::create(b_, op_.getLoc(), result, kind, x, b_.getDenseI64ArrayAttr(first_), keepsDims,
                            inParts ? b_.getI64IntegerAttr(part_) : IntegerAttr());
  }

  Tensor withElementType(Value v, Type element) {
    return Tensor::get(b_.getContext(), cast<Tensor>(v.getType()).getDims(), element);
  }
  Value withElements(Value v, Type element) {
    const Tensor type = withElementType(v, element);
    return v.getType() == type ? v : CastOp::create(b_, op_.getLoc(), type, v).getResult();
  }

  /// Reduces the merged axis. Narrow floats are added in f32.
  Value reduced(Value x, bool inParts) {
    const ReduceKind kind = op_.getKind();
    const bool adds = kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::Prod;
    auto narrow = dyn_cast<FloatType>(cast<Tensor>(x.getType()).getElementType());
    if (adds && narrow && narrow.getWidth() < 32) x = withElements(x, b_.getF32Type());
    if (!inParts) return reduce(kind, x, false);
    const bool isMean = kind == ReduceKind::Mean;
    const IndexExpr extent = cast<Tensor>(x.getType()).getExtent(first_);
    x = reduce(isMean ? ReduceKind::Sum : kind, x, true);
    x = reduce(isMean ? ReduceKind::Sum : kind, x, false);
    if (!isMean) return x;
    auto single = [&](Type element) { return Tensor::get(b_.getContext(), b_.getArrayAttr({}), element); };
    Value count = DimOp::create(b_, op_.getLoc(), single(b_.getI64Type()),
                                tile::IndexExprAttr::get(b_.getContext(), extent));
    count = withElements(count, cast<Tensor>(x.getType()).getElementType());
    return BinaryOp::create(b_, op_.getLoc(), x.getType(), BinaryKind::Div, x, count);
  }

  /// The position of the first extreme, of parts: where parts have equal ones, the lowest. An axis without
  /// elements has position 0, as in one program.
  Value found() {
    const ReduceKind extreme = op_.getKind() == ReduceKind::ArgMax ? ReduceKind::Max : ReduceKind::Min;
    auto binary = [&](BinaryKind kind, Value lhs, Value rhs) -> Value {
      return BinaryOp::create(b_, op_.getLoc(), withElementType(lhs, b_.getI1Type()), kind, lhs, rhs);
    };
    auto select = [&](Value condition, Value lhs, Value rhs, Type type) -> Value {
      return SelectOp::create(b_, op_.getLoc(), type, condition, lhs, rhs);
    };
    auto constant = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(b_, op_.getLoc(), b_.getI32IntegerAttr(value));
    };
    const Type element = op_.getInput().getType().getElementType();
    const Value place = reduce(op_.getKind(), op_.getInput(), true);
    auto along = llvm::to_vector(llvm::seq<int64_t>(0, rank_));
    along[first_] = -1;
    const Value best =
        GatherOp::create(b_, op_.getLoc(), withElementType(place, element), op_.getInput(), place, along);
    Value wins = binary(BinaryKind::Eq, best, reduce(extreme, best, false, /*keepsDims=*/true));
    if (isa<FloatType>(element)) wins = binary(BinaryKind::Or, wins, binary(BinaryKind::Ne, best, best));
    const Value most = constant(INT32_MAX);
    const Value lowest = reduce(ReduceKind::Min, select(wins, place, most, place.getType()), false);
    return select(binary(BinaryKind::Eq, lowest, most), constant(0), lowest, lowest.getType());
  }

  void replaceBy(Value v) {
    v = withElements(v, op_.getType().getElementType());
    if (v.getType() != op_.getType()) v = ReshapeOp::create(b_, op_.getLoc(), op_.getType(), v);
    op_.getResult().replaceAllUsesWith(v);
    op_.erase();
    for (Operation *op : own_)
      if (op->use_empty()) op->erase();
  }

  OpBuilder b_;
  ReduceOp op_;
  FuncOp function_;
  int64_t part_; // elements along the reduced axis
  const bool hasManyUnits_;
  int64_t first_ = 0, count_ = 0, rank_ = 0;
  DenseMap<Value, Value> merged_;
  SmallVector<Operation *> made_;    // in the merged shape
  llvm::SetVector<Operation *> own_; // computed for the reduction alone, in reverse order
};

struct ScheduleSplitReductions : impl::ScheduleSplitReductionsBase<ScheduleSplitReductions> {
  using ScheduleSplitReductionsBase::ScheduleSplitReductionsBase;

  void runOnOperation() override {
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const codegen::Capabilities &known = (*found)->capabilities();
    for (ReduceOp op : llvm::to_vector(getOperation().getBody().front().getOps<ReduceOp>()))
      if (known.collapsesAxes || schedule::hasFixedOrder(op)) ReductionSplit(op, getOperation(), known).run();
  }
};

} // namespace
} // namespace tessera
