// Additions to small tensors gather in tables of the thread's own: see cpu-privatize. A table costs a store
// and a load per element of the tensor for each range of programs, and an atomic for each element that was
// added to.
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

constexpr int64_t kAdditionsPerElement = 8; // of a range, for a table to be worth it

/// What added to any x gives x: for floats -0, since -0 + 0 is 0.
TypedAttr nothingToAdd(OpBuilder &b, Type type) {
  auto f = dyn_cast<FloatType>(type);
  if (!f) return b.getIntegerAttr(type, 0);
  return FloatAttr::get(f, APFloat::getZero(f.getFloatSemantics(), /*Negative=*/true));
}

} // namespace

void KernelLowering::beginPrivateTables(Value begin, Value end) {
  // Additions of one program, as far as its shape tells: a lane makes one, or as many as its tile has
  // elements.
  llvm::MapVector<Value, int64_t> additions;
  llvm::DenseMap<Value, int64_t> offsets;
  kernel_.walk([&](tile::AtomicOp op) {
    auto offset = op->getAttrOfType<IntegerAttr>(kPrivate);
    if (!offset) return;
    Value value = op.getValue();
    additions[op.getView()] += kernel_.getLanesPerProgram().value_or(1) *
                               (tile::isTile(value) ? tile::tileType(value).getNumElements() : 1);
    offsets[op.getView()] = offset.getInt();
  });
  for (auto [tensor, each] : additions) {
    const View &view = views_[tensor];
    PrivateTable table;
    table.count = constant(1);
    for (Value size : view.sizes)
      table.count = b_.createOrFold<arith::MulIOp>(table.count, size);
    table.data = address(scratch_, constant(offsets[tensor]), b_.getI8Type());
    Value isSmall =
        arith::CmpIOp::create(b_, arith::CmpIPredicate::ule, table.count, constant(kMostPrivateElements));
    Value least = arith::CeilDivUIOp::create(
        b_, arith::MulIOp::create(b_, table.count, constant(kAdditionsPerElement)), constant(each));
    Value programs = arith::SubIOp::create(b_, end, begin);
    Value isWorthIt = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, programs, least);
    table.inUse = arith::AndIOp::create(b_, isSmall, isWorthIt);
    private_[tensor] = table;

    Type element = target::registerElement(view.element);
    auto branch = scf::IfOp::create(b_, TypeRange(), table.inUse, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    Value nothing = arith::ConstantOp::create(b_, nothingToAdd(b_, element));
    auto clear = scf::ForOp::create(b_, constant(0), table.count, constant(1));
    b_.setInsertionPointToStart(clear.getBody());
    store(element, nothing, address(table.data, clear.getInductionVar(), element));
  }
}

void KernelLowering::endPrivateTables() {
  for (auto [tensor, table] : private_) {
    const View &view = views_[tensor];
    Type element = target::registerElement(view.element);
    auto branch = scf::IfOp::create(b_, TypeRange(), table.inUse, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    auto flush = scf::ForOp::create(b_, constant(0), table.count, constant(1));
    b_.setInsertionPointToStart(flush.getBody());
    Value i = flush.getInductionVar();
    Value sum = load(element, address(table.data, i, element), 0);
    // Compared as bits, which differ for -0 and 0.
    Type bits = IntegerType::get(b_.getContext(), element.getIntOrFloatBitWidth());
    auto asBits = [&](Value v) {
      return v.getType() == bits ? v : LLVM::BitcastOp::create(b_, bits, v).getResult();
    };
    Value nothing = arith::ConstantOp::create(b_, nothingToAdd(b_, element));
    Value any = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, asBits(sum), asBits(nothing));
    auto add = scf::IfOp::create(b_, TypeRange(), any, false);
    b_.setInsertionPointToStart(&add.getThenRegion().front());
    auto kind = isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
    LLVM::AtomicRMWOp::create(b_, kind, address(view.data, i, element), sum, LLVM::AtomicOrdering::monotonic,
                              syncScope(tile::MemoryScope::System));
  }
}

Value KernelLowering::emitUpdate(tile::AtomicOp op, Value address, Value value) {
  auto found = private_.find(op.getView());
  if (found == private_.end()) return TileLowering::emitUpdate(op, address, value);
  const PrivateTable &table = found->second;
  auto branch = scf::IfOp::create(b_, value.getType(), table.inUse, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  Type i64 = b_.getI64Type();
  Value offset = arith::SubIOp::create(b_, LLVM::PtrToIntOp::create(b_, i64, address),
                                       LLVM::PtrToIntOp::create(b_, i64, views_[op.getView()].data));
  Value place = LLVM::GEPOp::create(b_, table.data.getType(), b_.getI8Type(), table.data, ValueRange{offset});
  Value sum = load(value.getType(), place, 0);
  sum = isa<FloatType>(value.getType()) ? arith::AddFOp::create(b_, sum, value).getResult()
                                        : arith::AddIOp::create(b_, sum, value).getResult();
  store(value.getType(), sum, place);
  scf::YieldOp::create(b_, zeroOf(value.getType())); // the old value, which has no users
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b_, TileLowering::emitUpdate(op, address, value));
  return branch.getResult(0);
}

} // namespace tessera::cpu
