// tile-simplify-indices (normative phase 3): simplifies scalar arithmetic on indices by what is known about
// them.
//
//   %x = arith.index_cast %w : index to i64
//   %m = arith.cmpi eq, %x, %c-1               %q = arith.divui %i, %w : index
//   %d = arith.select %m, %c1, %w
//   %p = arith.floordivsi %i, %d          ->
//   %n = arith.subi %c0, %i
//   %q = arith.select %m, %n, %p
//
// The language rounds quotients down and guards divisors of 0 and -1 (TileBuilder). Lanes, positions and dims
// are not negative, and a dim is not 0 in a lane if it is a factor of their number, so that most of the guard
// and of the rounding is never needed. Arithmetic on i64 values that were indices becomes arithmetic on
// indices, so that CSE merges it with the addresses. Operations fold on the way, because a later one is
// simple only after those that it uses. Then elements whose indices are simple enough to be known inside
// their tensor are marked so.
//
// The pass runs before tile-hoist-invariants, which moves comparisons out of the loop over lanes, and before
// the lowering of lanes, which looks for divisions of this form. It is only for scalars: nothing is known
// about the elements of tiles.
#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/KnownExtents.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace tessera {
#define GEN_PASS_DEF_TILESIMPLIFYINDICES
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

bool isNonNegative(Value v, Operation *at) {
  return v.getType().isIntOrIndex() && (largestIndex(v).has_value() || isPositiveAt(v, at));
}

/// Returns the result of comparing a number that is not negative with `limit`, if the sign decides it.
std::optional<bool> compareBySign(arith::CmpIPredicate predicate, const APInt &limit) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return limit.isNegative() ? std::optional(false) : std::nullopt;
  case P::ne:
    return limit.isNegative() ? std::optional(true) : std::nullopt;
  case P::slt:
    return limit.isNonPositive() ? std::optional(false) : std::nullopt;
  case P::sge:
    return limit.isNonPositive() ? std::optional(true) : std::nullopt;
  case P::sle:
    return limit.isNegative() ? std::optional(false) : std::nullopt;
  case P::sgt:
    return limit.isNegative() ? std::optional(true) : std::nullopt;
  default:
    return std::nullopt;
  }
}

class SimplifyIndices : public impl::TileSimplifyIndicesBase<SimplifyIndices> {
  void runOnOperation() override {
    // In program order, because a later operation is simpler after those that it uses.
    getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
      if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1 ||
          !op->getResult(0).getType().isIntOrIndex() || op->hasTrait<OpTrait::ConstantLike>())
        return WalkResult::advance();
      OpBuilder b(op);
      Value simple = simplified(op, b);
      if (!simple) return WalkResult::advance();
      op->replaceAllUsesWith(ValueRange(simple));
      op->erase();
      return WalkResult::skip(); // the walk would look for regions of the operation
    });
    markElementsInside(getOperation());
  }

  /// Returns a simpler form of the operation's result; null: there is none.
  static Value simplified(Operation *op, OpBuilder &b) {
    if (Value result = onIndices(op, b)) return result;
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      if (std::optional<bool> known = resultOf(compare))
        return arith::ConstantOp::create(b, op->getLoc(), b.getBoolAttr(*known));
    } else if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op)) {
      Value x = op->getOperand(0), y = op->getOperand(1);
      if (!isNonNegative(x, op) || !isNonNegative(y, op)) return {};
      if (isa<arith::RemSIOp>(op)) return arith::RemUIOp::create(b, op->getLoc(), x, y);
      return arith::DivUIOp::create(b, op->getLoc(), x, y);
    }
    SmallVector<Value> folded;
    return succeeded(b.tryFold(op, folded)) && !folded.empty() ? folded.front() : Value();
  }

  /// Returns the result of an operation on i64 values as computed from the indices that they are casts of;
  /// null: they are not.
  static Value onIndices(Operation *op, OpBuilder &b) {
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp, arith::DivSIOp,
             arith::RemSIOp, arith::FloorDivSIOp, arith::MinSIOp, arith::MaxSIOp, arith::AndIOp,
             arith::XOrIOp, arith::SelectOp, arith::CmpIOp>(op))
      return {};
    SmallVector<Value> operands(op->getOperands());
    bool hasIndex = false;
    for (Value &v : operands) {
      if (!v.getType().isInteger(64)) continue;
      APInt constant;
      if (auto cast = v.getDefiningOp<arith::IndexCastOp>(); cast && cast.getIn().getType().isIndex()) {
        v = cast.getIn();
        hasIndex = true;
      } else if (matchPattern(v, m_ConstantInt(&constant))) {
        v = arith::ConstantIndexOp::create(b, op->getLoc(), constant.getSExtValue());
      } else {
        return {};
      }
    }
    if (!hasIndex) return {};
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    const bool isCompare = isa<arith::CmpIOp>(op);
    state.addTypes(isCompare ? Type(b.getI1Type()) : b.getIndexType());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *created = b.create(state);
    // The walk is past the place where the new operation is.
    if (Value simple = simplified(created, b)) {
      created->replaceAllUsesWith(ValueRange(simple));
      created->erase();
      return isCompare ? simple : arith::IndexCastOp::create(b, op->getLoc(), b.getI64Type(), simple);
    }
    Value result = created->getResult(0);
    return isCompare ? result : arith::IndexCastOp::create(b, op->getLoc(), b.getI64Type(), result);
  }

  static std::optional<bool> resultOf(arith::CmpIOp op) {
    APInt limit;
    if (!matchPattern(op.getRhs(), m_ConstantInt(&limit)) || !isNonNegative(op.getLhs(), op))
      return std::nullopt;
    using P = arith::CmpIPredicate;
    if (limit.isZero() && (op.getPredicate() == P::eq || op.getPredicate() == P::ne) &&
        isPositiveAt(op.getLhs(), op))
      return op.getPredicate() == P::ne;
    return compareBySign(op.getPredicate(), limit);
  }
};

} // namespace
} // namespace tessera
