// Scans along an axis.
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

/// Scans along the last axis in vectors: each lane is combined with the one before it, then with those 2, 4,
/// .. before it, and all with what precedes the vector. That is another order than that of the indices, which
/// integers do not show.
void KernelLowering::scanInVectors(tile::ScanOp op, int64_t lanes) {
  const Place from = place(op.getInput()), to = place(op.getResult());
  const tile::ReduceKind kind = tile::reduceKindOf(op.getKind());
  Type element = tile::tileType(op.getInput()).getElementType();
  Value neutral = splat(constantOf(element, neutralAttr(kind, op.getIsUnsigned(), element)), lanes);
  auto joined = [&](Value x, Value y) { return combine(kind, op.getIsUnsigned(), x, y); };
  auto row = [&](Indices at) {
    auto loop = scf::ForOp::create(b_, constant(0), constant(from.shape.back()), constant(lanes), neutral);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Vec<Value> here(at);
    here.push_back(loop.getInductionVar());
    Value v = loadPlace(from, here, lanes);
    Vec<int64_t> order(lanes);
    for (int64_t distance = 1; distance < lanes; distance *= 2) {
      for (int64_t lane = 0; lane < lanes; ++lane)
        order[lane] = lane < distance ? lanes : lane - distance; // `lanes`: of `neutral`
      v = joined(v, vector::ShuffleOp::create(b_, v, neutral, order));
    }
    v = joined(loop.getRegionIterArg(0), v);
    storePlace(to, v, here);
    Value last = vector::ShuffleOp::create(b_, v, v, Vec<int64_t>(lanes, lanes - 1));
    scf::YieldOp::create(b_, last);
  };
  const ArrayRef<int64_t> rows = ArrayRef(from.shape).drop_back();
  if (rows.empty())
    row({});
  else
    nest(rows, 1, [&](Indices at, int64_t) { row(at); });
}

/// Lanes are columns; along the last axis four rows side by side hide the latency of each.
LogicalResult KernelLowering::lowerScan(tile::ScanOp op) {
  Place from = place(op.getInput()), to = place(op.getResult());
  int64_t axis = op.getAxis(), n = from.shape[axis];
  const tile::ReduceKind kind = tile::reduceKindOf(op.getKind());
  Vec<int64_t> kept(from.shape);
  kept.erase(kept.begin() + axis);
  bool alongLast = axis + 1 == static_cast<int64_t>(from.shape.size());
  auto integer = dyn_cast<IntegerType>(tile::tileType(op.getInput()).getElementType());
  const int64_t lanes = std::gcd(n, lanesFor(op.getInput())); // a power of two, as the second is
  if (alongLast && integer && integer.getWidth() > 1 && kind != tile::ReduceKind::Prod && lanes >= 4) {
    scanInVectors(op, lanes);
    return success();
  }
  auto scan = [&](Indices at, int64_t width) {
    int64_t rows = alongLast ? width : 1, lanes = alongLast ? 1 : width;
    auto index = [&](Value k, int64_t row) {
      Vec<Value> i(at);
      if (row) i.back() = b_.createOrFold<arith::AddIOp>(i.back(), constant(row));
      i.insert(i.begin() + axis, k);
      return i;
    };
    Vec<Value> running;
    for (int64_t row = 0; row < rows; ++row) {
      running.push_back(loadPlace(from, index(constant(0), row), lanes));
      storePlace(to, running.back(), index(constant(0), row));
    }
    auto loop = scf::ForOp::create(b_, constant(1), constant(n), constant(1), running);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    for (int64_t row = 0; row < rows; ++row) {
      Vec<Value> here = index(loop.getInductionVar(), row);
      running[row] =
          combine(kind, op.getIsUnsigned(), loop.getRegionIterArg(row), loadPlace(from, here, lanes));
      storePlace(to, running[row], here);
    }
    scf::YieldOp::create(b_, running);
  };
  if (kept.empty())
    scan({}, 1);
  else
    nest(kept, alongLast ? 4 : lanesFor(op.getInput()), scan);
  return success();
}

} // namespace tessera::cpu
