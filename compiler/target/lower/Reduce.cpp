// What reductions combine with, and concat.
#include "compiler/target/lower/TileLowering.h"

using namespace mlir;

namespace tessera::target {

Value TileLowering::combine(tile::ReduceKind kind, bool isUnsigned, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case tile::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(b_, x, y).getResult()
                   : arith::AddIOp::create(b_, x, y).getResult();
  case tile::ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(b_, x, y).getResult()
                   : arith::MulIOp::create(b_, x, y).getResult();
  case tile::ReduceKind::Max:
    return isFloat      ? arith::MaximumFOp::create(b_, x, y).getResult()
           : isUnsigned ? arith::MaxUIOp::create(b_, x, y).getResult()
                        : arith::MaxSIOp::create(b_, x, y).getResult();
  case tile::ReduceKind::Min:
    return isFloat      ? arith::MinimumFOp::create(b_, x, y).getResult()
           : isUnsigned ? arith::MinUIOp::create(b_, x, y).getResult()
                        : arith::MinSIOp::create(b_, x, y).getResult();
  }
  llvm_unreachable("all kinds are listed");
}

Value TileLowering::neutral(tile::ReduceKind kind, bool isUnsigned, Type type) {
  bool isMax = kind == tile::ReduceKind::Max;
  if (kind == tile::ReduceKind::Sum) return zeroOf(type);
  if (auto f = dyn_cast<FloatType>(type))
    return constantOf(type, FloatAttr::get(f, kind == tile::ReduceKind::Prod
                                                  ? APFloat(f.getFloatSemantics(), 1)
                                                  : APFloat::getInf(f.getFloatSemantics(), isMax)));
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt value = kind == tile::ReduceKind::Prod ? APInt(bits, 1)
                : isUnsigned                   ? (isMax ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                : isMax                        ? APInt::getSignedMinValue(bits)
                                               : APInt::getSignedMaxValue(bits);
  return constantOf(type, IntegerAttr::get(type, value));
}

Value TileLowering::better(tile::ArgReduceOp op, Value x, Value best) {
  Type element = getElementTypeOrSelf(x.getType());
  bool isMax = op.getKind() == tile::ArgKind::Max, isUnsigned = op.getIsUnsigned() || element.isInteger(1);
  if (isa<FloatType>(element)) {
    // Ordered comparison, or x is the first NaN.
    Value wins =
        arith::CmpFOp::create(b_, isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, x, best);
    Value nan = arith::CmpFOp::create(b_, arith::CmpFPredicate::UNO, x, x);
    Value had = arith::CmpFOp::create(b_, arith::CmpFPredicate::ORD, best, best);
    return arith::OrIOp::create(b_, wins, arith::AndIOp::create(b_, nan, had));
  }
  using P = arith::CmpIPredicate;
  P p = isUnsigned ? (isMax ? P::ugt : P::ult) : (isMax ? P::sgt : P::slt);
  return arith::CmpIOp::create(b_, p, x, best);
}

LogicalResult TileLowering::lowerConcat(tile::ConcatOp op) {
  Place to = place(op.getResult());
  int64_t offset = 0, axis = op.getAxis();
  for (Value part : op.getInputs()) {
    auto shape = tile::tileType(part).getShape();
    versioned(insideCondition(ValueRange(part)), [&](Mode mode) {
      nest(shape, lanesFor(part), [&](Indices at, int64_t lanes) {
        Vec<Value> index(at);
        index[axis] = arith::AddIOp::create(b_, at[axis], constant(offset));
        storePlace(to, evaluate(part, at, lanes, mode), index);
      });
    });
    offset += shape[axis];
  }
  return success();
}

} // namespace tessera::target
