// Loops over the elements of a tile.
#include "compiler/tile/IR/TileFunctions.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {

int64_t KernelLowering::lanesFor(ValueRange roots, ArrayRef<Type> more) {
  return vectorBytes_ / tile::widestElement(roots, more);
}

/// Returns whether a function is computed for elements of `roots`.
bool KernelLowering::computesFunction(ValueRange roots) {
  Vec<Value> work(roots);
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!tile::isTile(v) || !op || !seen.insert(v).second) continue;
    const bool isRoot = llvm::is_contained(roots, v);
    if (!isRoot && tile::inMemory(v)) continue;
    if (tile::isFunction(op)) return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// An elementary function is a chain of 20 and more operations, each of which waits for the one before it,
/// and the processor looks no further ahead than a few such chains. With 16 registers two of them would not
/// fit.
int64_t KernelLowering::vectorsFor(ValueRange roots) {
  return vectorBytes_ >= 64 && computesFunction(roots) ? 2 : 1;
}

void KernelLowering::loop(int64_t lo, int64_t hi, int64_t step, llvm::function_ref<void(Value)> body,
                          Value end) {
  if (lo >= hi) return;
  if (!end && hi - lo <= step) return body(constant(lo));
  Value stop = end ? b_.createOrFold<arith::MinSIOp>(end, constant(hi)) : constant(hi);
  auto op = scf::ForOp::create(b_, constant(lo), stop, constant(step));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

/// Processes the last axis in steps of `lanes` and its remainder in vectors of decreasing powers of two, so
/// that no element outside the tile is ever computed.
void KernelLowering::nest(ArrayRef<int64_t> shape, int64_t lanes, NestBody body, Indices ends) {
  auto endOf = [&](size_t depth) { return ends.empty() ? Value() : ends[depth]; };
  Vec<Value> at;
  std::function<void(size_t)> axis = [&](size_t depth) {
    if (depth + 1 < shape.size()) {
      auto row = [&](Value i) {
        at.push_back(i);
        axis(depth + 1);
        at.pop_back();
      };
      loop(0, shape[depth], 1, row, endOf(depth));
      return;
    }
    int64_t n = shape[depth], whole = n / lanes * lanes;
    auto call = [&](Value j, int64_t width) {
      at.push_back(j);
      body(at, width);
      at.pop_back();
    };
    loop(0, whole, lanes, [&](Value j) { call(j, lanes); }, endOf(depth));
    for (int64_t j = whole, left = n - whole; left;) {
      int64_t width = llvm::bit_floor(static_cast<uint64_t>(left));
      call(constant(j), width);
      j += width, left -= width;
    }
  };
  axis(0);
}

/// Returns whether `v` (null: false) is defined on every path to `at`.
static bool isKnown(Value v, Operation *at) {
  Operation *inside = v ? v.getParentBlock()->findAncestorOpInBlock(*at) : nullptr;
  return inside && (isa<BlockArgument>(v) || v.getDefiningOp()->isBeforeInBlock(inside));
}

SmallVector<Value> KernelLowering::observedEnds(Value tile, Operation *at) {
  Vec<Value> ends;
  bool isBounded = false;
  auto shape = tile::isTile(tile) ? tile::tileType(tile).getShape() : ArrayRef<int64_t>();
  for (auto [axis, extent] : llvm::zip(demanded_.of(tile), shape)) {
    Value most;
    bool known = llvm::all_of(
        axis.ends, [&](const auto &end) { return isKnown(end.bound, at) || isKnown(end.start, at); });
    for (const target::DemandedExtents::End &end : axis.ends) {
      if (!known) break;
      Value left = isKnown(end.bound, at)
                       ? scalar(end.bound)
                       : b_.createOrFold<arith::SubIOp>(views_[end.view].sizes[end.dim], scalar(end.start));
      left = b_.createOrFold<arith::MinSIOp>(left, constant(extent));
      left = b_.createOrFold<arith::MaxSIOp>(left, constant(0));
      most = most ? b_.createOrFold<arith::MaxSIOp>(most, left) : left;
    }
    isBounded |= bool(most);
    ends.push_back(most);
  }
  return isBounded ? ends : Vec<Value>();
}

/// Whole vectors before the end are not masked; in the vector that contains the end, all tensors have the
/// mask of its leading elements. If another condition requires masks, every vector has masks of its own.
void KernelLowering::nestPart(ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) {
  if (part.interior && shape.back() % lanes == 0) return nestInterior(shape, lanes, part, body);
  auto plain = [&](Indices ends) {
    return [&, ends](Mode mode) {
      // Without ends nothing after the last whole step is computed.
      const int64_t step = mode.inside || ends.empty() ? part.vectors * lanes : lanes;
      nest(
          shape, step, [&](Indices at, int64_t width) { body(at, width, mode); },
          mode.inside ? Indices() : ends);
    };
  };
  if (part.ends.empty()) return versioned(part.inside, plain({}));
  if (shape.back() % lanes) {
    Value isWhole = part.inside;
    for (auto [end, extent] : llvm::zip(part.ends, shape))
      isWhole = both(isWhole, arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, end, constant(extent)));
    return versioned(isWhole, plain(part.ends));
  }
  const int64_t step = shape.back() % (part.vectors * lanes) ? lanes : part.vectors * lanes;
  versioned(part.inside, [&](Mode mode) {
    Value end = part.ends.back(), zero = constant(0);
    Value whole = mode.inside ? wholeVectors(end, step) : zero;
    Value single = mode.inside && step > lanes ? wholeVectors(end, lanes) : whole;
    Vec<Value> at;
    auto inner = [&](Value i, llvm::function_ref<void()> then) {
      at.push_back(i);
      then();
      at.pop_back();
    };
    std::function<void(size_t)> axis = [&](size_t depth) {
      if (depth + 1 < shape.size())
        return loop(
            0, shape[depth], 1, [&](Value i) { inner(i, [&] { axis(depth + 1); }); }, part.ends[depth]);
      auto line = [&](Value from, Value to, int64_t width) {
        auto loop = scf::ForOp::create(b_, from, to, constant(width));
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        inner(loop.getInductionVar(), [&] { body(at, width, mode); });
      };
      if (!mode.inside) return line(zero, end, lanes);
      line(zero, whole, step);
      if (step > lanes) line(whole, single, lanes);
      Value isLeft = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, single, end);
      auto rest = scf::IfOp::create(b_, TypeRange(), isLeft, false);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&rest.getThenRegion().front());
      inner(single, [&] { body(at, lanes, {true, b_.createOrFold<arith::SubIOp>(end, single)}); });
    };
    axis(0);
  });
}

void KernelLowering::nestInterior(ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) {
  const Interior &interior = *part.interior;
  Vec<Value> ends = part.ends.empty() ? constants(shape) : part.ends;
  // The whole vectors inside: from `first` up to `last`.
  Value step = constant(lanes), end = ends.back();
  Value last = wholeVectors(b_.createOrFold<arith::MinSIOp>(interior.upper.back(), end), lanes);
  Value lower = b_.createOrFold<arith::MinSIOp>(interior.lower.back(), end);
  Value up = b_.createOrFold<arith::AddIOp>(lower, constant(lanes - 1));
  Value first = b_.createOrFold<arith::MinSIOp>(wholeVectors(up, lanes), last);
  Vec<Value> at;
  std::function<void(size_t, Value)> axis = [&](size_t depth, Value inside) {
    if (depth + 1 < shape.size()) {
      auto row = [&](Value i) {
        auto also = [&](arith::CmpIPredicate p, Value bound) {
          inside = both(inside, arith::CmpIOp::create(b_, p, i, bound));
        };
        also(arith::CmpIPredicate::sge, interior.lower[depth]);
        also(arith::CmpIPredicate::slt, interior.upper[depth]);
        at.push_back(i);
        axis(depth + 1, inside);
        at.pop_back();
      };
      return loop(0, shape[depth], 1, row, ends[depth]);
    }
    Value from = first, to = last;
    if (inside) {
      from = arith::SelectOp::create(b_, inside, first, constant(0));
      to = arith::SelectOp::create(b_, inside, last, constant(0));
    }
    auto vectors = [&](Value lo, Value hi, Mode mode) {
      auto line = scf::ForOp::create(b_, lo, hi, step);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(line.getBody());
      at.push_back(line.getInductionVar());
      body(at, lanes, mode);
      at.pop_back();
    };
    vectors(constant(0), from, {false});
    vectors(from, to, {true});
    vectors(to, end, {false});
  };
  axis(0, interior.condition);
}

auto KernelLowering::partToCompute(Operation *op) -> Part {
  Value tile = op->getResult(0);
  Vec<Value> ends = observedEnds(tile, op);
  // Words past the depth of the product that reads them are not part of it.
  if (auto mma = dyn_cast<tile::MmaOp>(*op->user_begin()); mma && isa<tile::PairRowsOp>(op) &&
                                                           op->hasOneUse() && !mma.getLimits().empty() &&
                                                           isKnown(mma.getLimits()[2], op)) {
    Value up = b_.createOrFold<arith::AddIOp>(scalar(mma.getLimits()[2]), constant(1));
    if (ends.empty()) ends.resize(2);
    ends[0] = b_.createOrFold<arith::DivUIOp>(up, constant(2));
  }
  for (auto [end, extent] : llvm::zip(ends, tile::tileType(tile).getShape()))
    if (!end) end = constant(extent);
  Value inside = insideCondition(op, ends);
  return {std::move(ends), inside};
}

Value KernelLowering::wholeVectors(Value end, int64_t step, Value inside) {
  Value whole = b_.createOrFold<arith::SubIOp>(end, arith::RemUIOp::create(b_, end, constant(step)));
  return inside ? arith::SelectOp::create(b_, inside, whole, constant(0)).getResult() : whole;
}

void KernelLowering::versioned(Value condition, llvm::function_ref<void(Mode)> emit) {
  if (!condition) return emit({true});
  auto branch = scf::IfOp::create(b_, TypeRange(), condition, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  emit({true});
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  emit({false});
}

} // namespace tessera::cpu
