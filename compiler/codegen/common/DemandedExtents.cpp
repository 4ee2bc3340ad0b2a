#include "compiler/codegen/common/DemandedExtents.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera::tile;

namespace tessera::target {
namespace {

/// More ends than this along one axis are not worth a maximum: the axis counts as whole.
constexpr size_t kMaxEnds = 4;

/// The axes of `from` that a reshape to `to` keeps, in order, when it only adds or removes axes of extent 1.
bool keepsAxes(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  auto isLong = [](int64_t extent) { return extent != 1; };
  return llvm::equal(llvm::make_filter_range(from, isLong), llvm::make_filter_range(to, isLong));
}

/// Does the access, to one position along axes of extent -1, span the buffer along the others? Each axis of
/// its tile is then one of the buffer.
template <class Access> bool spansBuffer(Access access) {
  if (access.getStarts().empty()) return true;
  const ArrayRef<int64_t> shape = cast<BufferType>(access.getBuffer().getType()).getShape();
  for (auto [start, extent, size] : llvm::zip_equal(access.getStarts(), *access.getExtents(), shape))
    if (extent >= 0 && (extent != size || !isConstantIntValue(start, 0))) return false;
  return true;
}

/// Drops ends that are computed inside a loop that `scope` is not in: another iteration has other ones.
void keepInvariant(DemandedExtents::Demand &d, Operation *scope) {
  auto varies = [&](Value v) {
    for (Operation *op = v ? v.getParentBlock()->getParentOp() : nullptr; op; op = op->getParentOp())
      if (isa<LoopLikeOpInterface>(op) && !op->isProperAncestor(scope)) return true;
    return false;
  };
  for (DemandedExtents::Axis &axis : d)
    for (DemandedExtents::End &end : axis.ends) {
      if (varies(end.bound)) end.bound = {};
      if (varies(end.start)) end = {{}, {}, 0, {}, end.bound};
      if (!end.bound && !end.start) {
        axis = {true, {}};
        break;
      }
    }
}

} // namespace

DemandedExtents::DemandedExtents(KernelOp kernel) : kernel_(kernel) {
  // The body of a loop, which is visited first, observes what the loop carries. Repeats until nothing is
  // added.
  do {
    changed_ = false;
    visit(kernel.getBody().front());
  } while (changed_);
}

ArrayRef<DemandedExtents::Axis> DemandedExtents::of(Value tile) const {
  auto it = demands_.find(tile);
  return it == demands_.end() ? ArrayRef<Axis>() : ArrayRef<Axis>(it->second);
}

void DemandedExtents::demand(Value v, const Demand &more) {
  if (!isTile(v) || more.empty()) return;
  Demand &mine = demands_.try_emplace(v, Demand(more.size())).first->second;
  for (auto [axis, other] : llvm::zip_equal(mine, more)) {
    if (axis.whole) continue;
    for (const End &end : other.ends)
      if (!llvm::is_contained(axis.ends, end)) {
        axis.ends.push_back(end);
        changed_ = true;
      }
    if (other.whole || axis.ends.size() > kMaxEnds) {
      axis = {true, {}};
      changed_ = true;
    }
  }
}

void DemandedExtents::demandWhole(Value v) {
  if (isTile(v)) demand(v, Demand(tileType(v).getRank(), Axis{true, {}}));
}

void DemandedExtents::visit(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    visit(&op);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visit(inner);
  }
}

/// Elements past `upper` are masked.
void DemandedExtents::limit(Demand &d, OperandRange upper, RankedTensorType type) {
  for (auto [axis, bound] : llvm::enumerate(upper)) {
    auto known = getConstantIntValue(bound);
    if (known && *known >= type.getDimSize(axis)) continue;
    if (d[axis].whole) d[axis] = {false, {End{}}};
    for (End &end : d[axis].ends)
      end.bound = bound;
  }
}

/// What a loop carries is in one place, which the next iteration and the users of the result observe.
void DemandedExtents::visitLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop) { // the condition of a while passes on any values
    for (Region &region : op->getRegions())
      for (Value v : region.front().getTerminator()->getOperands())
        demandWhole(v);
    for (Value v : op->getOperands())
      demandWhole(v);
    return;
  }
  for (auto [init, arg, next, result] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                       loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
    for (Value observed : {Value(arg), Value(result)}) {
      Demand d(of(observed));
      if (observed == arg) keepInvariant(d, loop);
      demand(init, d);
      demand(next, d);
    }
}

/// Of a value in a shared buffer, what is read from the buffer is observed.
void DemandedExtents::visitWrite(BufferWriteOp write) {
  const Value value = write.getValue();
  auto buffer = write.getBuffer().getDefiningOp<AllocSharedOp>(); // else a part of one, which others may read
  if (!buffer || !spansBuffer(write)) return demandWhole(value);
  for (Operation *user : write.getBuffer().getUsers()) {
    if (isa<BufferWriteOp>(user)) continue;
    auto read = dyn_cast<BufferReadOp>(user);
    if (!read || !spansBuffer(read) || read.getResult().getType() != value.getType())
      return demandWhole(value);
    Demand d(of(read.getResult()));
    keepInvariant(d, buffer);
    demand(value, d);
  }
}

void DemandedExtents::visit(Operation *op) {
  if (isa<LoopLikeOpInterface>(op)) return visitLoop(op);
  if (isa<scf::YieldOp, scf::ConditionOp>(op)) return; // by the operation around it
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [n, result] : llvm::enumerate(branch.getResults())) {
      Demand d(of(result));
      demand(branch.thenYield().getOperand(n), d);
      demand(branch.elseYield().getOperand(n), d);
    }
    return;
  }
  if (auto write = dyn_cast<BufferWriteOp>(op)) return visitWrite(write);
  if (auto store = dyn_cast<StoreOp>(op)) {
    Demand d;
    ArrayAttr sizes = kernel_.getParam(store.getView()).getDims();
    for (auto [dim, extent] : llvm::enumerate(store.getExtents())) {
      if (extent < 0) continue;
      unsigned at = static_cast<unsigned>(dim);
      Value start = store.getStarts()[at];
      auto known = getConstantIntValue(start);
      int64_t size = store.getView().getType().getShape()[at];
      bool isInside = store.getInBounds() ||
                      (known && *known >= 0 && !ShapedType::isDynamic(size) && *known <= size - extent);
      d.push_back(isInside ? Axis{true, {}} : Axis{false, {End{store.getView(), start, at, sizes[at], {}}}});
    }
    limit(d, store.getUpper(), tileType(store.getValue()));
    if (store.getFlags()) demand(store.getFlags(), d);
    return demand(store.getValue(), d);
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Demand d(of(gather.getResult()));
    if (d.empty()) return;
    GatherAxes axes = gatherAxes(gather.getIndices(), gather.getExtents());
    const Demand own(d.begin() + axes.first, d.begin() + axes.first + axes.indices.size());
    for (Value index : gather.getIndices())
      if (isTile(index)) demand(index, own);
    return;
  }
  bool isShape = isa<BroadcastOp, ExpandDimsOp, TransposeOp, ReshapeOp, ReduceOp, ArgReduceOp, MmaOp>(op);
  if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || !(isShape || isElementwise(op))) {
    for (Value v : op->getOperands())
      demandWhole(v);
    return;
  }
  Demand d(of(op->getResult(0)));
  if (d.empty()) return;
  if (auto mask = dyn_cast<MaskOp>(op)) {
    limit(d, mask.getUpper(), tileType(mask.getInput()));
    return demand(mask.getInput(), d);
  }
  const Axis whole{true, {}};
  auto shapeOf = [](Value v) { return isTile(v) ? tileType(v).getShape() : ArrayRef<int64_t>(); };
  ArrayRef<int64_t> to = shapeOf(op->getResult(0)), from = shapeOf(op->getOperand(0));
  if (auto mma = dyn_cast<MmaOp>(op)) {
    Demand a = {d[0], whole}, b = {whole, d[1]};
    if (mma.getTransA()) std::swap(a[0], a[1]);
    if (mma.getTransB()) std::swap(b[0], b[1]);
    demand(mma.getA(), a);
    demand(mma.getB(), b);
    demand(mma.getAcc(), d);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    d.insert(d.begin() + reduce.getAxis(), whole);
    demand(reduce.getInput(), d);
  } else if (auto arg = dyn_cast<ArgReduceOp>(op)) {
    d.insert(d.begin() + arg.getAxis(), whole);
    demand(arg.getInput(), d);
  } else if (isa<BroadcastOp>(op)) {
    if (from.empty()) return; // of a scalar
    for (auto [axis, extent, wide] : llvm::zip_equal(d, from, to))
      if (extent != wide) axis = whole;
    demand(op->getOperand(0), d);
  } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    d.erase(d.begin() + expand.getAxis());
    demand(expand.getInput(), d);
  } else if (isa<TransposeOp>(op)) {
    std::swap(d[d.size() - 1], d[d.size() - 2]);
    demand(op->getOperand(0), d);
  } else if (isa<ReshapeOp>(op)) {
    Demand kept(from.size(), whole);
    if (keepsAxes(from, to)) {
      size_t at = 0;
      for (auto [axis, extent] : llvm::zip_equal(kept, from)) {
        if (extent == 1) continue;
        while (to[at] == 1)
          ++at;
        axis = d[at++];
      }
    }
    demand(op->getOperand(0), kept);
  } else {
    for (Value operand : op->getOperands())
      demand(operand, d);
  }
}

} // namespace tessera::target
