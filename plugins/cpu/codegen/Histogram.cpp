// Sums that count: sum(x[:, None] == arange(bins), axis=0), of which ts.tile.histogram is made.
//
// For more bins than a vector holds, a table in memory is faster than a comparison of each element with each
// bin.
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Returns the operation of type Op that computes the tile on the fly; null if there is none.
template <typename Op> Op computedBy(Value v) {
  return tile::isTile(v) && !tile::inMemory(v) ? v.getDefiningOp<Op>() : Op();
}

/// Is it arange(n), cast to any integer that holds its elements?
bool isPositions(Value v) {
  while (auto cast = v.getDefiningOp<tile::CastOp>())
    v = cast.getInput();
  auto iota = v.getDefiningOp<tile::IotaOp>();
  return iota && matchPattern(iota.getStart(), m_Zero());
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
  auto column = bins.getInput().getDefiningOp<tile::ExpandDimsOp>();
  bool isCount = tile::tileType(x.getInput()).getDimSize(1) == 1 && column && column.getAxis() == 0 &&
                 isPositions(column.getInput());
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
    Value key = evaluate(x, {i, constant(0)}, 0, {false});
    Value limit = arith::ConstantOp::create(b_, b_.getIntegerAttr(key.getType(), bins));
    Value isBin = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, key, limit);
    // An element that is no bin adds 0 to the first one: a branch would be mispredicted.
    Value bin = arith::SelectOp::create(b_, isBin, key, zeroOf(key.getType()));
    Value address = placeAddress(table, arith::IndexCastOp::create(b_, b_.getIndexType(), bin).getResult());
    Value counted = load(table.element, address, 0);
    store(table.element,
          arith::AddIOp::create(b_, counted, arith::ExtUIOp::create(b_, counted.getType(), isBin)), address);
  });
  return true;
}

} // namespace tessera::cpu
