// Bounds of sums of products, `acc = mma(a, b, acc)` in a loop or one product after the other. Such a sum is
// masked where all of its products are masked by the same bounds. A product leaves the elements of the
// accumulator alone that it masks (docs/decisions/0019).
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// Returns what both have.
Line commonLine(OpBuilder &b, Location loc, const Line &x, const Line &y) {
  return {sameInterval(x.ends, y.ends) ? x.ends : std::nullopt, commonFlags(b, loc, x.flags, y.flags)};
}

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

/// The bounds that a product inside a loop has in every iteration, as far as they are known before the loop:
/// those of the rows of its first factor and of the columns of its second.
class InvariantBounds {
public:
  /// `visit` computes the bounds of an operation that was moved before the loop.
  InvariantBounds(scf::ForOp loop, const DenseMap<Value, Bounds> &all,
                  llvm::function_ref<void(Operation *)> visit)
      : loop_(loop), bounds_(all), visit_(visit) {}

  /// Returns the bounds along both axes of the next value of `carried` if it is a product added to `carried`.
  std::optional<Lines> ofProduct(Value next, Value carried) {
    if (tileType(next).getRank() != 2 || !isProductOnto(next, carried)) return {};
    return Lines{of(next, 0), of(next, 1)};
  }

  /// Is the value a sum of products and `carried`, and nothing else?
  bool isSumOnto(Value v, Value carried) {
    bool hasProduct = false;
    for (; v != carried; hasProduct = true) {
      Operation *op = v.getDefiningOp();
      if (!op || isOutside(v, loop_)) return false;
      if (auto mma = dyn_cast<MmaOp>(op))
        v = mma.getAcc();
      else if (std::optional<Value> init = initOfSum(v))
        v = *init;
      else
        return false;
    }
    return hasProduct;
  }

private:
  /// Returns the initial value of the inner loop whose result is `v`, if the loop adds products to it.
  std::optional<Value> initOfSum(Value v) {
    auto inner = v.getDefiningOp<scf::ForOp>();
    if (!inner) return {};
    unsigned n = cast<OpResult>(v).getResultNumber();
    if (!isSumOnto(inner.getBody()->getTerminator()->getOperand(n), inner.getRegionIterArg(n))) return {};
    return inner.getInitArgs()[n];
  }

  /// Is the value known before the loop? Arithmetic on known values is moved there, and so are reads of tiles
  /// and scalars if the loop writes no tensor.
  bool moveOutside(Value v) {
    if (isOutside(v, loop_)) return true;
    Operation *op = v.getDefiningOp();
    if (!op || op->getNumRegions() || !(isPure(op) || (readsTensor(op) && !writesTensors()))) return false;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return moveOutside(operand); })) return false;
    op->moveBefore(loop_);
    if (llvm::any_of(op->getResultTypes(), [](Type type) { return isTile(type); })) visit_(op);
    return true;
  }

  static bool readsTensor(Operation *op) {
    return isa<LoadOp, LoadElemOp, GatherOp>(op) && isa<ViewType>(op->getOperand(0).getType());
  }

  bool writesTensors() {
    if (!writesTensors_)
      writesTensors_ =
          loop_
              ->walk([](Operation *op) {
                return isa<StoreOp, StoreElemOp, ScatterOp, AtomicOp, AtomicCasOp, BarrierOp, FenceOp>(op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
    return *writesTensors_;
  }

  /// Follows elementwise operations from a product whose accumulator is `carried`, itself possibly changed
  /// elementwise. Operations inside an if are not followed, because the if may skip them.
  bool isProductOnto(Value v, Value carried) {
    bool hasProduct = false;
    while (Operation *op = v.getDefiningOp()) {
      if (isOutside(v, loop_)) return false;
      if (auto mma = dyn_cast<MmaOp>(op)) {
        hasProduct = true;
        v = mma.getAcc();
      } else if (auto inner = dyn_cast<scf::ForOp>(op)) {
        unsigned n = cast<OpResult>(v).getResultNumber();
        if (!isProductOnto(inner.getBody()->getTerminator()->getOperand(n), inner.getRegionIterArg(n)))
          return false;
        hasProduct = true;
        v = inner.getInitArgs()[n];
      } else if (isElementwise(op)) {
        // Continue with the one operand that depends on `carried`.
        auto reached = llvm::make_filter_range(
            op->getOperands(), [&](Value operand) { return isTile(operand) && reaches(operand, carried); });
        if (!llvm::hasSingleElement(reached)) return false;
        v = *reached.begin();
        for (Value operand : op->getOperands())
          hasProduct |= operand != v && isTile(operand) && isProduct(operand);
      } else {
        return false;
      }
    }
    return hasProduct && v == carried;
  }

  /// Finds a product in the loop's body, possibly changed elementwise.
  bool isProduct(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op || isOutside(v, loop_)) return false;
    if (auto it = products_.find(v); it != products_.end()) return it->second;
    bool r = isa<MmaOp>(op) || (isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                                  return isTile(operand) && isProduct(operand);
                                }));
    return products_[v] = r;
  }

  bool reaches(Value v, Value carried) {
    if (v == carried) return true;
    Operation *op = v.getDefiningOp();
    if (!op || isOutside(v, loop_)) return false;
    if (auto it = reached_.find({v, carried}); it != reached_.end()) return it->second;
    bool r = false;
    if (auto mma = dyn_cast<MmaOp>(op))
      r = reaches(mma.getAcc(), carried);
    else if (auto inner = dyn_cast<scf::ForOp>(op))
      r = reaches(inner.getInitArgs()[cast<OpResult>(v).getResultNumber()], carried);
    else if (isElementwise(op))
      r = llvm::any_of(op->getOperands(),
                       [&](Value operand) { return isTile(operand) && reaches(operand, carried); });
    return reached_[{v, carried}] = r;
  }

  Line intersect(const Line &x, const Line &y) {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    return {tile::intersect(b, loc, x.ends, y.ends), intersectFlags(b, loc, x.flags, y.flags)};
  }

  Line common(const Line &x, const Line &y) {
    OpBuilder b(loop_);
    return commonLine(b, loop_.getLoc(), x, y);
  }

  /// Returns the bounds along the axis of a tile, as far as they are the same in every iteration.
  Line of(Value v, unsigned axis) {
    Operation *op = v.getDefiningOp();
    if (isOutside(v, loop_)) {
      auto it = bounds_.find(v);
      if (it == bounds_.end()) return {};
      OpBuilder b(loop_);
      return {it->second.box[axis], flagsAlong(b, loop_.getLoc(), it->second.flags, axis)};
    }
    if (!op) return {};
    auto [it, isNew] = known_.try_emplace({v, axis});
    if (!isNew) return it->second;
    Line r = find(op, v, axis);
    return known_[{v, axis}] = r;
  }

  Line find(Operation *op, Value v, unsigned axis) {
    OpBuilder b(loop_);
    if (auto load = dyn_cast<LoadOp>(op)) {
      bool isKnown =
          !load.getInBounds() && isInvariant(load.getView(), load.getStarts(), load.getExtents(), axis);
      return isKnown ? Line{loadBox(b, load, axis)[axis]} : Line();
    }
    if (auto gather = dyn_cast<GatherOp>(op)) return ofGather(gather, axis);
    if (auto keep = dyn_cast<KeepOp>(op)) {
      OpBuilder inside(op);
      Value flags = flagsAlong(inside, op->getLoc(), keep.getFlags(), axis);
      Line ofFlags = of(keep.getFlags(), axis);
      if (flags && moveOutside(flags)) ofFlags.flags = intersectFlags(b, op->getLoc(), ofFlags.flags, flags);
      return intersect(of(keep.getInput(), axis), ofFlags);
    }
    if (auto read = dyn_cast<BufferReadOp>(op))
      return read.getStarts().empty() ? Line{ofBuffer(read.getBuffer(), read, axis)} : Line();
    if (isa<MmaOp>(op)) return ofSum(v, axis);
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      unsigned rank = static_cast<unsigned>(tileType(v).getRank());
      return of(transpose.getInput(), axis + 2 == rank ? rank - 1 : axis + 1 == rank ? rank - 2 : axis);
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) return of(reduce.getInput(), axis + (axis >= reduce.getAxis()));
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      return axis == expand.getAxis() ? Line() : of(expand.getInput(), axis - (axis > expand.getAxis()));
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      auto from = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
      bool isKept = from && from.getDimSize(axis) == tileType(v).getDimSize(axis);
      return isKept ? of(broadcast.getInput(), axis) : Line();
    }
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      Value next = inner.getBody()->getTerminator()->getOperand(n);
      return isProductOnto(next, inner.getRegionIterArg(n)) ? of(next, axis) : Line();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      return common(of(branch.thenYield().getOperand(n), axis), of(branch.elseYield().getOperand(n), axis));
    }
    auto select = dyn_cast<arith::SelectOp>(op);
    if (isa<WhereOp>(op) || (select && !isTile(select.getCondition())))
      return common(of(op->getOperand(1), axis), of(op->getOperand(2), axis));
    Line r;
    if (isElementwise(op))
      for (Value operand : op->getOperands())
        if (isTile(operand)) r = intersect(r, of(operand, axis));
    return r;
  }

  /// What all products have that are added to one value, and what that value has.
  Line ofSum(Value v, unsigned axis) {
    std::optional<Line> all;
    auto add = [&](const Line &line) { all = all ? common(*all, line) : line; };
    while (!isOutside(v, loop_)) {
      if (auto mma = v.getDefiningOp<MmaOp>()) {
        Value factor = axis == 0 ? mma.getA() : mma.getB();
        bool isTurned = axis == 0 ? mma.getTransA() : mma.getTransB();
        unsigned from = isTurned ? 1 - axis : axis;
        add(isTile(factor) ? of(factor, from) : Line{ofBuffer(factor, mma, from)});
        v = mma.getAcc();
      } else if (std::optional<Value> init = initOfSum(v)) {
        add(of(v, axis));
        v = *init;
      } else {
        break;
      }
    }
    return intersect(*all, of(v, axis));
  }

  /// Tiles and scalars that index the tensor must be known before the loop; of slices only the one that is
  /// asked for.
  Line ofGather(GatherOp op, unsigned axis) {
    if (!isa<ViewType>(op.getMemory().getType()) || !isOutside(op.getMemory(), loop_)) return {};
    GatherAxes axes = gatherAxes(op.getIndices(), op.getExtents());
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      bool matters = op.getExtents()[dim] < 0 || axes.ofDim[dim] == axis;
      if (matters && !moveOutside(index)) return {};
    }
    size_t last = axes.first + axes.indices.size();
    std::optional<unsigned> slice = axis < axes.first ? axis
                                    : axis >= last    ? axis - axes.indices.size()
                                                      : axes.shape.size();
    OpBuilder b(loop_);
    Bounds all = gatherBounds(
        b, op,
        [&](Value index) {
          auto it = bounds_.find(index);
          return it != bounds_.end() ? it->second : Bounds::whole(tileType(index).getRank());
        },
        slice);
    return {all.box[axis], flagsAlong(b, op.getLoc(), all.flags, axis)};
  }

  /// Only the starts that the axis depends on must be known before the loop.
  bool isInvariant(Value view, OperandRange starts, ArrayRef<int64_t> extents, unsigned axis) {
    if (!isOutside(view, loop_)) return false;
    unsigned at = 0;
    for (auto [start, extent] : llvm::zip(starts, extents)) {
      bool matters = extent >= 0 ? at == axis : axis == 0; // windowBox
      if (matters && !moveOutside(start)) return false;
      at += extent >= 0;
    }
    return true;
  }

  std::optional<Interval> ofBuffer(Value buffer, Operation *reader, unsigned axis) {
    CpAsyncOp copy = reachingCopy(buffer, reader);
    if (!copy || !isInvariant(copy.getView(), copy.getStarts(), copy.getExtents(), axis)) return std::nullopt;
    OpBuilder b(loop_);
    return copyBox(b, copy, axis)[axis];
  }

  scf::ForOp loop_;
  const DenseMap<Value, Bounds> &bounds_;
  llvm::function_ref<void(Operation *)> visit_;
  std::optional<bool> writesTensors_;
  DenseMap<std::pair<Value, unsigned>, Line> known_;
  DenseMap<Value, bool> products_;
  DenseMap<std::pair<Value, Value>, bool> reached_;
};

} // namespace

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
llvm::SmallPtrSet<Value, 4> BoundsLegalizer::continueSums(scf::ForOp loop) {
  llvm::SmallPtrSet<Value, 4> continued;
  auto visitMoved = [&](Operation *op) { visit(op); };
  InvariantBounds invariant(loop, bounds_, visitMoved);
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  for (auto [arg, init, next, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgsMutable(),
                 loop.getBody()->getTerminator()->getOperands(), loop.getResults())) {
    auto it = sums_.find(init.get());
    if (it == sums_.end() || !invariant.isSumOnto(next, arg)) continue;
    const Sum before = it->second;
    Sum sum = {before.start, commonLines(b, loc, before.products, *invariant.ofProduct(next, arg))};
    if (!keepsFlags(before.products, sum.products))
      init.set(restored(b, loc, init.get(), sum.start, before.products));
    Bounds products = boundsOf(b, loc, sum.products, tileType(arg).getShape());
    bounds_[arg] = intersect(b, loc, bounds(sum.start), products);
    sums_[result] = sum;
    continued.insert(arg);
  }
  return continued;
}

/// A sum of products is out of bounds where each product is, whatever its initial value is.
void BoundsLegalizer::boundsOfProducts(scf::ForOp loop) {
  auto visitMoved = [&](Operation *op) { visit(op); };
  InvariantBounds invariant(loop, bounds_, visitMoved);
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  for (auto [arg, init, next, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getBody()->getTerminator()->getOperands(),
                 loop.getResults())) {
    if (!isTile(arg) || sums_.contains(result)) continue;
    std::optional<Lines> lines = invariant.ofProduct(next, arg);
    if (!lines) continue;
    Bounds products = boundsOf(b, loc, *lines, tileType(arg).getShape());
    bounds_[arg] = intersect(b, loc, bounds(arg), products);
    if (invariant.isSumOnto(next, arg)) sums_[result] = {init, *lines};
  }
}

/// An if continues a sum if its branches add products to one value, or leave it as it is. Those bounds of the
/// products count that can be computed before the if.
llvm::DenseMap<unsigned, BoundsLegalizer::Sum> BoundsLegalizer::sumsOfIf(scf::IfOp branch) {
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
