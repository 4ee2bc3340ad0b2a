// The operators of reductions and their neutral elements, concat and flip.
#include "compiler/codegen/common/TileLowering.h"
#include "llvm/Support/MathExtras.h"

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

Value TileLowering::joinPairwise(Vec<Value> nodes, llvm::function_ref<Value(Value, Value)> combine) {
  for (size_t count = nodes.size(); count > 1; count = (count + 1) / 2)
    for (size_t i = 0; 2 * i < count; ++i)
      nodes[i] = 2 * i + 1 < count ? combine(nodes[2 * i], nodes[2 * i + 1]) : nodes[2 * i];
  return nodes.front();
}

LogicalResult TileLowering::checkBlocks(tile::ReduceOp op, StringRef backend) {
  constexpr int64_t kMostBlocks = 64;
  const int64_t block = op.getOrder()->getBlock();
  const int64_t n = tile::tileType(op.getInput()).getDimSize(static_cast<unsigned>(op.getAxis()));
  if (llvm::divideCeil(n, block) <= kMostBlocks) return success();
  return op.emitOpError() << "is not implemented on " << backend << " (TSR_UNIMPLEMENTED): " << n
                          << " elements of a tile in blocks of " << block << ": at most " << kMostBlocks
                          << " blocks are, so reduce parts of them";
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

/// Tiles that are joined along a last axis of which each has one element alternate in memory: vectors of them
/// are merged. Returns false if that is not possible.
bool TileLowering::lowerInterleave(tile::ConcatOp op) {
  constexpr size_t kMost = 8; // of n tiles, n shuffles make each vector
  Place to = place(op.getResult());
  const size_t count = op.getInputs().size(), last = to.shape.size() - 1;
  if (op.getAxis() != last || last == 0 || to.shape[last] != static_cast<int64_t>(count) || count > kMost)
    return false;
  const int64_t lanes = lanesFor(op.getInputs());
  if (lanes < 2) return false;
  const Vec<int64_t> shape(ArrayRef(to.shape).drop_back());
  Vec<Value> sources; // without the last axis; null: in memory
  for (Value input : op.getInputs()) {
    auto expand = input.getDefiningOp<tile::ExpandDimsOp>();
    if (!tile::inMemory(input) && (!expand || expand.getAxis() != last)) return false;
    sources.push_back(tile::inMemory(input) ? Value() : expand.getInput());
  }
  const bool isFlag = to.element.isInteger(1);
  auto part = [&](size_t i, Indices at, int64_t width, Mode mode) {
    Value v;
    if (sources[i]) {
      v = evaluate(sources[i], at, width, mode);
    } else {
      Place from = place(op.getInputs()[i]);
      from.shape = shape;
      v = loadPlace(from, at, width);
    }
    return isFlag ? arith::ExtUIOp::create(b_, VectorType::get({width}, b_.getI8Type()), v).getResult() : v;
  };
  versioned(insideCondition(op.getInputs()), [&](Mode mode) {
    nest(shape, lanes, [&](Indices at, int64_t width) {
      Vec<Value> parts;
      for (size_t i = 0; i < count; ++i)
        parts.push_back(part(i, at, width, mode));
      Vec<Value> index(at);
      index.push_back(constant(0));
      Value first = placeAddress(to, index);
      const Type element = isFlag ? b_.getI8Type() : to.element;
      for (size_t r = 0; r < count; ++r) {
        Value merged = parts[0];
        for (size_t i = 1; i < count; ++i) {
          Vec<int64_t> from; // the elements of the first i + 1 tiles
          for (int64_t lane = 0; lane < width; ++lane) {
            const int64_t position = static_cast<int64_t>(r) * width + lane;
            const size_t owner = static_cast<size_t>(position) % count;
            const int64_t own = position / static_cast<int64_t>(count);
            from.push_back(owner == i ? width + own : i == 1 ? own : lane);
          }
          merged = vector::ShuffleOp::create(b_, merged, parts[i], from);
        }
        store(element, merged, address(first, constant(static_cast<int64_t>(r) * width), to.element));
      }
    });
  });
  return true;
}

LogicalResult TileLowering::lowerConcat(tile::ConcatOp op) {
  if (lowerInterleave(op)) return success();
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
