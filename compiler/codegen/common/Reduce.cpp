// The operators of reductions and their neutral elements, concat and flip.
#include "compiler/codegen/common/TileLowering.h"

using namespace mlir;

namespace tessera::target {

Value TileLowering::combine(tile::ReduceKind kind, bool isUnsigned, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  const arith::FastMathFlags flags = relaxationsOf(permits_);
  switch (kind) {
  case tile::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(b_, x, y, flags).getResult()
                   : arith::AddIOp::create(b_, x, y).getResult();
  case tile::ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(b_, x, y, flags).getResult()
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

TypedAttr TileLowering::neutralAttr(tile::ReduceKind kind, bool isUnsigned, Type element) {
  bool isMax = kind == tile::ReduceKind::Max;
  if (kind == tile::ReduceKind::Sum) return b_.getZeroAttr(element);
  if (kind == tile::ReduceKind::Prod) return b_.getOneAttr(element);
  if (auto f = dyn_cast<FloatType>(element))
    return FloatAttr::get(f, APFloat::getInf(f.getFloatSemantics(), isMax));
  unsigned bits = element.getIntOrFloatBitWidth();
  APInt value = isUnsigned ? (isMax ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                : isMax    ? APInt::getSignedMinValue(bits)
                           : APInt::getSignedMaxValue(bits);
  return IntegerAttr::get(element, value);
}

Value TileLowering::neutral(tile::ReduceKind kind, bool isUnsigned, Type type) {
  return constantOf(type, neutralAttr(kind, isUnsigned, getElementTypeOrSelf(type)));
}

Value TileLowering::better(tile::ArgReduceOp op, Value x, Value best) {
  Type element = getElementTypeOrSelf(x.getType());
  bool isMax = op.getKind() == tile::ArgKind::Max, isUnsigned = op.getIsUnsigned() || element.isInteger(1);
  if (isa<FloatType>(element)) {
    // Nothing is better than a NaN. A NaN compares unordered, and is better than any number.
    Value wins =
        arith::CmpFOp::create(b_, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x, best);
    Value isNumber = arith::CmpFOp::create(b_, arith::CmpFPredicate::ORD, best, best);
    return arith::AndIOp::create(b_, wins, isNumber);
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

/// Along the last axis a vector of the result is a vector of the operand with its lanes reversed.
LogicalResult TileLowering::lowerFlip(tile::FlipOp op) {
  Place to = place(op.getResult());
  const int64_t axis = op.getAxis(), extent = to.shape[axis];
  const bool isLast = axis + 1 == static_cast<int64_t>(to.shape.size());
  versioned(insideCondition(ValueRange(op.getInput())), [&](Mode mode) {
    nest(to.shape, lanesFor(op.getInput()), [&](Indices at, int64_t lanes) {
      const int64_t width = isLast && lanes ? lanes : 1;
      Vec<Value> from(at);
      from[axis] = arith::SubIOp::create(b_, constant(extent - width), at[axis]);
      Value part = evaluate(op.getInput(), from, lanes, mode);
      if (width > 1) {
        Vec<int64_t> reversed;
        for (int64_t i = width; i-- > 0;)
          reversed.push_back(i);
        part = vector::ShuffleOp::create(b_, part, part, reversed);
      }
      storePlace(to, part, at);
    });
  });
  return success();
}

} // namespace tessera::target
