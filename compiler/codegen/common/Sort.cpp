// Sorting: a bitonic network (Batcher, "Sorting networks and their applications", AFIPS 1968) whose
// comparators all put the smaller element first: a merge begins with pairs at mirrored places of a group.
#include "compiler/codegen/common/TileLowering.h"

using namespace mlir;

namespace tessera::target {
namespace {

/// Exchanges the lanes i and i ^ mask of a vector so that the smaller element is in the lower lane.
Value exchangeLanes(ImplicitLocOpBuilder &b, Value v, int64_t mask) {
  const int64_t lanes = cast<VectorType>(v.getType()).getDimSize(0);
  SmallVector<int64_t> partner, choice;
  for (int64_t i = 0; i < lanes; ++i) {
    partner.push_back(i ^ mask);
    choice.push_back(i < (i ^ mask) ? i : lanes + i);
  }
  Value other = vector::ShuffleOp::create(b, v, v, partner);
  Value low = arith::MinSIOp::create(b, v, other), high = arith::MaxSIOp::create(b, v, other);
  return vector::ShuffleOp::create(b, low, high, choice);
}

Value reversed(ImplicitLocOpBuilder &b, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type) return v;
  SmallVector<int64_t> order;
  for (int64_t i = type.getDimSize(0); i-- > 0;)
    order.push_back(i);
  return vector::ShuffleOp::create(b, v, v, order);
}

} // namespace

void TileLowering::exchangePairs(const Place &place, int64_t axis, Value stride, bool isMirrored,
                                 int64_t lanes) {
  const bool alongLanes = axis + 1 == static_cast<int64_t>(place.shape.size());
  Vec<int64_t> pairs(place.shape);
  pairs[axis] /= 2;
  nest(pairs, lanes, [&](Indices at, int64_t width) {
    // Pair p is in group p / stride; its first element is p + p / stride * stride.
    Value p = at[axis], within = arith::AndIOp::create(b_, p, arith::SubIOp::create(b_, stride, constant(1)));
    Value first = arith::SubIOp::create(b_, arith::AddIOp::create(b_, p, p), within);
    Value second = arith::AddIOp::create(b_, first, stride);
    const bool isReversed = isMirrored && alongLanes && width;
    if (isMirrored) { // counted from the end of the group
      Value twice = arith::AddIOp::create(b_, within, within);
      Value last = arith::AddIOp::create(b_, second,
                                         arith::SubIOp::create(b_, stride, constant(isReversed ? width : 1)));
      second = arith::SubIOp::create(b_, last, twice);
    }
    Vec<Value> here(at), there(at);
    here[axis] = first, there[axis] = second;
    Value x = loadPlace(place, here, width), y = loadPlace(place, there, width);
    if (isReversed) y = reversed(b_, y);
    Value low = arith::MinSIOp::create(b_, x, y), high = arith::MaxSIOp::create(b_, x, y);
    storePlace(place, low, here);
    storePlace(place, isReversed ? reversed(b_, high) : high, there);
  });
}

/// Sorts in the memory of the result. Along the last axis, pairs that are closer than a vector is long are
/// exchanged within registers, all steps of a merge together.
LogicalResult TileLowering::lowerSort(tile::SortOp op) {
  Place to = place(op.getResult());
  const int64_t axis = op.getAxis(), extent = to.shape[axis];
  const int64_t given = tile::tileType(op.getInput()).getDimSize(axis);
  const bool alongLanes = axis + 1 == static_cast<int64_t>(to.shape.size());
  versioned(insideCondition(ValueRange(op.getInput())), [&](Mode mode) {
    nest(tile::tileType(op.getInput()).getShape(), lanesFor(op.getInput()),
         [&](Indices at, int64_t lanes) { storePlace(to, evaluate(op.getInput(), at, lanes, mode), at); });
  });
  if (given < extent) {
    Vec<int64_t> rest(to.shape);
    rest[axis] = extent - given;
    nest(rest, lanesFor(op.getResult()), [&](Indices at, int64_t lanes) {
      Vec<Value> index(at);
      index[axis] = arith::AddIOp::create(b_, at[axis], constant(given));
      storePlace(to, neutral(tile::ReduceKind::Min, false, vectorOf(to.element, lanes)), index);
    });
  }
  if (extent == 1) return success();

  int64_t lanes = lanesFor(op.getResult());
  const int64_t width = alongLanes ? std::min(lanes, extent) : 0; // of what is sorted in registers
  auto inRegisters = [&](ArrayRef<int64_t> masks) {
    nest(to.shape, width, [&](Indices at, int64_t) {
      Value v = loadPlace(to, at, width);
      for (int64_t mask : masks)
        v = exchangeLanes(b_, v, mask);
      storePlace(to, v, at);
    });
  };
  Vec<int64_t> masks;
  for (int64_t group = 2; group <= width; group *= 2) {
    masks.push_back(group - 1);
    for (int64_t stride = group / 4; stride; stride /= 2)
      masks.push_back(stride);
  }
  if (!masks.empty()) inRegisters(masks);
  masks.clear();
  for (int64_t stride = width / 2; stride; stride /= 2)
    masks.push_back(stride);
  // One body for all merges and one for all their steps: a network of 4096 elements has 78 of them, which as
  // code of their own took seconds to compile.
  auto repeat = [&](Value begin, Value end, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b_, begin, end, constant(1));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  };
  const Value sorted = constant(llvm::Log2_64(uint64_t(std::max<int64_t>(width, 1)))), one = constant(1);
  repeat(sorted, constant(llvm::Log2_64(uint64_t(extent))), [&](Value level) {
    Value half = arith::ShLIOp::create(b_, one, level); // of a group that is merged
    exchangePairs(to, axis, half, /*isMirrored=*/true, lanes);
    repeat(constant(0), arith::SubIOp::create(b_, level, sorted), [&](Value step) {
      Value shift = arith::AddIOp::create(b_, step, one);
      exchangePairs(to, axis, arith::ShRUIOp::create(b_, half, shift), /*isMirrored=*/false, lanes);
    });
    if (!masks.empty()) inRegisters(masks);
  });
  return success();
}

} // namespace tessera::target
