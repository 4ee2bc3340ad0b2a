#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera {
#define GEN_PASS_DEF_TILEEXPANDMINMAX
#include "compiler/tile/Transforms/Passes.h.inc"
} // namespace tessera

namespace tessera::tile {
namespace {

using P = MathBuilder::P;

/// Returns the constant that all lanes of `v` have, if it is not a NaN.
std::optional<APFloat> numberOf(Value v) {
  APFloat number(0.0);
  if (!matchPattern(v, m_ConstantFloat(&number)) || number.isNaN()) return std::nullopt;
  return number;
}

/// Returns y where it is beyond x, or where the two compare as equal or unordered, else x: the result of
/// minps and maxps.
Value firstIf(MathBuilder &m, bool isMax, Value x, Value y) {
  return m.select(m.cmp(isMax ? P::OGT : P::OLT, x, y), x, y);
}

/// With a constant, the compare and select suffices: it yields `x` where x is NaN and where the two are
/// equal. Equal values with different bits are zeros, and the constant's zero is the result only if it is
/// maximum's +0 or minimum's -0.
Value withConstant(MathBuilder &m, bool isMax, Value x, Value constant, const APFloat &number) {
  if (number.isZero() && isMax && !number.isNegative()) // adding +0 turns -0 into +0 and changes nothing else
    return m.add(firstIf(m, isMax, constant, x), 0.0);
  if (number.isZero() && !isMax && number.isNegative()) return {};
  return firstIf(m, isMax, constant, x);
}

Value expand(MathBuilder &m, bool isMax, Value x, Value y) {
  if (auto number = numberOf(y))
    if (Value v = withConstant(m, isMax, x, y, *number)) return v;
  if (auto number = numberOf(x))
    if (Value v = withConstant(m, isMax, y, x, *number)) return v;
  // The two orders differ only for zeros of different sign, where each yields one of them, and where an
  // operand is NaN, where one yields the NaN. `or` yields -0 and keeps a NaN; `and` yields +0, so that
  // maximum adds the NaN's bits.
  Type type = x.getType(), word = m.wordOf(x);
  Value one = m.bitcast(firstIf(m, isMax, x, y), word), other = m.bitcast(firstIf(m, isMax, y, x), word);
  if (!isMax) return m.bitcast(m.ori(one, other), type);
  Value isNaN = m.exts(m.cmp(P::UNO, x, y), word);
  return m.bitcast(m.ori(m.andi(one, other), isNaN), type);
}

struct ExpandMinMaxPass : impl::TileExpandMinMaxBase<ExpandMinMaxPass> {
  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      if (!isa<arith::MinimumFOp, arith::MaximumFOp>(op) || isa<TensorType>(op->getResult(0).getType()))
        return;
      OpBuilder b(op);
      MathBuilder m(b, op->getLoc(), op->getResult(0));
      op->getResult(0).replaceAllUsesWith(
          expand(m, isa<arith::MaximumFOp>(op), op->getOperand(0), op->getOperand(1)));
      op->erase();
    });
  }
};

} // namespace

} // namespace tessera::tile
