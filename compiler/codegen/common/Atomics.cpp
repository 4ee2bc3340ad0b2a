// Atomic updates of elements of global tensors. A tile of updates is done one element after the other, in the
// order of the loop nest.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"

using namespace mlir;

namespace tessera::target {

LLVM::AtomicOrdering ordering(tile::MemoryOrder order) {
  switch (order) {
  case tile::MemoryOrder::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case tile::MemoryOrder::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case tile::MemoryOrder::Release:
    return LLVM::AtomicOrdering::release;
  case tile::MemoryOrder::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  case tile::MemoryOrder::SeqCst:
    return LLVM::AtomicOrdering::seq_cst;
  }
  llvm_unreachable("all orders are listed");
}

LLVM::AtomicOrdering failureOrdering(LLVM::AtomicOrdering success) {
  return success == LLVM::AtomicOrdering::acq_rel   ? LLVM::AtomicOrdering::acquire
         : success == LLVM::AtomicOrdering::release ? LLVM::AtomicOrdering::monotonic
                                                    : success;
}

namespace {

LLVM::AtomicBinOp binaryOp(tile::AtomicKind kind, bool isFloat, bool isUnsigned) {
  using Op = LLVM::AtomicBinOp;
  switch (kind) {
  case tile::AtomicKind::Add:
    return isFloat ? Op::fadd : Op::add;
  case tile::AtomicKind::Max:
    return isFloat ? Op::fmaximum : isUnsigned ? Op::umax : Op::max;
  case tile::AtomicKind::Min:
    return isFloat ? Op::fminimum : isUnsigned ? Op::umin : Op::min;
  case tile::AtomicKind::Xchg:
    return Op::xchg;
  }
  llvm_unreachable("all kinds are listed");
}

} // namespace

Value TileLowering::emitAtomic(Operation *op, const View &view, Value value, Value compare,
                               ValueRange indices) {
  Type element = value.getType();
  Value inside = inRange(view, indices);
  if (!inside) inside = arith::ConstantOp::create(b_, b_.getBoolAttr(true));
  auto branch = scf::IfOp::create(b_, element, inside, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  Value address = elementAddress(view, indices), old;
  if (auto cas = dyn_cast<tile::AtomicCasOp>(op)) {
    Type bits = IntegerType::get(b_.getContext(), element.getIntOrFloatBitWidth());
    auto asBits = [&](Value v) -> Value {
      return v.getType() == bits ? v : LLVM::BitcastOp::create(b_, bits, v).getResult();
    };
    LLVM::AtomicOrdering success = ordering(cas.getOrder());
    Value pair = LLVM::AtomicCmpXchgOp::create(b_, address, asBits(compare), asBits(value), success,
                                               failureOrdering(success), syncScope(cas.getScope()));
    old = LLVM::ExtractValueOp::create(b_, pair, ArrayRef<int64_t>{0});
    if (old.getType() != element) old = LLVM::BitcastOp::create(b_, element, old);
  } else {
    old = emitUpdate(cast<tile::AtomicOp>(op), address, value);
  }
  scf::YieldOp::create(b_, old);
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b_, zeroOf(element));
  return branch.getResult(0);
}

Value TileLowering::emitUpdate(tile::AtomicOp op, Value address, Value value) {
  LLVM::AtomicBinOp kind = binaryOp(op.getKind(), isa<FloatType>(value.getType()), op.getIsUnsigned());
  return LLVM::AtomicRMWOp::create(b_, kind, address, value, ordering(op.getOrder()),
                                   syncScope(op.getScope()));
}

LogicalResult TileLowering::lowerAtomic(Operation *op) {
  auto rmw = dyn_cast<tile::AtomicOp>(op);
  auto cas = dyn_cast<tile::AtomicCasOp>(op);
  const View view = views_[rmw ? rmw.getView() : cas.getView()];
  ValueRange indices = rmw ? rmw.getIndices() : cas.getIndices();
  Value value = rmw ? rmw.getValue() : cas.getValue(), compare = cas ? cas.getCompare() : Value();
  Type element = getElementTypeOrSelf(value.getType());
  auto f = dyn_cast<FloatType>(element);
  if (element.isInteger(1) || (f && f.getWidth() < 32))
    return op->emitOpError() << "is not implemented for " << element << " on " << backend_
                             << " (TSR_UNIMPLEMENTED)";

  Vec<Value> tiles(indices);
  tiles.push_back(value);
  if (compare) tiles.push_back(compare);
  if (!tile::isTile(value) && !tile::isTile(indices[0])) {
    Vec<Value> at = mappedScalars(indices);
    map_.map(op->getResult(0), onceValue([&] {
               return emitAtomic(op, view, scalar(value), compare ? scalar(compare) : Value(), at);
             }));
    return success();
  }
  Value result = op->getResult(0);
  Place to = place(result);
  nest(to.shape, 1, [&](Indices at, int64_t lanes) {
    auto element = [&](Value v) { return lane(evaluate(v, at, lanes, {false}), 0); };
    Vec<Value> index;
    for (Value i : indices)
      index.push_back(element(i));
    Value old = emitAtomic(op, view, element(value), compare ? element(compare) : Value(), index);
    if (!result.use_empty()) storePlace(to, splat(old, lanes), at);
  });
  return success();
}

} // namespace tessera::target
