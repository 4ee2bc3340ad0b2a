// Stores of packed elements (i4, u4), of which two share a byte: a thread writes whole bytes.
//
// Where the tile is inside the tensor and its rows begin at multiples of 8 bytes, threads store vectors. In
// other rows, thread t of a row has its byte t, whichever element of the tile that begins with. Only a byte
// with one element of the tile, at either end of a row, is updated by atomic operations: the other half may
// be that of another row or program.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

LogicalResult KernelLowering::storePackedTile(tile::StoreOp op) {
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  if (!w.isContiguous()) return TileLowering::lowerStore(op); // no two elements of a row share a byte
  const Vec<int64_t> shape(tile::tileType(op.getValue()).getShape());
  Vec<Value> roots = {op.getValue()};
  if (op.getFlags()) roots.push_back(op.getFlags());
  const int64_t length = vectorsFor(roots);
  auto vectors = [&]() -> Vec<Value> {
    spreadVectors(shape, length, [&](Indices at) {
      storeWindow(w, evaluate(op.getValue(), at, length, {true}), at, {true});
    });
    return {};
  };
  auto bytes = [&]() -> Vec<Value> { return storeBytes(op, w, shape), Vec<Value>(); };
  if (length > 1) {
    Value isWhole = both(insideCondition(w), insideCondition(roots));
    if (!op.getLower().empty())
      isWhole = both(isWhole, boundsFull(op.getLower(), op.getUpper(), constants(shape)));
    choose(isWhole, vectors, bytes);
  } else {
    bytes();
  }
  lowerBarrier();
  return success();
}

void KernelLowering::storeBytes(tile::StoreOp op, const Window &w, ArrayRef<int64_t> shape) {
  Type i64 = b_.getI64Type(), byte = b_.getI8Type();
  auto number = [&](Type type, int64_t v) { return constantOf(type, b_.getIntegerAttr(type, v)); };
  const Present stored = storedPart(w, op.getLower(), op.getUpper());
  Vec<int64_t> pieces(shape);
  pieces.back() = shape.back() / 2 + 1;
  spread(ShapedType::getNumElements(pieces), [&](Value i) {
    Vec<Value> at = delinearize(i, pieces);
    Value piece = at.back();
    at.back() = constant(0);
    // Addresses count half bytes. The thread's byte begins with element `first` of the row, -1 or more.
    Value row = LLVM::PtrToIntOp::create(b_, i64, windowAddress(w, at));
    Value twice = arith::AddIOp::create(b_, piece, piece);
    Value isOdd = arith::AndIOp::create(b_, row, number(i64, 1));
    Value first = arith::SubIOp::create(b_, twice, arith::IndexCastOp::create(b_, b_.getIndexType(), isOdd));
    Value second = arith::AddIOp::create(b_, first, constant(1));
    // Only what is stored is evaluated: another thread may be storing what the expression of another element
    // loads, if the tile is updated in place.
    auto isStored = [&](Value element) -> Value {
      at.back() = element;
      Value is = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, element, constant(shape.back()));
      if (!stored.lower.empty()) is = both(is, intervalMask(stored.lower, stored.upper, at, 0, stored.row));
      if (!op.getFlags()) return is;
      return choose(
          is, [&]() -> Vec<Value> { return {evaluate(op.getFlags(), at, 0, {false})}; },
          [&]() -> Vec<Value> { return {zeroOf(b_.getI1Type())}; })[0];
    };
    auto valueOf = [&](Value element) {
      at.back() = element;
      return evaluate(op.getValue(), at, 0, {false});
    };
    Value hasLow = isStored(first), hasHigh = isStored(second);
    Value place = arith::AddIOp::create(b_, row, toI64(first));
    auto branch = scf::IfOp::create(b_, TypeRange(), both(hasLow, hasHigh), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    Value low = arith::AndIOp::create(b_, valueOf(first), number(byte, 15)),
          high = arith::ShLIOp::create(b_, valueOf(second), number(byte, 4));
    store(byte, arith::OrIOp::create(b_, low, high),
          byteAddress(b_.getIntegerType(4), LLVM::IntToPtrOp::create(b_, w.view.data.getType(), place)));
    b_.setInsertionPointToStart(branch.elseBlock());
    guarded(arith::OrIOp::create(b_, hasLow, hasHigh), [&] {
      Value half = arith::SelectOp::create(b_, hasLow, number(i64, 0), number(i64, 1));
      storeHalfByte(valueOf(arith::SelectOp::create(b_, hasLow, first, second)),
                    arith::AddIOp::create(b_, place, half), w.view.data.getType());
    });
  });
}

} // namespace tessera::gpu
