// Division by zero is undefined in MLIR and traps on some processors. IR text may contain one.
#include "compiler/pipeline/IrText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera {
namespace {

std::optional<int64_t> constantOf(Value v) {
  APInt value;
  return matchPattern(v, m_ConstantInt(&value)) && value.getBitWidth() <= 64
             ? std::optional(value.getSExtValue())
             : std::nullopt;
}

/// Adds the values that differ from `number` if `condition` is false.
void collectOthers(Value condition, int64_t number, llvm::SmallPtrSetImpl<Value> &others, int depth = 4) {
  Operation *op = condition.getDefiningOp();
  if (auto either = dyn_cast_or_null<arith::OrIOp>(op); either && depth) {
    collectOthers(either.getLhs(), number, others, depth - 1);
    collectOthers(either.getRhs(), number, others, depth - 1);
  }
  if (auto equal = dyn_cast_or_null<arith::CmpIOp>(op);
      equal && equal.getPredicate() == arith::CmpIPredicate::eq && constantOf(equal.getRhs()) == number)
    others.insert(equal.getLhs());
}

/// Is `v` never `number`, given that the values in `others` are not?
bool isNever(Value v, int64_t number, llvm::SmallPtrSet<Value, 4> others = {}, int depth = 4) {
  if (others.contains(v)) return true;
  if (auto known = constantOf(v)) return *known != number;
  auto select = v.getDefiningOp<arith::SelectOp>();
  if (!select || depth == 0 || !isNever(select.getTrueValue(), number, others, depth - 1)) return false;
  collectOthers(select.getCondition(), number, others);
  return isNever(select.getFalseValue(), number, others, depth - 1);
}

Value constantLike(OpBuilder &b, Location loc, Type type, int64_t number) {
  TypedAttr element = b.getIntegerAttr(getElementTypeOrSelf(type), number);
  if (auto tile = dyn_cast<RankedTensorType>(type)) element = DenseElementsAttr::get(tile, element);
  return arith::ConstantOp::create(b, loc, element);
}

void guardDivisor(Operation *op, bool isSigned) {
  OpBuilder b(op);
  for (int64_t number : {0, -1}) {
    Value divisor = op->getOperand(1);
    if ((number == -1 && !isSigned) || isNever(divisor, number)) continue;
    Type type = divisor.getType();
    Value bad = arith::CmpIOp::create(b, op->getLoc(), arith::CmpIPredicate::eq, divisor,
                                      constantLike(b, op->getLoc(), type, number));
    op->setOperand(
        1, arith::SelectOp::create(b, op->getLoc(), bad, constantLike(b, op->getLoc(), type, 1), divisor));
  }
}

void guardAmount(Operation *op) {
  Value amount = op->getOperand(1);
  Type element = getElementTypeOrSelf(amount.getType());
  int64_t last = element.isIndex() ? 63 : element.getIntOrFloatBitWidth() - 1;
  auto isShort = [&](Value v) {
    auto known = constantOf(v);
    return known && *known >= 0 && *known <= last;
  };
  if (isShort(amount)) return;
  if (auto least = amount.getDefiningOp<arith::MinUIOp>(); least && isShort(least.getRhs())) return;
  OpBuilder b(op);
  op->setOperand(1, arith::MinUIOp::create(b, op->getLoc(), amount,
                                           constantLike(b, op->getLoc(), amount.getType(), last)));
}

} // namespace

void guardArithmetic(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
      guardDivisor(op, /*isSigned=*/true);
    else if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
      guardDivisor(op, /*isSigned=*/false);
    else if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
      guardAmount(op);
  });
}

} // namespace tessera
