// tile-scale-exponents (normative phase 3): computes the weights of a softmax as powers of 2, with a scale of
// the scores and the factor log2(e) in one multiply-add.
//
//   %x = arith.mulf %s, 0.125                         %t = tile.reduce max %s axis 1
//   %m = tile.reduce max %x axis 1                    %m = arith.mulf %t, 0.125
//   %b = tile.broadcast %m                       ->   %n = arith.mulf %m, 1.4427
//   %d = arith.subf %x, %b                            %b = tile.broadcast %n
//   %p = tile.exp %d                                  %x = arith.mulf %s, 0.18034
//                                                     %d = arith.subf %x, %b
//                                                     %p = tile.exp2 %d
//
// The code generator contracts the last multiplication and the subtraction. Where the profile permits
// contraction, reassociation and approximate functions, and the target has an instruction for 2^x. It runs
// after tile-skip-hidden, which looks for the form on the left.
//
// A scale of at most 0.99 / log2(e) cannot overflow where the program's does not, and a difference of numbers
// whose multiple overflows is so large that its exponential is 0 or infinite in any case. Other differences
// stay: of values near the end of the dtype's range, a softmax of equal ones would become NaN.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "numerics/functions/Coefficients.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_TILESCALEEXPONENTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

const double kLog2e = functions::kLog2eF[0] + functions::kLog2eF[1];
constexpr double kLargestFactor = 0.99; // of a score, in the exponent of 2

/// Returns the operand whose elements are kept where `op` does not replace them by -inf; null if it is
/// another operation.
OpOperand *keptBeside(Operation *op) {
  if (auto mask = dyn_cast<MaskOp>(op)) return isLowest(mask.getFill()) ? &mask.getInputMutable() : nullptr;
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select) return nullptr;
  if (isLowest(select.getTrueValue())) return &select.getFalseValueMutable();
  return isLowest(select.getFalseValue()) ? &select.getTrueValueMutable() : nullptr;
}

/// Returns the scale if `v` is a multiple of other scores by a constant that this pass may move.
std::optional<double> scaleOf(Value v) {
  auto multiple = v.getDefiningOp<arith::MulFOp>();
  const std::optional<double> scale = multiple ? constantFloat(multiple.getRhs()) : std::nullopt;
  return scale && *scale > 0 && *scale * kLog2e <= kLargestFactor ? scale : std::nullopt;
}

Value multiply(OpBuilder &b, Location loc, Value x, double factor, arith::FastMathFlags flags) {
  TypedAttr number = b.getFloatAttr(getElementTypeOrSelf(x), factor);
  if (isTile(x)) number = DenseElementsAttr::get(tileType(x), Attribute(number));
  return arith::MulFOp::create(b, loc, x, arith::ConstantOp::create(b, loc, number), flags);
}

/// Returns `factor` times the value, which is multiplied before it is spread.
Value multiplyLine(OpBuilder &b, Location loc, Value x, double factor, arith::FastMathFlags flags) {
  if (auto spread = x.getDefiningOp<BroadcastOp>()) {
    Value line = multiplyLine(b, loc, spread.getInput(), factor, flags);
    return BroadcastOp::create(b, loc, spread.getType(), line);
  }
  if (auto line = x.getDefiningOp<ExpandDimsOp>()) {
    Value inner = multiplyLine(b, loc, line.getInput(), factor, flags);
    return ExpandDimsOp::create(b, loc, line.getType(), inner, line.getAxis());
  }
  return multiply(b, loc, x, factor, flags);
}

/// Returns the multiples that `v` consists of, beside -inf: it may be masked, and the result of branches.
void collectMultiples(Value v, SmallVector<arith::MulFOp> &multiples) {
  Operation *op = v.getDefiningOp();
  if (!op) return;
  if (scaleOf(v)) return multiples.push_back(cast<arith::MulFOp>(op));
  if (OpOperand *kept = keptBeside(op)) return collectMultiples(kept->get(), multiples);
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch) return;
  const unsigned number = cast<OpResult>(v).getResultNumber();
  for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
    collectMultiples(yield.getOperand(number), multiples);
}

/// Replaces the multiple in this use by what it is a multiple of, if the user's result is then a multiple by
/// the same number. Masks and maxima of multiples by a positive number have the same bits: they are in the
/// order of the numbers. Returns that result; null if it is not so.
Value takeUnscaled(OpOperand &use, arith::MulFOp multiple) {
  Operation *user = use.getOwner();
  auto reduce = dyn_cast<ReduceOp>(user);
  if ((reduce && reduce.getKind() == ReduceKind::Max) || keptBeside(user) == &use) {
    use.set(multiple.getLhs());
    return user->getResult(0);
  }
  auto branch = isa<scf::YieldOp>(user) ? dyn_cast<scf::IfOp>(user->getParentOp()) : scf::IfOp();
  if (!branch) return {};
  const unsigned number = use.getOperandNumber();
  scf::YieldOp other = user == branch.thenYield() ? branch.elseYield() : branch.thenYield();
  if (scaleOf(other.getOperand(number)) != scaleOf(multiple)) return {};
  other.setOperand(number, other.getOperand(number).getDefiningOp<arith::MulFOp>().getLhs());
  use.set(multiple.getLhs());
  return branch.getResult(number);
}

/// Moves the multiplication below masks, branches and maxima of the multiple.
void sink(arith::MulFOp multiple) {
  const double scale = *scaleOf(multiple);
  // A branch changes a second use, so that the list is a copy.
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(multiple->getUses(), [](OpOperand &use) { return &use; });
  for (OpOperand *use : uses) {
    if (use->get() != multiple) continue;
    Value result = takeUnscaled(*use, multiple);
    if (!result) continue;
    OpBuilder b(multiple.getContext());
    b.setInsertionPointAfterValue(result);
    Value scaled = multiply(b, result.getLoc(), result, scale, multiple.getFastmath());
    result.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
    if (scaleOf(scaled)) sink(scaled.getDefiningOp<arith::MulFOp>());
  }
  if (multiple->use_empty()) multiple.erase();
}

/// Does `op` subtract what many elements share from multiples of scores, as the profile permits to contract?
arith::SubFOp scaledDifference(ExpOp op) {
  auto difference = op->getOperand(0).getDefiningOp<arith::SubFOp>();
  constexpr auto kNeeded = arith::FastMathFlags::reassoc | arith::FastMathFlags::contract;
  if (!difference || !getElementTypeOrSelf(op->getResult(0).getType()).isF32()) return {};
  if (!bitEnumContainsAll(difference.getFastmath(), kNeeded) || !difference->hasOneUse()) return {};
  return difference.getRhs().getDefiningOp<BroadcastOp>() ? difference : arith::SubFOp();
}

class ScaleExponents : public impl::TileScaleExponentsBase<ScaleExponents> {
  void runOnOperation() override {
    if (!permitsOf(getOperation()).value_or(NumericsPermissions()).approximate) return;
    SmallVector<ExpOp> weights;
    getOperation()->walk([&](ExpOp op) {
      if (scaledDifference(op)) weights.push_back(op);
    });
    for (ExpOp op : weights) {
      SmallVector<arith::MulFOp> multiples;
      collectMultiples(scaledDifference(op).getLhs(), multiples);
      llvm::SetVector<arith::MulFOp> each(multiples.begin(), multiples.end());
      for (arith::MulFOp multiple : each)
        sink(multiple);
    }
    for (ExpOp op : weights) {
      arith::SubFOp difference = scaledDifference(op);
      const std::optional<double> scale = scaleOf(difference.getLhs());
      if (!scale) continue;
      auto multiple = difference.getLhs().getDefiningOp<arith::MulFOp>();
      OpBuilder b(difference);
      const Location loc = difference.getLoc();
      const arith::FastMathFlags flags = difference.getFastmath();
      difference.getLhsMutable().assign(multiply(b, loc, multiple.getLhs(), *scale * kLog2e, flags));
      difference.getRhsMutable().assign(multiplyLine(b, loc, difference.getRhs(), kLog2e, flags));
      b.setInsertionPoint(op);
      op->getResult(0).replaceAllUsesWith(
          Exp2Op::create(b, op.getLoc(), op->getResult(0).getType(), op->getOperand(0)).getResult());
      op.erase();
      if (multiple->use_empty()) multiple.erase();
    }
  }
};

} // namespace
} // namespace tessera
