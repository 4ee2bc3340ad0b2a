// schedule-unroll-reductions (normative phase 2, after schedule-split-reductions): reduces short axes by
// operations on slices, as pooling needs it.
//
//   %y = graph.reduce max %x axes [1, 3]    ->    %a = graph.slice %x starts ["0", "0", "0", "0"]
//     [H, 2, W, 2] -> [H, W]                      %b = graph.slice %x starts ["0", "0", "0", "1"]
//                                                 %c = graph.binary maximum %a, %b
//                                                 ... of row 1 as well ...
//                                                 %f = graph.binary maximum %c, %e      [H, 1, W, 1]
//                                                 %y = graph.reshape %f
//
// A reduction walks one axis: two axes that are not adjacent would need two launches, and a tile along an
// axis of two elements has two elements in each row. Slices are elementwise operations: one launch reads
// every element once, by vectors with a stride. Elementwise operations before the reduction are computed of
// each slice. The order is that of a fixed sum (docs/strict.md), in every profile.
//
// It runs after adjacent axes have been merged, and before a reduction of several axes is decomposed to one
// of each. A reduction stays as it is if it reads what a group computes in the same pass, or if it keeps its
// one axis, so that the group that reduces also computes what the result is broadcast to. Where vectors go
// along rows, that group wastes them on short rows, and two launches are faster (docs/decisions/0182).
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "compiler/tile/IR/TileDialect.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEUNROLLREDUCTIONS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

/// Elements that are reduced to one: each has a slice, which must fit into one group.
constexpr int64_t kMostElements = 16;
/// Elements of the last axis, whose slices are read with that stride: measured in docs/decisions/0182.
constexpr int64_t kMostOfLastAxis = 6, kMostBytesOfLastAxis = 4;

/// Rewrites one reduction.
class UnrolledReduction {
public:
  UnrolledReduction(ReduceOp op, bool hasThreads)
      : b_(op), op_(op), input_(op.getInput().getType()), axes_(op.getAxes()), kind_(op.getKind()),
        step_(combinationOf(kind_)), isFixed_(schedule::hasFixedOrder(op)), hasThreads_(hasThreads) {}

  void run() {
    const Type element = input_.getElementType();
    if (!step_ || op_.getParts() || element.isInteger(1) || axes_.empty()) return;
    if (kind_ == ReduceKind::Mean && !isa<FloatType>(element)) return;
    if (static_cast<int64_t>(axes_.size()) >= input_.getRank()) return;
    // The result of one axis is broadcast again by the group that computes it. But short rows fill no vector;
    // a thread has a row of its own.
    if (keepsItsAxis() && (hasThreads_ || !reducesLast())) return;
    findOwn();
    if (!fits()) return;
    Value result = reduced(0, {});
    if (adds() && isa<FloatType>(element)) result = binary(BinaryKind::Add, result, constant(result, 0));
    if (kind_ == ReduceKind::Mean && !isFixed_) result = divided(result, elements());
    result = cast(result, element);
    if (result.getType() != op_.getType())
      result = ReshapeOp::create(b_, op_.getLoc(), op_.getType(), result);
    op_.getResult().replaceAllUsesWith(result);
    op_.erase();
    for (Operation *op : own_) // in reverse order
      if (op->use_empty()) op->erase();
  }

private:
  bool keepsItsAxis() { return axes_.size() == 1 && op_.getKeepDims(); }
  bool reducesLast() const { return axes_.back() + 1 == input_.getRank(); }
  bool adds() const { return kind_ == ReduceKind::Sum || kind_ == ReduceKind::Mean; }

  std::optional<int64_t> extent(int64_t axis) const {
    auto known = dyn_cast<IntegerAttr>(input_.getDims()[axis]);
    return known ? std::optional(known.getInt()) : std::nullopt;
  }
  int64_t elements() const {
    int64_t product = 1;
    for (int64_t axis : axes_)
      product *= *extent(axis);
    return product;
  }

  /// Are the axes short enough, and do the operations fit into one group?
  bool fits() {
    int64_t product = 1;
    for (int64_t axis : axes_) {
      const std::optional<int64_t> length = extent(axis);
      if (!length || *length < 1 || *length > kMostElements) return false;
      product *= *length;
    }
    if (product < 2 || product > kMostElements) return false;
    if (reducesLast()) {
      const bool isByte = input_.getElementType().getIntOrFloatBitWidth() <= 8;
      if (*extent(axes_.back()) > (isByte ? kMostBytesOfLastAxis : kMostOfLastAxis)) return false;
    }
    int64_t each = isNarrow(op_.getInput()) ? 2 : 1; // combined, and widened
    for (Operation *op : own_)
      each += isa<BroadcastOp>(op) ? 0 : 1;
    if (product * each + 2 > schedule::kMaxGroupOperations) return false; // and the mean, cast
    return isReadable(op_.getInput());
  }

  /// Is it combined in f32 and rounded once? An extreme has the same value so, and needs fewer casts.
  static bool isNarrow(Value v) {
    auto narrow = dyn_cast<FloatType>(::mlir::cast<Tensor>(v.getType()).getElementType());
    return narrow && narrow.getWidth() < 32;
  }

  /// Finds the elementwise operations whose results only reductions along these axes read, and what is
  /// computed for them. Arithmetic of short rows is repeated if others read it, too.
  void findOwn() {
    auto isAlike = [&](Operation *user) {
      auto other = dyn_cast<ReduceOp>(user);
      return other && other.getAxes() == op_.getAxes() && other.getKeepDims() == op_.getKeepDims() &&
             !isPosition(other.getKind()) && other.getInput().getType().getDims() == input_.getDims();
    };
    llvm::SmallPtrSet<Operation *, 8> needed;
    if (Operation *op = op_.getInput().getDefiningOp()) needed.insert(op);
    for (Operation *op = op_->getPrevNode(); op; op = op->getPrevNode()) {
      if (!needed.contains(op) || !isa<UnaryOp, BinaryOp, SelectOp, CastOp, BroadcastOp>(op)) continue;
      auto isPart = [&](Operation *user) { return isAlike(user) || own_.contains(user); };
      const bool isRepeated = keepsItsAxis() && isa<BinaryOp, CastOp, BroadcastOp>(op);
      if (!isRepeated && !llvm::all_of(op->getUsers(), isPart)) continue;
      own_.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *before = operand.getDefiningOp()) needed.insert(before);
    }
  }

  /// Is everything that the value is computed from in memory before the group begins?
  bool isReadable(Value v) {
    auto type = dyn_cast<Tensor>(v.getType());
    Operation *op = v.getDefiningOp();
    if (!type || (partType(type) == type && !own_.contains(op))) return true; // not sliced
    if (!op || isa<LaunchOp, ReshapeOp, MatmulOp, ConcatOp, AttentionOp>(op)) return true;
    if (auto slice = dyn_cast<SliceOp>(op)) return isReadable(slice.getInput());
    if (own_.contains(op))
      return llvm::all_of(op->getOperands(), [&](Value operand) { return isReadable(operand); });
    // What is shared, or reduced before, is stored for the second of two launches in any case.
    return axes_.size() > 1 && isa<UnaryOp, BinaryOp, SelectOp, CastOp, ReduceOp>(op);
  }

  /// The type of a part: the reduced axes have one element. `type` has the last axes of the input.
  Tensor partType(Tensor type) {
    SmallVector<Attribute> dims(type.getDims().getValue());
    for (int64_t axis : axes_)
      if (const int64_t d = axis - (input_.getRank() - type.getRank()); d >= 0)
        dims[d] = b_.getI64IntegerAttr(1);
    return Tensor::get(b_.getContext(), b_.getArrayAttr(dims), type.getElementType());
  }

  /// The part of a value at `place`, an index along each of the axes.
  Value part(Value v, ArrayRef<int64_t> place, DenseMap<Value, Value> &known) {
    auto type = dyn_cast<Tensor>(v.getType());
    if (!type) return v;
    const Tensor narrow = partType(type);
    Operation *op = v.getDefiningOp();
    const bool isOwn = op && own_.contains(op);
    if (narrow == type && !isOwn) return v;
    if (Value made = known.lookup(v)) return made;
    if (isOwn) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(part(operand, place, known));
      Operation *copy = b_.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(narrow);
      return known[v] = copy->getResult(0);
    }
    SmallVector<Attribute> starts(type.getRank(), start(0));
    for (auto [axis, index] : llvm::zip_equal(axes_, place))
      if (const int64_t d = axis - (input_.getRank() - type.getRank()); d >= 0 && !type.isOne(d))
        starts[d] = start(index);
    return known[v] =
               SliceOp::create(b_, op_.getLoc(), narrow, v, b_.getArrayAttr(starts), DenseI64ArrayAttr());
  }

  Attribute start(int64_t index) {
    return tile::IndexExprAttr::get(b_.getContext(), IndexExpr::constant(index));
  }

  Value cast(Value v, Type element) {
    auto type = ::mlir::cast<Tensor>(v.getType());
    if (type.getElementType() == element) return v;
    return CastOp::create(b_, op_.getLoc(), Tensor::get(b_.getContext(), type.getDims(), element), v);
  }
  Value binary(BinaryKind kind, Value lhs, Value rhs) {
    return BinaryOp::create(b_, op_.getLoc(), lhs.getType(), kind, lhs, rhs);
  }
  Value constant(Value like, double value) {
    const Type element = ::mlir::cast<Tensor>(like.getType()).getElementType();
    return arith::ConstantOp::create(b_, op_.getLoc(), b_.getFloatAttr(element, value));
  }
  Value divided(Value v, int64_t count) {
    return binary(BinaryKind::Div, v, constant(v, static_cast<double>(count)));
  }

  /// Reduces the axes from number `first` on, the last of them first; `place` has the index along those
  /// before.
  Value reduced(size_t first, const SmallVector<int64_t> &place) {
    if (first == axes_.size()) {
      DenseMap<Value, Value> known;
      Value v = part(op_.getInput(), place, known);
      return isNarrow(v) ? cast(v, b_.getF32Type()) : v;
    }
    SmallVector<Value> values;
    for (int64_t index = 0; index < *extent(axes_[first]); ++index) {
      SmallVector<int64_t> next(place);
      next.push_back(index);
      values.push_back(reduced(first + 1, next));
    }
    const int64_t count = static_cast<int64_t>(values.size());
    // Axes after it have been reduced; they are dropped unless they are kept.
    const size_t dropped = op_.getKeepDims() ? 0 : axes_.size() - first - 1;
    const bool isLast = axes_[first] + 1 + static_cast<int64_t>(dropped) == input_.getRank();
    // The lanes of a block of the last axis are folded by halves; another axis is added in order.
    for (int64_t half = isLast ? kMostElements / 2 : 0; half > 0; half /= 2)
      for (int64_t lane = 0; lane < half && lane + half < std::min(count, 2 * half); ++lane)
        values[lane] = binary(*step_, values[lane], values[lane + half]);
    if (!isLast)
      for (int64_t i = 1; i < count; ++i)
        values[0] = binary(*step_, values[0], values[i]);
    return kind_ == ReduceKind::Mean && isFixed_ ? divided(values[0], count) : values[0];
  }

  OpBuilder b_;
  ReduceOp op_;
  const Tensor input_;
  const SmallVector<int64_t> axes_;
  const ReduceKind kind_;
  const std::optional<BinaryKind> step_;
  const bool isFixed_, hasThreads_;
  llvm::SetVector<Operation *> own_; // computed for such reductions alone, in reverse order
};

struct ScheduleUnrollReductions : impl::ScheduleUnrollReductionsBase<ScheduleUnrollReductions> {
  using ScheduleUnrollReductionsBase::ScheduleUnrollReductionsBase;

  void runOnOperation() override {
    auto fusion = getOperation()->getAttrOfType<StringAttr>(tile::kFusion);
    if (fusion && fusion.getValue() == "none") return; // each slice would be a launch
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const bool hasThreads = (*found)->capabilities().threads > 0;
    for (ReduceOp op : llvm::to_vector(getOperation().getBody().front().getOps<ReduceOp>()))
      UnrolledReduction(op, hasThreads).run();
  }
};

} // namespace
} // namespace tessera
