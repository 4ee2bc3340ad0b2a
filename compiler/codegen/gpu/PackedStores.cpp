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
    struct Half {
      Value isStored, value;
    };
    auto half = [&](int64_t which) -> Half {
      Value element = which ? arith::AddIOp::create(b_, first, constant(1)).getResult() : first;
      Value isStored = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, element, constant(shape.back()));
      at.back() = arith::SelectOp::create(b_, isStored, element, constant(0)); // what can be evaluated
      if (!stored.lower.empty())
        isStored = both(isStored, intervalMask(stored.lower, stored.upper, at, 0, stored.row));
      if (op.getFlags()) isStored = both(isStored, evaluate(op.getFlags(), at, 0, {false}));
      return {isStored, evaluate(op.getValue(), at, 0, {false})};
    };
    const Half low = half(0), high = half(1);
    Value place = arith::AddIOp::create(b_, row, toI64(first));
    auto both = scf::IfOp::create(b_, TypeRange(),
                                  arith::AndIOp::create(b_, low.isStored, high.isStored).getResult(), true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(both.thenBlock());
    Value joined = arith::OrIOp::create(
        b_, arith::AndIOp::create(b_, low.value, number(byte, 15)),
        arith::ShLIOp::create(b_, arith::AndIOp::create(b_, high.value, number(byte, 15)), number(byte, 4)));
    store(byte, joined,
          byteAddress(b_.getIntegerType(4), LLVM::IntToPtrOp::create(b_, w.view.data.getType(), place)));
    b_.setInsertionPointToStart(both.elseBlock());
    guarded(arith::OrIOp::create(b_, low.isStored, high.isStored), [&] {
      Value one = arith::SelectOp::create(b_, low.isStored, number(i64, 0), number(i64, 1));
      storeHalfByte(arith::SelectOp::create(b_, low.isStored, low.value, high.value),
                    arith::AddIOp::create(b_, place, one), w.view.data.getType());
    });
  });
}

} // namespace tessera::gpu
