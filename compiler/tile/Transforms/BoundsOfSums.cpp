// Bounds of sums of products, `acc = mma(a, b, acc)` in a loop or one product after the other. Such a sum is
// masked where all of its products are masked by the same bounds. A product leaves the elements of the
// accumulator alone that it masks (docs/decisions/0019).
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "compiler/tile/Transforms/InvariantBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::tile {
namespace {

Line commonLine(OpBuilder &b, Location loc, const Line &x, const Line &y) {
  return {sameInterval(x.ends, y.ends) ? x.ends : std::nullopt, commonFlags(b, loc, x.flags, y.flags)};
}

/// Does `y` have all flags that `x` has?
bool keepsFlags(const Lines &x, const Lines &y) {
  return impliesFlags(y[0].flags, x[0].flags) && impliesFlags(y[1].flags, x[1].flags);
}

/// Returns `v` with the elements of `start` where the flags are not set.
Value restored(OpBuilder &b, Location loc, Value v, Value start, const Lines &flags) {
  ArrayRef<int64_t> shape = tileType(v).getShape();
  return arith::SelectOp::create(b, loc, boundsOf(b, loc, flags, shape).flags, v, start);
}

/// Is the value known before the operation? Arithmetic on such values is moved there.
bool moveBefore(Operation *region, Value v) {
  if (isOutside(v, region)) return true;
  Operation *op = v.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return moveBefore(region, operand); }))
    return false;
  op->moveBefore(region);
  return true;
}

} // namespace

Lines commonLines(OpBuilder &b, Location loc, const Lines &x, const Lines &y) {
  return {commonLine(b, loc, x[0], y[0]), commonLine(b, loc, x[1], y[1])};
}

Lines linesOf(OpBuilder &b, Location loc, const Bounds &bounds) {
  auto of = [&](unsigned axis) { return Line{bounds.box[axis], flagsAlong(b, loc, bounds.flags, axis)}; };
  return {of(0), of(1)};
}

Bounds boundsOf(OpBuilder &b, Location loc, const Lines &lines, ArrayRef<int64_t> shape) {
  Bounds r{{lines[0].ends, lines[1].ends}};
  for (unsigned axis : {0u, 1u})
    r.flags = intersectFlags(b, loc, r.flags, spreadFlags(b, loc, lines[axis].flags, axis, shape));
  return r;
}

/// A product that is added to a sum leaves alone what it masks. An interval does so itself (legalizeMma);
/// flags that are not common to all products need a select.
void BoundsLegalizer::visitProduct(MmaOp mma) {
  OpBuilder b(mma);
  Location loc = mma.getLoc();
  Bounds product =
      mma.boundsOfProduct(b, [&](Value v) { return isTile(v) ? bounds(v) : Bounds{factorBox(b, mma, v)}; });
  Lines lines = linesOf(b, loc, product), restore = {};
  Sum sum = {mma.getAcc(), lines};
  Bounds all = product;
  if (auto before = sums_.find(mma.getAcc()); before != sums_.end()) {
    sum = {before->second.start, commonLines(b, loc, before->second.products, lines)};
    if (!keepsFlags(before->second.products, sum.products))
      mma.getAccMutable().assign(restored(b, loc, mma.getAcc(), sum.start, before->second.products));
    if (!keepsFlags(lines, sum.products)) restore = lines;
    all = boundsOf(b, loc, sum.products, tileType(mma.getAcc()).getShape());
  }
  all = intersect(b, loc, all, bounds(sum.start));
  Value result = legalizeMma(mma, boundsOf(b, loc, restore, tileType(mma.getAcc()).getShape()).flags);
  bounds_[result] = all;
  sums_[result] = sum;
}

/// A loop that adds products to a sum continues it.
bool BoundsLegalizer::continueSum(LoopLikeOpInterface loop, const Carried &c) {
  if (!sums_.contains(c.init->get())) return false;
  auto visitMoved = [&](Value v) { return this->visitMoved(v); };
  std::optional<Lines> products = InvariantBounds(loop, bounds_, visitMoved).ofSum(c);
  if (!products) return false;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  const Sum first = sums_.at(c.init->get());
  Sum sum = {first.start, commonLines(b, loc, first.products, *products)};
  if (!keepsFlags(first.products, sum.products))
    c.init->set(restored(b, loc, c.init->get(), sum.start, first.products));
  Bounds all =
      intersect(b, loc, bounds(sum.start), boundsOf(b, loc, sum.products, tileType(c.next).getShape()));
  for (Value name : c.names)
    bounds_[name] = all;
  if (c.result) sums_[c.result] = sum;
  return true;
}

/// A sum of products is out of bounds where each product is, and where its initial value is. If it is also
/// scaled, the initial value counts like that of other carried tiles.
void BoundsLegalizer::boundsOfProducts(LoopLikeOpInterface loop, const Carried &c) {
  auto visitMoved = [&](Value v) { return this->visitMoved(v); };
  InvariantBounds invariant(loop, bounds_, visitMoved);
  std::optional<Lines> sum = invariant.ofSum(c), lines = sum ? sum : invariant.ofScaledSum(c);
  if (!lines) return;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Bounds start = bounds(sum ? c.init->get() : c.names.front());
  Bounds all = intersect(b, loc, start, boundsOf(b, loc, *lines, tileType(c.next).getShape()));
  for (Value name : c.names)
    bounds_[name] = all;
  if (sum && c.result) sums_[c.result] = {c.init->get(), *sum};
}

/// An if continues a sum if its branches add products to one value, or leave it as it is. Those bounds of the
/// products count that can be computed before the if.
llvm::DenseMap<unsigned, Sum> BoundsLegalizer::sumsOfIf(scf::IfOp branch) {
  llvm::DenseMap<unsigned, Sum> sums;
  OpBuilder b(branch);
  Location loc = branch.getLoc();
  for (unsigned n = 0; n < branch.getNumResults(); ++n) {
    OpOperand *values[] = {&branch.thenYield()->getOpOperand(n), &branch.elseYield()->getOpOperand(n)};
    auto sumOf = [&](OpOperand *value) {
      auto it = sums_.find(value->get());
      return it == sums_.end() ? std::nullopt : std::optional(it->second);
    };
    std::optional<Sum> ofBranch[] = {sumOf(values[0]), sumOf(values[1])};
    auto startOf = [&](unsigned i) { return ofBranch[i] ? ofBranch[i]->start : values[i]->get(); };
    if ((!ofBranch[0] && !ofBranch[1]) || startOf(0) != startOf(1) || !isOutside(startOf(0), branch))
      continue;
    std::optional<Lines> products;
    for (const std::optional<Sum> &sum : ofBranch) {
      if (!sum) continue;
      Lines known = sum->products;
      for (Line &line : known) {
        if (line.ends && !(moveBefore(branch, line.ends->lo) && moveBefore(branch, line.ends->hi)))
          line.ends = {};
        if (line.flags && !moveBefore(branch, line.flags)) line.flags = {};
      }
      products = products ? commonLines(b, loc, *products, known) : known;
    }
    for (unsigned i : {0u, 1u}) {
      if (!ofBranch[i] || keepsFlags(ofBranch[i]->products, *products)) continue;
      OpBuilder inside(values[i]->getOwner());
      values[i]->set(restored(inside, loc, values[i]->get(), startOf(i), ofBranch[i]->products));
    }
    sums[n] = {startOf(0), *products};
  }
  return sums;
}

} // namespace tessera::tile
