// Loops over the elements of a tile.
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {

int64_t KernelLowering::lanesFor(ValueRange roots, ArrayRef<Type> more) {
  int64_t bytes = 1;
  auto widen = [&](Type element) {
    element = getElementTypeOrSelf(element);
    if (!element.isInteger(1) && !element.isIndex())
      bytes = std::max<int64_t>(bytes, target::registerElement(element).getIntOrFloatBitWidth() / 8);
  };
  SmallVector<Value> work(roots.begin(), roots.end());
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!tile::isTile(v) || !seen.insert(v).second) continue;
    widen(v.getType());
    if (!tile::inMemory(v)) llvm::append_range(work, v.getDefiningOp()->getOperands());
  }
  for (Type t : more)
    widen(t);
  return vectorBytes_ / bytes;
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

/// The last axis in steps of `lanes`; what is left of it in vectors of the powers of two it is made of, so
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

/// `start` is a value of every path to `at`.
static bool isKnown(Value start, Operation *at) {
  Operation *inside = start.getParentBlock()->findAncestorOpInBlock(*at);
  return inside && (isa<BlockArgument>(start) || start.getDefiningOp()->isBeforeInBlock(inside));
}

SmallVector<Value> KernelLowering::observedEnds(Value tile, Operation *at) {
  Vec<Value> ends;
  bool isBounded = false;
  auto shape = tile::isTile(tile) ? tile::tileType(tile).getShape() : ArrayRef<int64_t>();
  for (auto [axis, extent] : llvm::zip(demanded_.of(tile), shape)) {
    Value most;
    bool known = llvm::all_of(axis.ends, [&](const auto &end) { return isKnown(end.start, at); });
    for (const target::DemandedExtents::End &end : axis.ends) {
      if (!known) break;
      Value left = b_.createOrFold<arith::SubIOp>(views_[end.view].sizes[end.dim], scalar(end.start));
      left = b_.createOrFold<arith::MinSIOp>(left, constant(extent));
      left = b_.createOrFold<arith::MaxSIOp>(left, constant(0));
      most = most ? b_.createOrFold<arith::MaxSIOp>(most, left) : left;
    }
    isBounded |= bool(most);
    ends.push_back(most);
  }
  return isBounded ? ends : Vec<Value>();
}

/// Whole vectors before the end have no masks; the one that holds the end has. Where something else is masked
/// as well, every vector is.
void KernelLowering::nestPart(ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) {
  auto plain = [&](Indices ends) {
    return [&, ends](Mode mode) {
      nest(
          shape, lanes, [&](Indices at, int64_t width) { body(at, width, mode); },
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
  Value end = part.ends.back(), whole = wholeVectors(end, lanes, part.inside);
  Vec<Value> at;
  std::function<void(size_t)> axis = [&](size_t depth) {
    auto inner = [&](Value i, llvm::function_ref<void()> then) {
      at.push_back(i);
      then();
      at.pop_back();
    };
    if (depth + 1 < shape.size())
      return loop(0, shape[depth], 1, [&](Value i) { inner(i, [&] { axis(depth + 1); }); }, part.ends[depth]);
    for (bool inside : {true, false}) {
      auto line = scf::ForOp::create(b_, inside ? constant(0) : whole, inside ? whole : end, constant(lanes));
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(line.getBody());
      inner(line.getInductionVar(), [&] { body(at, lanes, {inside}); });
    }
  };
  axis(0);
}

/// The largest ends of the masks and stores that read `v`, or what elementwise operations make of it. False:
/// something reads all of it, an end is computed later, or the uses are too many to look at.
bool KernelLowering::collectEnds(Value v, Vec<Value> &ends) {
  constexpr size_t kMaxValues = 32;
  llvm::SmallSetVector<Value, 8> reached;
  reached.insert(v);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (next == kMaxValues) return false;
    for (Operation *user : reached[next].getUsers()) {
      ValueRange upper;
      if (auto mask = dyn_cast<tile::MaskOp>(user)) {
        upper = mask.getUpper();
      } else if (auto store = dyn_cast<tile::StoreOp>(user)) {
        upper = store.getUpper();
      } else if (tile::isElementwise(user)) {
        reached.insert(user->getResult(0));
        continue;
      }
      if (upper.empty()) return false;
      ends.resize(upper.size());
      for (auto [end, other] : llvm::zip(ends, upper)) {
        Value known = map_.lookupOrNull(other);
        if (!known) return false;
        end = end ? b_.createOrFold<arith::MaxSIOp>(end, known) : known;
      }
    }
  }
  return true;
}

SmallVector<Value> KernelLowering::demandedEnds(Value v) {
  Vec<Value> ends;
  if (!collectEnds(v, ends)) return {};
  for (auto [end, extent] : llvm::zip(ends, tile::tileType(v).getShape())) {
    Value cut = b_.createOrFold<arith::MinSIOp>(end, constant(extent));
    end = b_.createOrFold<arith::MaxSIOp>(cut, constant(0));
  }
  return ends;
}

auto KernelLowering::partToCompute(Operation *op) -> Part {
  Value tile = op->getResult(0);
  Vec<Value> ends = demandedEnds(tile);
  if (ends.empty()) ends = observedEnds(tile, op);
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
