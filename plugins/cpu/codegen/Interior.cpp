// The part of a store's nest that needs no masks.
//
// A tile of a padded tensor, or a shifted read of a stencil, may begin before the tensor: then the first
// elements of its rows are masked. If only the position of their end chose between masked and unmasked code,
// each tile at a border would be masked as a whole, and most tiles of a small tensor are at a border.
#include "plugins/cpu/codegen/Lowering.h"
#include <set>

using namespace mlir;

namespace tessera::cpu {

/// Walks the operations that are computed in the nest, from the stored value to the reads.
class KernelLowering::InteriorBuilder {
public:
  /// Where an axis of an operand is in the nest: at the position along an axis of the nest plus an offset, or
  /// at the offset alone (axis -1).
  using Along = std::vector<std::pair<int64_t, int64_t>>;

  InteriorBuilder(KernelLowering &lowering, ArrayRef<int64_t> shape)
      : l_(lowering),
        interior_{Vec<Value>(shape.size(), lowering.constant(0)), lowering.constants(shape), {}} {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      identity_.emplace_back(axis, 0);
  }

  void addValue(Value v) { visit(v, identity_); }
  void addWindow(const Window &w) { window(w, identity_); }
  void addBounds(ValueRange lower, ValueRange upper) { bounds(lower, upper, identity_); }

  /// Returns the interior if masks are needed before it.
  std::optional<Interior> result() {
    return beginsLate_ ? std::optional(std::move(interior_)) : std::nullopt;
  }

private:
  void require(arith::CmpIPredicate p, Value x, Value y) {
    interior_.condition = l_.both(interior_.condition, arith::CmpIOp::create(l_.b_, p, x, y));
  }

  void interval(std::pair<int64_t, int64_t> along, Value lo, Value hi) {
    auto [axis, offset] = along;
    const bool fromZero = isConstantIntValue(lo, 0);
    if (axis < 0) {
      if (!fromZero) require(arith::CmpIPredicate::sle, lo, l_.constant(offset));
      return require(arith::CmpIPredicate::sgt, hi, l_.constant(offset));
    }
    beginsLate_ |= !fromZero;
    auto shifted =
        [&](Value v) { // at least 0: a part of a tile may begin after, and bounds may be any numbers
          v = l_.b_.createOrFold<arith::MaxSIOp>(v, l_.constant(offset));
          return l_.b_.createOrFold<arith::SubIOp>(v, l_.constant(offset));
        };
    Value &lower = interior_.lower[axis], &upper = interior_.upper[axis];
    if (!fromZero) lower = l_.b_.createOrFold<arith::MaxSIOp>(lower, shifted(lo));
    upper = l_.b_.createOrFold<arith::MinSIOp>(upper, shifted(hi));
  }

  void window(const Window &w, const Along &along) {
    if (w.inBounds) return;
    size_t axis = 0;
    for (size_t dim = 0; dim < w.starts.size(); ++dim)
      if (w.extents[dim] >= 0) {
        tile::Interval present = l_.present(w, dim);
        interval(along[axis++], present.lo, present.hi);
      } else {
        require(arith::CmpIPredicate::ult, w.starts[dim], w.view.sizes[dim]);
      }
  }

  void bounds(ValueRange lower, ValueRange upper, const Along &along) {
    for (auto [axis, lo, hi] : llvm::zip(along, lower, upper))
      interval(axis, l_.scalar(lo), l_.scalar(hi));
  }

  void visit(Value v, Along along) {
    if (!tile::isTile(v) || tile::inMemory(v)) return;
    Operation *op = v.getDefiningOp();
    if (isa<tile::GatherOp>(op) || !seen_.insert({op, along}).second) return; // a gather masks for itself
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return window(l_.window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds()),
                    along);
    if (auto read = dyn_cast<tile::BufferReadOp>(op)) {
      if (!read.getStarts().empty())
        window(l_.bufferWindow(read.getBuffer(), read.getStarts(), *read.getExtents()), along);
      return;
    }
    if (auto mask = dyn_cast<tile::MaskOp>(op)) bounds(mask.getLower(), mask.getUpper(), along);
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) along.erase(along.begin() + expand.getAxis());
    if (auto slice = dyn_cast<tile::SliceOp>(op))
      for (auto [axis, offset] : llvm::zip_equal(along, slice.getOffsets()))
        axis.second += offset;
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      if (!tile::isTile(broadcast.getInput())) return;
      auto target = tile::tileType(broadcast.getResult()).getShape();
      for (auto [axis, from, to] : llvm::zip(along, tile::tileType(broadcast.getInput()).getShape(), target))
        if (from == 1 && to != 1) axis = {-1, 0};
    }
    for (Value operand : op->getOperands())
      visit(operand, along);
  }

  KernelLowering &l_;
  Interior interior_;
  Along identity_;
  std::set<std::pair<Operation *, Along>> seen_;
  bool beginsLate_ = false;
};

auto KernelLowering::interiorOf(tile::StoreOp op, const Window &w) -> std::optional<Interior> {
  InteriorBuilder builder(*this, tile::tileType(op.getValue()).getShape());
  builder.addWindow(w);
  builder.addBounds(op.getLower(), op.getUpper());
  builder.addValue(op.getValue());
  if (op.getFlags()) builder.addValue(op.getFlags());
  return builder.result();
}

} // namespace tessera::cpu
