// graph-sink-reshapes: computes before it drops axes of one element, because a reshape ends a group. A column
// of a matrix (x[:, 0]) is a slice and such a reshape:
//
//   %s = graph.slice %x starts ["0", "1"] : [N, 3] -> [N, 1]      %s = graph.slice %x starts ["0", "1"]
//   %c = graph.reshape %s : [N, 1] -> [N]                    ->   %e = graph.unary exp %s : [N, 1]
//   %e = graph.unary exp %c : [N]                                 %r = graph.reshape %e : [N, 1] -> [N]
//
// It runs after decomposition, whose formulas it moves too, and before CSE, which joins the slices.
// Operations that a reduction or a product reads keep their axes: they are part of its group.
#include "compiler/graph/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_GRAPHSINKRESHAPES
#include "compiler/graph/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

bool isSinkable(Operation *op) { return isa_and_nonnull<UnaryOp, BinaryOp, SelectOp, CastOp>(op); }

/// Returns the axes of its input that a reshape drops, if all it does is to drop axes of one element.
std::optional<SmallVector<int64_t>> droppedAxes(ReshapeOp reshape) {
  Tensor from = reshape.getInput().getType(), to = reshape.getType();
  SmallVector<int64_t> dropped;
  int64_t next = 0;
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    if (next < to.getRank() && from.getDims()[axis] == to.getDims()[next])
      ++next;
    else if (from.isOne(axis))
      dropped.push_back(axis);
    else
      return std::nullopt;
  }
  if (next != to.getRank() || dropped.empty()) return std::nullopt;
  return dropped;
}

/// Moves the reshapes of an operation's operands behind the operation.
class Sinking {
public:
  explicit Sinking(Operation *op) : op_(op), b_(op), result_(cast<Tensor>(op->getResult(0).getType())) {}

  void run() {
    if (!llvm::all_of(op_->getUsers(), [](Operation *user) {
          return isSinkable(user) || isa<ReshapeOp, LaunchOp, ReturnOp>(user);
        }))
      return;
    for (Value operand : op_->getOperands()) {
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (!reshape || reshape.getType().getDims() != result_.getDims()) continue;
      Operation *source = reshape.getInput().getDefiningOp();
      if (!isSinkable(source) && !isa_and_nonnull<SliceOp>(source)) continue;
      std::optional<SmallVector<int64_t>> dropped = droppedAxes(reshape);
      if (!dropped) continue;
      wide_ = reshape.getInput().getType();
      dropped_ = std::move(*dropped);
      return sink();
    }
  }

private:
  /// Returns the type of an operand with the dropped axes, which are of one element.
  Tensor widened(Tensor type) {
    SmallVector<Attribute> dims;
    int64_t left = type.getRank();
    const bool hasAllAxes = left == result_.getRank(); // others are added before the first by broadcasting
    for (int64_t axis = wide_.getRank(); axis-- > 0 && (left > 0 || hasAllAxes);)
      dims.push_back(llvm::is_contained(dropped_, axis) ? Attribute(b_.getI64IntegerAttr(1))
                                                        : type.getDims()[--left]);
    std::reverse(dims.begin(), dims.end());
    return Tensor::get(op_->getContext(), b_.getArrayAttr(dims), type.getElementType());
  }

  /// Returns the operand with the dropped axes. Null if it would have to be stored for that: it is computed
  /// by an operation that fuses with this one as it is.
  Value widen(Value operand) {
    auto type = dyn_cast<Tensor>(operand.getType());
    if (!type) return operand;
    Tensor wide = widened(type);
    if (wide == type) return operand;
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    Value source = reshape ? Value(reshape.getInput()) : operand;
    if (source.getType() == wide) return source;
    if (!isa<BlockArgument>(source) && !isa<LaunchOp>(source.getDefiningOp())) return {};
    return ReshapeOp::create(b_, op_->getLoc(), wide, source);
  }

  void sink() {
    SmallVector<Value> operands;
    for (Value operand : op_->getOperands()) {
      operands.push_back(widen(operand));
      if (!operands.back()) return; // reshapes without users are removed later
    }
    Operation *sunk = b_.clone(*op_);
    sunk->setOperands(operands);
    sunk->getResult(0).setType(Tensor::get(op_->getContext(), wide_.getDims(), result_.getElementType()));
    op_->getResult(0).replaceAllUsesWith(
        ReshapeOp::create(b_, op_->getLoc(), result_, sunk->getResult(0)).getResult());
    op_->erase();
  }

  Operation *op_;
  OpBuilder b_;
  Tensor result_, wide_;
  SmallVector<int64_t> dropped_;
};

struct GraphSinkReshapes : impl::GraphSinkReshapesBase<GraphSinkReshapes> {
  void runOnOperation() override {
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (auto reshape = dyn_cast<ReshapeOp>(op))
        join(reshape);
      else if (isSinkable(&op))
        Sinking(&op).run();
    }
  }

  /// A reshape of a reshape is one, or none.
  static void join(ReshapeOp reshape) {
    auto before = reshape.getInput().getDefiningOp<ReshapeOp>();
    if (!before) return;
    reshape.getInputMutable().assign(before.getInput());
    if (before.getInput().getType() != reshape.getType()) return;
    reshape.replaceAllUsesWith(before.getInput());
    reshape.erase();
  }
};

} // namespace
} // namespace tessera
