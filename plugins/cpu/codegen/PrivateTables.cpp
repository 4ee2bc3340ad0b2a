// Updates of small tensors are gathered in tables and variables of the thread's own: see cpu-privatize. A
// table costs a store and a load per element of the tensor for each range of programs, and an atomic for each
// element that was added to; a variable costs only the atomic.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

constexpr int64_t kAdditionsPerElement = 8; // additions in a range from which on a table is worthwhile

/// Returns the value that leaves any x unchanged when added: -0 for floats, since -0 + 0 is 0.
TypedAttr nothingToAdd(OpBuilder &b, Type type) {
  auto f = dyn_cast<FloatType>(type);
  if (!f) return b.getIntegerAttr(type, 0);
  return FloatAttr::get(f, APFloat::getZero(f.getFloatSemantics(), /*Negative=*/true));
}

tile::ReduceKind reductionOf(tile::AtomicKind kind) {
  switch (kind) {
  case tile::AtomicKind::Add:
    return tile::ReduceKind::Sum;
  case tile::AtomicKind::Max:
    return tile::ReduceKind::Max;
  case tile::AtomicKind::Min:
    return tile::ReduceKind::Min;
  case tile::AtomicKind::Xchg:
    break;
  }
  llvm_unreachable("an exchange is not gathered");
}

} // namespace

void KernelLowering::beginPrivateTables(Value begin, Value end) {
  // Additions of one program, as far as shapes show: one per lane, or one per element of its tile.
  llvm::MapVector<Value, int64_t> additions;
  llvm::DenseMap<Value, std::pair<tile::AtomicOp, int64_t>> tables;
  kernel_.walk([&](tile::AtomicOp op) {
    auto offset = op->getAttrOfType<IntegerAttr>(tile::kPrivate);
    if (!offset) return;
    Value value = op.getValue();
    additions[op.getView()] += kernel_.getLanesPerProgram().value_or(1) *
                               (tile::isTile(value) ? tile::tileType(value).getNumElements() : 1);
    tables[op.getView()] = {op, offset.getInt()};
  });
  for (auto [tensor, each] : additions) {
    const View &view = views_[tensor];
    PrivateTable table;
    table.count = constant(1);
    for (Value size : view.sizes)
      table.count = b_.createOrFold<arith::MulIOp>(table.count, size);
    auto [update, offset] = tables[tensor];
    table.first = update;
    table.data = address(scratch_, constant(offset), b_.getI8Type());
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
    auto elements = scf::ForOp::create(b_, constant(0), table.count, constant(1));
    b_.setInsertionPointToStart(elements.getBody());
    Value i = elements.getInductionVar();
    Value sum = load(element, address(table.data, i, element), 0);
    Value nothing = arith::ConstantOp::create(b_, nothingToAdd(b_, element));
    flush(table.first, sum, nothing, [&] { return address(view.data, i, element); });
  }
}

void KernelLowering::flush(tile::AtomicOp op, Value value, Value start, llvm::function_ref<Value()> address) {
  // Compares bits, because -0 and 0 must differ.
  Type element = value.getType(), bits = b_.getIntegerType(element.getIntOrFloatBitWidth());
  auto asBits = [&](Value v) {
    return v.getType() == bits ? v : LLVM::BitcastOp::create(b_, bits, v).getResult();
  };
  Value any = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, asBits(value), asBits(start));
  auto branch = scf::IfOp::create(b_, TypeRange(), any, false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  TileLowering::emitUpdate(op, address(), value);
}

auto KernelLowering::privateValue(tile::AtomicOp op) -> PrivateValue * {
  return llvm::find_if(privateValues_, [&](PrivateValue &value) {
    auto isSame = [](std::tuple<Value, Value> indices) {
      return getConstantIntValue(std::get<0>(indices)) == getConstantIntValue(std::get<1>(indices));
    };
    return value.first.getView() == op.getView() &&
           llvm::all_of(llvm::zip_equal(value.first.getIndices(), op.getIndices()), isSame);
  });
}

void KernelLowering::beginPrivateValues() {
  kernel_.walk([&](tile::AtomicOp op) {
    if (!op->hasAttr(tile::kPrivateValue) || privateValue(op) != privateValues_.end()) return;
    Type element = target::registerElement(views_[op.getView()].element);
    bool adds = op.getKind() == tile::AtomicKind::Add;
    Value start = arith::ConstantOp::create(
        b_, adds ? nothingToAdd(b_, element)
                 : neutralAttr(reductionOf(op.getKind()), op.getIsUnsigned(), element));
    Value one = LLVM::ConstantOp::create(b_, b_.getI64Type(), b_.getI64IntegerAttr(1));
    Value variable = LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), element, one);
    store(element, start, variable);
    privateValues_.push_back({op, variable, start});
  });
}

void KernelLowering::endPrivateValues() {
  for (PrivateValue &value : privateValues_) {
    const View &view = views_[value.first.getView()];
    flush(value.first, load(value.start.getType(), value.variable, 0), value.start, [&] {
      Vec<Value> indices;
      for (Value index : value.first.getIndices())
        indices.push_back(constant(*getConstantIntValue(index)));
      return elementAddress(view, indices);
    });
  }
}

/// Updates come in any order, so partial sums are allowed: LLVM can vectorise the additions of a loop.
Value KernelLowering::updated(tile::AtomicOp op, Value old, Value value) {
  if (op.getKind() == tile::AtomicKind::Add && isa<FloatType>(value.getType()))
    return arith::AddFOp::create(b_, old, value, arith::FastMathFlags::reassoc);
  return combine(reductionOf(op.getKind()), op.getIsUnsigned(), old, value);
}

Value KernelLowering::emitUpdate(tile::AtomicOp op, Value address, Value value) {
  if (PrivateValue *own = privateValue(op); own != privateValues_.end()) {
    Type element = value.getType();
    store(element, updated(op, load(element, own->variable, 0), value), own->variable);
    return zeroOf(element); // the old value, which has no users
  }
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
  store(value.getType(), updated(op, load(value.getType(), place, 0), value), place);
  scf::YieldOp::create(b_, zeroOf(value.getType()));
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b_, TileLowering::emitUpdate(op, address, value));
  return branch.getResult(0);
}

} // namespace tessera::cpu
