// Sums that count: sum(x[:, None] == arange(bins), axis=0), of which ts.tile.histogram is made.
//
// For more bins than a vector holds, a table in memory is faster than a comparison of each element with each
// bin.
#include "mlir/IR/Matchers.h"
#include "numerics/DType.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Returns the operation of type Op that computes the tile on the fly; null if there is none.
template <typename Op> Op computedBy(Value v) {
  return tile::isTile(v) && !tile::inMemory(v) ? v.getDefiningOp<Op>() : Op();
}

/// Is it arange(bins), cast only to integers that hold all of its elements?
bool isPositions(Value v, int64_t bins) {
  while (auto cast = v.getDefiningOp<tile::CastOp>()) {
    DType to = *parseDType(cast.getTo());
    const int valueBits = info(to).bits - (isUnsigned(to) ? 0 : 1);
    if (!isInt(to) || llvm::Log2_64_Ceil(static_cast<uint64_t>(bins)) > static_cast<unsigned>(valueBits))
      return false;
    v = cast.getInput();
  }
  auto iota = v.getDefiningOp<tile::IotaOp>();
  return iota && tile::tileType(v).getDimSize(0) == bins && matchPattern(iota.getStart(), m_Zero());
}

/// Returns x, a tile of shape [n, 1], of a sum over i that counts the elements x[i] equal to j; null for
/// other sums.
Value countedBy(tile::ReduceOp op) {
  if (op.getKind() != tile::ReduceKind::Sum || op.getAxis() != 0 ||
      tile::tileType(op.getInput()).getRank() != 2)
    return {};
  auto hits = computedBy<tile::CastOp>(op.getInput());
  if (!hits || hits.getFrom() != "bool" || !isa<IntegerType>(tile::tileType(op.getInput()).getElementType()))
    return {};
  auto hit = computedBy<arith::CmpIOp>(hits.getInput());
  if (!hit || hit.getPredicate() != arith::CmpIPredicate::eq) return {};
  auto x = computedBy<tile::BroadcastOp>(hit.getLhs()), bins = computedBy<tile::BroadcastOp>(hit.getRhs());
  if (!x || !bins || !tile::isTile(x.getInput()) || !tile::isTile(bins.getInput())) return {};
  ArrayRef<int64_t> hitShape = tile::tileType(op.getInput()).getShape();
  auto row = bins.getInput().getDefiningOp<tile::ExpandDimsOp>();
  bool isCount = tile::tileType(x.getInput()).getShape() == ArrayRef<int64_t>{hitShape[0], 1} && row &&
                 row.getAxis() == 0 && isPositions(row.getInput(), hitShape[1]);
  return isCount ? x.getInput() : Value();
}

} // namespace

bool KernelLowering::lowerCount(tile::ReduceOp op) {
  Value x = countedBy(op);
  auto type = tile::tileType(op.getInput());
  const int64_t count = type.getDimSize(0), bins = type.getDimSize(1), lanes = lanesFor(op.getInput());
  if (!x || bins <= lanes) return false;
  Place table = place(op.getResult());
  nest(table.shape, lanes,
       [&](Indices at, int64_t width) { storePlace(table, zeroOf(vectorOf(table.element, width)), at); });
  loop(0, count, 1, [&](Value i) {
    Value element = evaluate(x, {i, constant(0)}, 0, {false});
    // The number of bins may need a bit more than the element has. A negative element becomes a large key.
    Value key = arith::IndexCastUIOp::create(b_, b_.getIndexType(), element);
    Value isBin = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, key, constant(bins));
    // An element that is no bin adds 0 to the first one: a branch would be mispredicted.
    Value address = placeAddress(table, arith::SelectOp::create(b_, isBin, key, constant(0)).getResult());
    Value counted = load(table.element, address, 0);
    store(table.element,
          arith::AddIOp::create(b_, counted, arith::ExtUIOp::create(b_, counted.getType(), isBin)), address);
  });
  return true;
}

} // namespace tessera::cpu
