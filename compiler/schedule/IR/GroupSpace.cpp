#include "compiler/schedule/IR/GroupSpace.h"

using namespace mlir;

namespace tessera::schedule {

using Tensor = GroupSpace::Tensor;
using Axes = GroupSpace::Axes;
using Refusal = GroupSpace::Refusal;

bool isElementwiseOp(Operation *op) {
  return isa<graph::UnaryOp, graph::BinaryOp, graph::SelectOp, graph::CastOp, graph::BroadcastOp,
             graph::IotaOp>(op);
}

bool isUniformOp(Operation *op, llvm::function_ref<bool(Value)> isUniform) {
  auto isSingle = [](Type type) {
    auto tensor = dyn_cast<Tensor>(type);
    return tensor && tensor.getRank() == 0;
  };
  if (isa<graph::DimOp>(op)) return true;
  return isElementwiseOp(op) && isSingle(op->getResult(0).getType()) &&
         llvm::all_of(op->getOperands(), [&](Value v) {
           return !isa<Tensor>(v.getType()) || (isSingle(v.getType()) && isUniform(v));
         });
}

/// Is it a slice that only concats read?
static bool isPartOfConcat(Operation *op) {
  return isa<graph::SliceOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isa<graph::ConcatOp>(user); });
}

static Tensor resultType(Operation *op) { return cast<Tensor>(op->getResult(0).getType()); }

Axes GroupSpace::identity(Tensor type) { return llvm::to_vector<4>(llvm::seq<int64_t>(0, type.getRank())); }

/// Returns the axes of a tensor of `type` whose last axes correspond to those of `axes` (NumPy's rule of
/// broadcasting).
static Axes alignRight(Tensor type, const Axes &axes) {
  Axes out(axes.end() - type.getRank(), axes.end());
  for (auto [d, axis] : llvm::enumerate(out))
    if (type.isOne(d)) axis = GroupSpace::kFixed;
  return out;
}

Axes GroupSpace::axesOf(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  auto type = cast<Tensor>(operand.get().getType());
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    Axes axes(type.getRank());
    for (auto [d, axis] : llvm::enumerate(transpose.getPerm()))
      axes[axis] = type.isOne(axis) ? kFixed : static_cast<int64_t>(d);
    return axes;
  }
  if (auto gather = dyn_cast<graph::GatherOp>(op); gather && operand.getOperandNumber() == 0)
    return Axes(gather.getAlong().begin(), gather.getAlong().end());
  // The tensor's positions are those of the result, less a distance, also along an axis of extent 1.
  if (isa<graph::PadOp>(op) && operand.getOperandNumber() == 0) return identity(type);
  if (isa<graph::ReduceOp>(op)) return alignRight(type, identity(space_));
  if (isa<graph::ScanOp>(op) && operand.getOperandNumber() == 1) {
    Axes axes = alignRight(type, identity(space_));
    axes[*reduced_] = kParts;
    return axes;
  }
  return alignRight(type, axesOf(op->getResult(0)));
}

std::pair<int64_t, int64_t> GroupSpace::tileAxes() const {
  const int64_t rank = space().getRank();
  if (interleaves_) return {kFixed, rank - 2};
  if (kind_ != GroupKind::Map) return {rank >= 2 ? rank - 2 : kFixed, rank - 1};
  SmallVector<int64_t> longer;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!space().isOne(axis)) longer.push_back(axis);
  if (longer.empty()) return {kFixed, rank - 1};
  if (contiguous_ && *contiguous_ != longer.back() && !space().isOne(*contiguous_))
    return {*contiguous_, longer.back()};
  return {longer.size() > 1 ? longer[longer.size() - 2] : kFixed, longer.back()};
}

bool GroupSpace::varies(Value v) const { return !reduced_ || llvm::is_contained(axesOf(v), *reduced_); }

/// Is it a value of rank 0 that the group computes without a reduction?
bool GroupSpace::isUniform(Operation *op) const {
  return isUniformOp(op, [&](Value v) { return holds(v) && isUniform(v.getDefiningOp()); });
}

Refusal GroupSpace::add(Operation *op) {
  if (auto concat = dyn_cast<graph::ConcatOp>(op)) return addConcat(concat);
  if (holdsOnlySlices_ && space_ && isPartOfConcat(op) && !holds(op->getOperand(0))) {
    axes_[op->getResult(0)] = identity(resultType(op));
    return std::nullopt;
  }
  holdsOnlySlices_ &= isa<graph::SliceOp>(op);
  holdsOnlyValues_ &= isElementwiseOp(op) || isa<graph::SliceOp>(op);
  if (isUniform(op) && isa<Tensor>(op->getResult(0).getType())) {
    uniform_ = resultType(op);
    axes_[op->getResult(0)] = {};
    return std::nullopt;
  }
  if (!space_) return addFirst(op);
  if (kind_ == GroupKind::Attention || kind_ == GroupKind::Concat)
    return "a group of kind " + stringifyGroupKind(kind_).str() + " holds one operation";
  if (isElementwiseOp(op)) return addElementwise(op);
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) return addReduce(reduce);
  if (auto scan = dyn_cast<graph::ScanOp>(op)) return addScan(scan);
  if (isa<graph::TransposeOp, graph::SliceOp>(op)) return addView(op);
  if (isa<graph::GatherOp, graph::PadOp>(op)) return addRead(op);
  return "'" + op->getName().getStringRef().str() + "' must be the first operation of a group";
}

bool GroupSpace::readsNarrow() const {
  return llvm::any_of(axes_, [&](const auto &held) {
    return llvm::any_of(held.first.getDefiningOp()->getOperands(), [&](Value operand) {
      auto type = dyn_cast<Tensor>(operand.getType());
      return type && !holds(operand) && type.getElementType().getIntOrFloatBitWidth() < 32;
    });
  });
}

bool GroupSpace::readsRows() const {
  if (kind_ == GroupKind::Concat) return true;
  if (kind_ != GroupKind::Map || transposes_) return false;
  return llvm::all_of(axes_, [](const auto &held) {
    Operation *op = held.first.getDefiningOp();
    if (auto slice = dyn_cast<graph::SliceOp>(op)) return !slice.getSteps();
    return isElementwiseOp(op) || isa<graph::PadOp>(op);
  });
}

bool GroupSpace::readsAgain() const {
  if (!reduced_) return false;
  SmallVector<Operation *> inOrder;
  for (const auto &held : axes_)
    inOrder.push_back(held.first.getDefiningOp());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::DenseSet<Value> afterReduction;
  for (Operation *op : inOrder) {
    const bool isAfter =
        llvm::any_of(op->getOperands(), [&](Value operand) { return afterReduction.contains(operand); });
    if (isAfter && varies(op->getResult(0))) return true;
    if (isAfter || isa<graph::ReduceOp>(op)) afterReduction.insert(op->getResult(0));
  }
  return false;
}

Refusal GroupSpace::addFirst(Operation *op) {
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    space_ = reduce.getInput().getType();
    Refusal refusal = addReduce(reduce);
    if (refusal) space_ = {};
    return refusal;
  }
  if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    space_ = scan.getType();
    return addScan(scan);
  }
  if (auto product = dyn_cast<graph::MatmulOp>(op)) {
    kind_ = GroupKind::Matmul;
    productType_ = cast<Tensor>(product.getA().getType()).getElementType();
  } else if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
    kind_ = GroupKind::Attention;
    productType_ = cast<Tensor>(attention.getQ().getType()).getElementType();
  } else if (!isElementwiseOp(op) &&
             !isa<graph::TransposeOp, graph::SliceOp, graph::GatherOp, graph::PadOp>(op))
    return "'" + op->getName().getStringRef().str() + "' cannot be part of a group";
  space_ = resultType(op);
  noteView(op);
  axes_[op->getResult(0)] = identity(space_);
  return std::nullopt;
}

bool GroupSpace::interleavesParts(graph::ConcatOp op) {
  const int64_t last = op.getType().getRank() - 1;
  return last > 0 && static_cast<int64_t>(op.getAxis()) == last &&
         llvm::all_of(op->getOperands(), [&](Value v) { return cast<Tensor>(v.getType()).isOne(last); });
}

/// Its space is the result's. The slices before it, of which it reads some, have axes of their own. Parts
/// that alternate have one shape, so that the group may compute them.
Refusal GroupSpace::addConcat(graph::ConcatOp op) {
  const bool interleaves = interleavesParts(op);
  const bool computesParts = interleaves && space_ && kind_ == GroupKind::Map && holdsOnlyValues_ &&
                             space_.getDims() == cast<Tensor>(op->getOperand(0).getType()).getDims();
  if (!holdsOnlySlices_ && !computesParts)
    return "a concat is in a group of slices that it joins, and alone there";
  holdsOnlySlices_ = false;
  kind_ = GroupKind::Concat;
  space_ = op.getType();
  interleaves_ = interleaves;
  axes_[op.getResult()] = identity(space_);
  return std::nullopt;
}

/// Every operand that the group computes must have the axes that the operation expects.
Refusal GroupSpace::align(Operation *op, const Axes &axes) const {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<Tensor>(operand.getType());
    if (!type || !holds(operand)) continue;
    Axes wanted = alignRight(type, axes);
    for (auto [d, axis] : llvm::enumerate(axesOf(operand)))
      if (axis == kParts)
        return "the parts of an axis are reduced by another group";
      else if (!type.isOne(d) && axis != wanted[d])
        return "axis " + std::to_string(d) + " of an operand runs along axis " + std::to_string(axis) +
               " of the group's space, where the operation needs axis " + std::to_string(wanted[d]);
  }
  return std::nullopt;
}

/// Are the tensor's dims the space's last ones, or 1?
bool GroupSpace::isTrailing(Tensor type) const {
  if (type.getRank() > space_.getRank()) return false;
  const int64_t first = space_.getRank() - type.getRank();
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!type.isOne(d) && type.getDims()[d] != space_.getDims()[first + d]) return false;
  return true;
}

Refusal GroupSpace::addElementwise(Operation *op) {
  Tensor type = resultType(op);
  Axes axes = identity(space_);
  if (type.getDims() != space_.getDims()) {
    // A value of the reduced shape has the axes of the operand of that shape. A cast of inputs alone has the
    // space's last axes, where an operation that broadcasts it expects them. No other shape fits.
    Value like;
    bool ofInputs = isa<graph::CastOp>(op) && isTrailing(type);
    for (Value operand : op->getOperands())
      if (auto tensor = dyn_cast<Tensor>(operand.getType()); tensor && holds(operand)) {
        ofInputs = false;
        if (tensor.getDims() == type.getDims()) like = operand;
      }
    if (ofInputs) {
      axes_[op->getResult(0)] = alignRight(type, axes);
      return std::nullopt;
    }
    if (!like)
      return "its shape " + graph::extentsText(type.getDims()) + " is not the group's " +
             graph::extentsText(space_.getDims());
    axes = axesOf(like);
  }
  if (Refusal refusal = align(op, axes)) return refusal;
  axes_[op->getResult(0)] = axes;
  return std::nullopt;
}

void GroupSpace::noteView(Operation *op) {
  auto transpose = dyn_cast<graph::TransposeOp>(op);
  if (!transpose || transpose.getPerm().empty()) return;
  const auto last = static_cast<int64_t>(transpose.getPerm().size()) - 1;
  if (transpose.getPerm().back() == last) return;
  transposes_ = true;
  if (!contiguous_) contiguous_ = llvm::find(transpose.getPerm(), last) - transpose.getPerm().begin();
}

Refusal GroupSpace::addView(Operation *op) {
  if (kind_ != GroupKind::Map || holds(op->getOperand(0)) || resultType(op).getDims() != space_.getDims())
    return "a transpose or slice reads an input of a map group of its shape";
  noteView(op);
  axes_[op->getResult(0)] = identity(space_);
  return std::nullopt;
}

/// A gather or a pad reads a tensor that is in memory; the indices of a gather may be computed in the group.
Refusal GroupSpace::addRead(Operation *op) {
  if (kind_ != GroupKind::Map || holds(op->getOperand(0)) || resultType(op).getDims() != space_.getDims())
    return "a gather or pad reads an input of a map group of its shape";
  if (Refusal refusal = align(op, identity(space_))) return refusal;
  noteView(op);
  axes_[op->getResult(0)] = identity(space_);
  return std::nullopt;
}

Refusal GroupSpace::addScan(graph::ScanOp op) {
  if (kind_ != GroupKind::Map) return "a scan is in a group of elementwise operations, and alone there";
  Tensor type = op.getType();
  bool isWhole = type.getDims() == space_.getDims() &&
                 (!holds(op.getInput()) || axesOf(op.getInput()) == identity(space_));
  if (!isWhole)
    return "it scans " + graph::extentsText(type.getDims()) + " in a group of shape " +
           graph::extentsText(space_.getDims());
  if (op.getAfter() && holds(op.getAfter())) return "what is before the parts of a scan is an input";
  kind_ = GroupKind::Scan;
  scansExactly_ = op.isExact();
  if (op.getParts()) parts_ = static_cast<int64_t>(*op.getParts());
  combines_ = true;
  reduced_ = static_cast<int64_t>(op.getAxis());
  axes_[op.getResult()] = identity(space_);
  return std::nullopt;
}

Refusal GroupSpace::addReduce(graph::ReduceOp op) {
  Tensor input = op.getInput().getType();
  int64_t axis = op.getAxes().size() == 1 ? op.getAxes()[0] : kFixed;
  bool isWhole = input.getDims() == space_.getDims() &&
                 (!holds(op.getInput()) || axesOf(op.getInput()) == identity(space_));
  if (axis == kFixed) return "reductions of a group run along one axis";
  if (kind_ != GroupKind::Map && kind_ != GroupKind::Reduce)
    return "a group of kind " + stringifyGroupKind(kind_).str() + " holds no reductions";
  if (!isWhole)
    return "it reduces " + graph::extentsText(input.getDims()) + " in a group of shape " +
           graph::extentsText(space_.getDims());
  if (reduced_ && *reduced_ != axis)
    return "the group reduces along axis " + std::to_string(*reduced_) + ", this operation along axis " +
           std::to_string(axis);
  const auto parts = op.getParts() ? std::optional(static_cast<int64_t>(*op.getParts())) : std::nullopt;
  if (reduced_ && parts_ != parts) return "the reductions of a group have parts of one size, or none";
  Axes axes = identity(space_);
  if (parts)
    axes[axis] = kParts;
  else if (op.getKeepDims())
    axes[axis] = kFixed;
  else
    axes.erase(axes.begin() + axis);
  kind_ = GroupKind::Reduce;
  combines_ |= !graph::isPosition(op.getKind());
  reduced_ = axis;
  parts_ = parts;
  axes_[op.getResult()] = axes;
  return std::nullopt;
}

} // namespace tessera::schedule
