// Attention with an online softmax, as decision D5 corrects the algorithm (Dao et al., arXiv:2205.14135).
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/schedule/Transforms/TreeJoin.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/tile/IR/TileFunctions.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;

/// The order of `fixed_reductions`: blocks of keys one after another, in runs that are joined as a tree.
/// Returns nothing, with an error, if the tile has another number of keys than a block.
GroupBuilder::Values GroupProgram::keyRuns(
    const TypedValue &end, std::optional<int64_t> known, const GroupBuilder::Values &inits,
    llvm::function_ref<GroupBuilder::Values(const TypedValue &, const GroupBuilder::Values &)> step,
    llvm::function_ref<GroupBuilder::Values(const GroupBuilder::Values &, const GroupBuilder::Values &)>
        join) {
  if (group_.getTile()[1] != kKeyBlock) {
    emitError(group_.getLoc()) << "the group has tiles of " << group_.getTile()[1]
                               << " keys; fixed_reductions asks for " << kKeyBlock;
    return {};
  }
  const int64_t stages = group_.getStages().value_or(0);
  if (known && *known <= kKeyRun) return b_.loop(end, kKeyBlock, inits, stages, step);
  const TypedValue run = b_.integer(kKeyRun);
  const TypedValue positive = b_.binary(BinaryKind::Maximum, end, b_.integer(0));
  const TypedValue count = b_.binary(BinaryKind::FloorDiv, b_.add(positive, b_.integer(kKeyRun - 1)), run);
  TreeJoin tree(b_, inits, nodesOf(known, kKeyRun));
  // The loop counts keys, which are known not to be negative; a product of the run's number might have
  // wrapped.
  b_.loop(end, kKeyRun, {}, 0, [&](const TypedValue &first, const GroupBuilder::Values &none) {
    const TypedValue index = b_.binary(BinaryKind::FloorDiv, first, run);
    const TypedValue length = b_.binary(BinaryKind::Minimum, b_.sub(end, first), run);
    tree.push(index,
              b_.loop(length, kKeyBlock, inits, stages,
                      [&](const TypedValue &k, const GroupBuilder::Values &before) {
                        return step(b_.add(first, k), before);
                      }),
              join);
    return none;
  });
  return tree.joined(count, join);
}

LogicalResult GroupProgram::buildAttention() {
  auto op = cast<graph::AttentionOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  Tensor q = op.getQ().getType(), k = op.getK().getType();
  int64_t rank = q.getRank();
  std::optional<int64_t> width = staticExtent(q.getDims()[rank - 1]);
  if (!width) {
    InFlightDiagnostic error =
        emitError(group_.getLoc())
        << "attention keeps rows of \"" << q.dimText(rank - 1)
        << "\" elements in the program; the value must be known at compile time (--dim)";
    setCode(error, "E_DIM_NOT_STATIC");
    return error;
  }
  DType dtype = dtypeOf(q);
  double scale =
      op.getScale() ? op.getScale()->convertToDouble() : 1 / std::sqrt(static_cast<double>(*width));
  int64_t queries = group_.getTile()[0], keys = group_.getTile()[1];
  DType wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto number = [&](double v, const Shape &shape) { return b_.full(v, wide, shape); };

  // The grid's batch axes index q and the result; a key head serves Hq / Hk query heads.
  auto tileAt = [&](OpOperand &operand, const TypedValue &row, int64_t rows) {
    auto type = cast<Tensor>(operand.get().getType());
    GroupBuilder::Starts starts;
    std::vector<int64_t> ints(static_cast<size_t>(rank - 2), -1);
    for (int64_t d = 0; d < rank - 2; ++d) {
      TypedValue index = type.isOne(d) ? b_.integer(0) : start(d);
      if (d == rank - 3 && !type.isOne(d) && type.getDims()[d] != q.getDims()[d]) {
        TypedValue heads = extent(q.getDims()[d]);
        TypedValue shared = b_.binary(BinaryKind::FloorDiv, heads, extent(type.getDims()[d]));
        index = b_.binary(BinaryKind::FloorDiv, index, shared);
      }
      starts.push_back(index);
    }
    starts.push_back(row);
    starts.push_back(b_.integer(0));
    ints.push_back(rows);
    ints.push_back(*width);
    return b_.load(params_[operand.get()], starts, ints);
  };

  Shape scores = {queries, keys}, rows = {queries}, column = {queries, 1}, out = {queries, *width};
  rows_ = rank - 2;
  TypedValue queryTile = tileAt(op->getOpOperand(0), start(rows_), queries);
  auto length = [&](Tensor t) { return extent(t.getDims()[rank - 2]); };
  // Query i sees keys up to i + (Sk - Sq).
  auto firstHidden = [&] {
    TypedValue keyCount = length(k);
    return b_.add(start(rows_), b_.sub(keyCount, length(q)));
  };
  auto reduce = [&](tile::ReduceKind kind, const TypedValue &x) { return b_.reduce(kind, x, 1); };
  auto exp = [&](const TypedValue &x) { return b_.function<tile::ExpOp>(x); };
  auto spread = [&](const TypedValue &x, const Shape &shape) {
    return b_.broadcast(b_.expandDims(x, 1), shape);
  };

  // A tile of the bias or the mask, whose axes are the last ones of [..., queries, keys].
  auto beside = [&](Value operand, const TypedValue &kv) {
    auto type = cast<Tensor>(operand.getType());
    GroupBuilder::Starts starts;
    std::vector<int64_t> ints;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t axis = rank - type.getRank() + d;
      TypedValue at = axis == rank - 1 ? kv : start(axis);
      starts.push_back(type.isOne(d) ? b_.integer(0) : at);
      ints.push_back(axis < rank - 2 ? -1 : type.isOne(d) ? 1 : scores[axis - (rank - 2)]);
    }
    if (starts.empty()) {
      starts.push_back(b_.integer(0));
      ints.push_back(1);
    }
    TypedValue tile = b_.load(params_[operand], starts, ints);
    return b_.broadcast(tile.shape().size() == 2 ? tile : b_.reshape(tile, {1, tile.shape().back()}), scores);
  };

  auto step = [&](const TypedValue &kv, const GroupBuilder::Values &before) -> GroupBuilder::Values {
    const TypedValue &acc = before[0], &largest = before[1], &sum = before[2];
    TypedValue keyTile = tileAt(op->getOpOperand(1), kv, keys);
    TypedValue valueTile = tileAt(op->getOpOperand(2), kv, keys);
    TypedValue s = b_.mma(queryTile, keyTile, b_.zero(wide, scores), false, true);
    s = b_.mul(s, number(scale, scores));
    if (op.getSoftcap()) {
      const double cap = op.getSoftcap()->convertToDouble();
      s = b_.function<tile::TanhOp>(b_.binary(BinaryKind::Div, s, number(cap, scores)));
      s = b_.mul(s, number(cap, scores));
    }
    if (op.getBias()) s = b_.add(s, b_.cast(beside(op.getBias(), kv), wide));
    if (op.getMask()) s = b_.select(beside(op.getMask(), kv), s, number(-inf, scores));
    if (op.getCausal()) s = b_.causalMask(s, firstHidden(), kv);
    TypedValue larger = b_.binary(BinaryKind::Maximum, largest, reduce(tile::ReduceKind::Max, s));
    // A row without a visible key keeps -inf; shifting by 0 gives 0 instead of NaN.
    TypedValue isEmpty = b_.binary(BinaryKind::Eq, larger, number(-inf, rows));
    TypedValue shift = b_.select(isEmpty, number(0, rows), larger);
    TypedValue alpha = exp(b_.sub(largest, shift));
    TypedValue p = exp(b_.sub(s, spread(shift, scores)));
    TypedValue nextSum = b_.add(b_.mul(alpha, sum), reduce(tile::ReduceKind::Sum, p));
    TypedValue kept = b_.mul(spread(alpha, out), acc);
    TypedValue nextAcc = b_.add(kept, b_.mma(b_.cast(p, dtype), valueTile, b_.zero(wide, out), false, false));
    // A program may take blocks that only some of its rows see. Values there may be infinite, and 0 times
    // infinity would be a NaN of rows that another tile of queries computes without this block.
    if (op.getCausal() && hasKeyBlocks(op)) {
      TypedValue isSeen = b_.binary(BinaryKind::Ge, b_.cast(b_.arange(firstHidden(), queries), DType::I64),
                                    b_.broadcast(kv, rows));
      nextAcc = b_.select(spread(isSeen, out), nextAcc, acc);
    }
    return {nextAcc, larger, nextSum};
  };
  TypedValue last = length(k);
  if (op.getCausal()) last = b_.binary(BinaryKind::Minimum, last, b_.add(firstHidden(), b_.integer(queries)));
  GroupBuilder::Values inits = {number(0, out), number(-inf, rows), number(0, rows)};
  GroupBuilder::Values done;
  if (hasKeyBlocks(op)) {
    auto join = [&](const GroupBuilder::Values &left, const GroupBuilder::Values &right) {
      TypedValue larger = b_.binary(BinaryKind::Maximum, left[1], right[1]);
      TypedValue isEmpty = b_.binary(BinaryKind::Eq, larger, number(-inf, rows));
      TypedValue shift = b_.select(isEmpty, number(0, rows), larger);
      TypedValue ofLeft = exp(b_.sub(left[1], shift)), ofRight = exp(b_.sub(right[1], shift));
      TypedValue acc = b_.add(b_.mul(spread(ofLeft, out), left[0]), b_.mul(spread(ofRight, out), right[0]));
      return GroupBuilder::Values{acc, larger, b_.add(b_.mul(ofLeft, left[2]), b_.mul(ofRight, right[2]))};
    };
    done = keyRuns(last, staticExtent(k.getDims()[rank - 2]), inits, step, join);
    if (done.empty()) return failure();
  } else {
    done = b_.loop(last, keys, inits, group_.getStages().value_or(0), step);
  }
  const TypedValue &acc = done[0], &sum = done[2];

  // Without a visible key the sum is 0; it is NaN if a score is.
  TypedValue isEmpty = b_.binary(BinaryKind::Eq, b_.expandDims(sum, 1), number(0, column));
  isEmpty = b_.broadcast(isEmpty, out);
  TypedValue y = b_.binary(BinaryKind::Div, acc, spread(sum, out));
  y = b_.select(isEmpty, number(0, out), y);
  GroupBuilder::Starts starts;
  std::vector<int64_t> ints(static_cast<size_t>(rank - 2), -1);
  for (int64_t d = 0; d < rank - 2; ++d)
    starts.push_back(start(d));
  starts.push_back(start(rows_));
  starts.push_back(b_.integer(0));
  ints.push_back(queries);
  ints.push_back(*width);
  b_.store(b_.cast(y, dtype), results_[0], starts, ints);
  return success();
}

} // namespace tessera::schedule
