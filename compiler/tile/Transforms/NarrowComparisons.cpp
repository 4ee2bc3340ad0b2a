// tile-narrow-comparisons (normative phase 3): compares positions with 64-bit bounds in lanes of 32 bits.
//
//   %w = tile.cast %iota from i32 to i64             %first, %end = ... of %s and %n, in scalars
//   %v = arith.addi %s, %w : tensor<64xi64>    ->    %x = tile.iota %first : i32 -> tensor<64xi32>
//   %m = arith.cmpi slt, %v, %n                      %m = arith.cmpi slt, %x, %end : tensor<64xi32>
//
// Ids, dims, loop variables and positions computed from them have 64 bits, but the positions of one tile are
// close together. The mapping preserves their order for every value of the scalars, wrapped sums included
// (docs/decisions/0014-narrow-comparisons.md). It runs after masks have become explicit, since it may remove
// operands from the expression, and before canonicalization, which folds the scalars. It is only for threads
// that compute many elements each: the scalars cost as much as a few comparisons.
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace tessera {
#define GEN_PASS_DEF_TILENARROWCOMPARISONS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

using Wide = __int128;
using Shape = SmallVector<int64_t, 4>;

/// How many operations are visited for one operand of a comparison.
constexpr int kBudget = 64;
/// The scalar arithmetic is cheaper than 64-bit lanes if there are at least this many elements for each
/// bound.
constexpr int64_t kWorthwhile = 16;
/// Lanes may differ by at most this: three more values of 32 bits represent bounds outside of the tile.
constexpr Wide kLargestSpan = std::numeric_limits<uint32_t>::max() - Wide(3);

/// `factor` times an integer scalar or tile. A tile is broadcast along the axes where it has one element.
struct Term {
  Value value;
  StringAttr dtype;                        // the dtype that the value is widened from; null: it has 64 bits
  uint64_t factor = 1;                     // modulo 2^64
  SmallVector<int64_t, 2> expansions = {}; // axes of extent 1 to insert, one after the other

  bool isNarrow() const { return bool(dtype); }
  bool isUnsigned() const { return dtype == "bool" || dtype.getValue().starts_with("u"); }
  bool isMultipleOf(const Term &o) const {
    return value == o.value && dtype == o.dtype && expansions == o.expansions;
  }
  Shape shape() const {
    Shape shape;
    if (isTile(value)) llvm::append_range(shape, tileType(value).getShape());
    for (int64_t axis : expansions)
      shape.insert(shape.begin() + axis, 1);
    return shape;
  }
};

/// Terms and a constant, added modulo 2^64.
struct Sum {
  SmallVector<Term> terms;
  uint64_t constant = 0;

  void add(const Sum &other, uint64_t factor = 1) {
    constant += other.constant * factor;
    for (Term term : other.terms) {
      term.factor *= factor;
      auto same = llvm::find_if(terms, [&](const Term &t) { return t.isMultipleOf(term); });
      if (same == terms.end())
        terms.push_back(term);
      else if (!(same->factor += term.factor))
        terms.erase(same);
    }
  }

  /// One extent per axis, the largest of the terms; empty: all terms are scalars.
  Shape shape() const {
    Shape shape;
    for (const Term &term : terms) {
      Shape other = term.shape();
      if (shape.empty()) shape.assign(other.size(), 1);
      for (auto [mine, extent] : llvm::zip(shape, other))
        mine = std::max(mine, extent);
    }
    return shape;
  }
};

/// Returns the values of an integer scalar or of a tile's elements.
ConstantIntRanges rangeOf(Value v, int &budget) {
  Type element = getElementTypeOrSelf(v);
  const unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  const ConstantIntRanges any = ConstantIntRanges::maxRange(width);
  Operation *op = v.getDefiningOp();
  if (!op || budget-- <= 0) return any;
  if (isa<BroadcastOp, ExpandDimsOp, SliceOp, ReshapeOp, TransposeOp>(op))
    return rangeOf(op->getOperand(0), budget);
  if (auto iota = dyn_cast<IotaOp>(op)) {
    APInt start;
    if (!matchPattern(iota.getStart(), m_ConstantInt(&start))) return any;
    const int64_t last = start.getSExtValue() + tileType(v).getNumElements() - 1;
    if (last > std::numeric_limits<int32_t>::max()) return any;
    return ConstantIntRanges::fromSigned(start, APInt(width, last));
  }
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  auto isInteger = [](Type t) { return getElementTypeOrSelf(t).isIntOrIndex(); };
  if (!inferable || op->getNumResults() != 1 || !llvm::all_of(op->getOperandTypes(), isInteger)) return any;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rangeOf(operand, budget));
  ConstantIntRanges result = any;
  inferable.inferResultRanges(operands, [&](Value, const ConstantIntRanges &r) { result = r; });
  return result;
}

/// Returns the elements of an i64 tile, or the value of a scalar.
Sum sumOf(Value v, int &budget) {
  Sum sum;
  if (APInt constant; matchPattern(v, m_ConstantInt(&constant))) {
    sum.constant = constant.getZExtValue();
    return sum;
  }
  Operation *op = isTile(v) && budget-- > 0 ? v.getDefiningOp() : nullptr;
  auto operand = [&](unsigned n) { return sumOf(op->getOperand(n), budget); };
  if (isa_and_nonnull<BroadcastOp>(op)) return operand(0);
  if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
    sum = operand(0);
    for (Term &term : sum.terms)
      if (isTile(term.value)) term.expansions.push_back(static_cast<int64_t>(expand.getAxis()));
    return sum;
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    sum = operand(0);
    sum.add(operand(1), isa<arith::SubIOp>(op) ? -uint64_t(1) : 1);
    return sum;
  }
  if (isa_and_nonnull<arith::MulIOp>(op))
    for (unsigned n : {1, 0})
      if (APInt factor; matchPattern(op->getOperand(n), m_ConstantInt(&factor))) {
        sum.add(operand(1 - n), factor.getZExtValue());
        return sum;
      }
  auto cast = dyn_cast_or_null<CastOp>(op);
  auto from = cast ? dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getInput())) : IntegerType();
  if (from && from.getWidth() < 64)
    sum.terms.push_back({cast.getInput(), cast.getFromAttr()});
  else
    sum.terms.push_back({v, {}});
  return sum;
}

/// Emits arithmetic on integer scalars and tiles. Extents of 1 are broadcast.
class Arithmetic {
public:
  explicit Arithmetic(Operation *before) : b_(before), loc_(before->getLoc()) {}

  Value constant(Type like, uint64_t value) {
    Type element = getElementTypeOrSelf(like);
    APInt bits = APInt(64, value).trunc(element.getIntOrFloatBitWidth());
    if (auto type = dyn_cast<RankedTensorType>(like))
      return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, bits));
    return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(element, bits));
  }

  Value stretched(Value v, ArrayRef<int64_t> shape) {
    if (shape.empty() || (isTile(v) && tileType(v).getShape() == shape)) return v;
    return b_.createOrFold<BroadcastOp>(loc_, RankedTensorType::get(shape, getElementTypeOrSelf(v)), v);
  }

  template <typename Op, typename... Args> Value binary(Value x, Value y, Args... before) {
    Sum both;
    both.terms = {{x, {}}, {y, {}}};
    Shape shape = both.shape();
    return b_.createOrFold<Op>(loc_, before..., stretched(x, shape), stretched(y, shape));
  }
  template <typename Op> Value binary(Value x, uint64_t y) { return binary<Op>(x, constant(x.getType(), y)); }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return binary<arith::CmpIOp>(x, y, predicate);
  }

  template <typename Op> Value convert(Value x, unsigned bits) {
    Type to = b_.getIntegerType(bits);
    return b_.createOrFold<Op>(loc_, isTile(x) ? Type(tileType(x).clone(to)) : to, x);
  }

  /// Emits the sum modulo 2^bits. Scalars come first, so that they are added once.
  Value sum(const Sum &s, unsigned bits) {
    Value scalars = constant(b_.getIntegerType(bits), s.constant), tiles;
    for (const Term &term : s.terms) {
      Value v = valueOf(term, bits);
      Value &total = isTile(v) ? tiles : scalars;
      const bool isSubtracted = total && term.factor == -uint64_t(1);
      if (!isSubtracted && term.factor != 1) v = binary<arith::MulIOp>(v, term.factor);
      total = !total ? v : isSubtracted ? binary<arith::SubIOp>(total, v) : binary<arith::AddIOp>(total, v);
    }
    return !tiles ? scalars : matchPattern(scalars, m_Zero()) ? tiles : binary<arith::AddIOp>(tiles, scalars);
  }

  /// Emits `lanes` + `base` modulo 2^32; an iota starts with the base if possible.
  Value lanesFrom(Value base, const Sum &lanes) {
    Sum shifted = lanes;
    for (Term &term : shifted.terms)
      if (auto iota = term.value.getDefiningOp<IotaOp>(); iota && term.factor == 1 && !isTile(base)) {
        Value start = binary<arith::AddIOp>(iota.getStart(), base);
        term.value = IotaOp::create(b_, loc_, iota.getType(), start);
        return sum(shifted, 32);
      }
    return binary<arith::AddIOp>(sum(shifted, 32), base);
  }

private:
  Value valueOf(const Term &term, unsigned bits) {
    Value v = term.value;
    const StringRef dtype = bits == 32 ? "i32" : "i64";
    if (term.isNarrow() && term.dtype != dtype)
      v = CastOp::create(b_, loc_, tileType(v).clone(b_.getIntegerType(bits)), v, term.dtype.getValue(),
                         dtype);
    for (int64_t axis : term.expansions) {
      Shape shape(tileType(v).getShape());
      shape.insert(shape.begin() + axis, 1);
      v = ExpandDimsOp::create(b_, loc_, tileType(v).clone(shape), v, axis);
    }
    return v;
  }

  OpBuilder b_;
  Location loc_;
};

/// `position predicate bound`, rewritten as lanes + rest: only the lanes differ between elements.
struct Comparison {
  arith::CmpIPredicate predicate;
  Sum lanes;       // of 32 bits; `least` is their smallest value, `least + span` the largest
  Sum rest, bound; // of 64 bits
  Wide least = 0, span = 0;

  /// Elements that remain in 64 bits.
  int64_t cost() const {
    Sum all = rest;
    llvm::append_range(all.terms, bound.terms);
    return llvm::product_of(all.shape());
  }
};

/// nullopt if no part of the position is known to have a small span.
std::optional<Comparison> split(arith::CmpIPredicate predicate, const Sum &position, const Sum &bound) {
  Comparison c{predicate, {}, {{}, position.constant}, bound};
  for (const Term &term : position.terms) {
    Wide least = 0, span = kLargestSpan + 1;
    if (term.isNarrow()) {
      int budget = kBudget;
      ConstantIntRanges range = rangeOf(term.value, budget);
      const Wide factor = static_cast<int64_t>(term.factor);
      Wide x =
          factor * (term.isUnsigned() ? int64_t(range.umin().getZExtValue()) : range.smin().getSExtValue());
      Wide y =
          factor * (term.isUnsigned() ? int64_t(range.umax().getZExtValue()) : range.smax().getSExtValue());
      least = std::min(x, y), span = std::max(x, y) - least;
    }
    const bool isLane = c.span + span <= kLargestSpan;
    (isLane ? c.lanes : c.rest).terms.push_back(term);
    if (isLane) c.least += least, c.span += span;
  }
  return c.lanes.terms.empty() ? std::nullopt : std::optional(c);
}

/// Maps positions and bounds, numbers on a circle of 2^64 whose order begins at the smallest i64, to a circle
/// of 2^32. Distances from the tile's first position up to span are kept. The beginning of the order is
/// clamped to a distance of span + 2, and a bound to span + 1 before that beginning and to span + 2 after it.
/// The beginning becomes the smallest i32.
Value narrowed(arith::CmpIOp op, const Comparison &c) {
  using arith::CmpIPredicate;
  Arithmetic a(op);
  const auto span = static_cast<uint64_t>(c.span);
  Sum first = c.rest, fromFirst = c.bound, toStart;
  first.constant += static_cast<uint64_t>(c.least);
  toStart.constant = static_cast<uint64_t>(std::numeric_limits<int64_t>::min());
  toStart.add(first, -uint64_t(1));
  fromFirst.add(first, -uint64_t(1));
  Value start = a.sum(toStart, 64), bound = a.sum(fromFirst, 64);

  Value isAfter = a.convert<arith::ExtUIOp>(a.compare(CmpIPredicate::uge, bound, start), 64);
  Value outside = a.binary<arith::AddIOp>(isAfter, span + 1);
  bound = a.convert<arith::TruncIOp>(a.binary<arith::MinUIOp>(bound, outside), 32);
  start = a.convert<arith::TruncIOp>(a.binary<arith::MinUIOp>(start, span + 2), 32);

  Value smallest = a.constant(start.getType(), uint64_t(1) << 31);
  Value shift = a.binary<arith::SubIOp>(smallest, start); // from the tile's first position to i32
  Value base = a.binary<arith::SubIOp>(shift, static_cast<uint64_t>(c.least));
  auto shape = tileType(op.getLhs()).getShape();
  return a.compare(c.predicate, a.stretched(a.lanesFrom(base, c.lanes), shape),
                   a.stretched(a.binary<arith::AddIOp>(bound, shift), shape));
}

bool isUnsigned(arith::CmpIPredicate p) {
  using arith::CmpIPredicate;
  return llvm::is_contained({CmpIPredicate::ult, CmpIPredicate::ule, CmpIPredicate::ugt, CmpIPredicate::uge},
                            p);
}

/// Returns the predicate for swapped operands.
arith::CmpIPredicate swapped(arith::CmpIPredicate p) {
  using arith::CmpIPredicate;
  switch (p) {
  case CmpIPredicate::slt:
    return CmpIPredicate::sgt;
  case CmpIPredicate::sle:
    return CmpIPredicate::sge;
  case CmpIPredicate::sgt:
    return CmpIPredicate::slt;
  case CmpIPredicate::sge:
    return CmpIPredicate::sle;
  default: // eq, ne; unsigned ones are not narrowed
    return p;
  }
}

/// A position that is also used as a number is computed in 64 bits anyway.
bool isOnlyCompared(Value v) {
  return llvm::all_of(v.getUsers(), [](Operation *user) { return isa<arith::CmpIOp>(user); });
}

class NarrowComparisons : public impl::TileNarrowComparisonsBase<NarrowComparisons> {
  void runOnOperation() override {
    getOperation()->walk([](arith::CmpIOp op) {
      if (!isTile(op.getLhs()) || !getElementTypeOrSelf(op.getLhs()).isInteger(64)) return;
      if (isUnsigned(op.getPredicate())) return;
      int budget = kBudget;
      Sum sides[] = {sumOf(op.getLhs(), budget), sumOf(op.getRhs(), budget)};
      std::optional<Comparison> best;
      for (unsigned side : {0, 1}) {
        if (!isOnlyCompared(op->getOperand(side))) continue;
        std::optional<Comparison> found =
            split(side ? swapped(op.getPredicate()) : op.getPredicate(), sides[side], sides[1 - side]);
        if (found && (!best || found->cost() < best->cost())) best = found;
      }
      if (!best || best->cost() * kWorthwhile > tileType(op.getLhs()).getNumElements()) return;
      op.replaceAllUsesWith(narrowed(op, *best));
      op.erase();
    });
  }
};

} // namespace
} // namespace tessera
