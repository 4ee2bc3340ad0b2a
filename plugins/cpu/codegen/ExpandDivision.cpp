// cpu-expand-division: divisions of vectors of integers by divisions of floats.
//
//   %q = arith.divsi %x, %y : vector<8xi32>   ->   %f = arith.divf (sitofp %x), (sitofp %y) : vector<8xf64>
//                                                  %q = arith.fptosi %f
//
// No processor divides vectors of integers, and LLVM divides their elements one after the other. The float's
// quotient is exact once it is truncated, if its significand has more than n + 1 bits for integers of n bits:
// where x / y is less than an integer k, it is less by at least 1 / y, and k * y < 2^(n + 1), so the quotient
// is not rounded to k. Integers of 64 bits have no such float. A constant divisor stays, because LLVM
// multiplies by its inverse; but it does so element by element for signed integers of 64 bits, whose high
// halves of products no vector instruction computes. They are added up here, from products of 32 bits.
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Passes.h"
#include "llvm/Support/DivisionByConstantInfo.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUEXPANDDIVISION
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

/// Fewer elements are as fast one after the other.
constexpr int64_t kLeastLanes = 4;

/// Divides vectors of i64 by one constant: Hacker's Delight, 10-1.
class DivisionByConstant {
public:
  explicit DivisionByConstant(Operation *op) : b_(op->getLoc(), op), type_(op->getResult(0).getType()) {}

  /// The divisor, if the operation is such a division that LLVM does not do by shifts.
  static std::optional<APInt> divisor(Operation *op) {
    if (!isa<arith::DivSIOp, arith::RemSIOp>(op)) return std::nullopt;
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    DenseIntElementsAttr values;
    if (!type || !type.getElementType().isInteger(64) || type.getNumElements() < kLeastLanes ||
        !matchPattern(op->getOperand(1), m_Constant(&values)) || !values.isSplat())
      return std::nullopt;
    const auto d = values.getSplatValue<APInt>();
    if (d.isZero() || d.abs().isPowerOf2()) return std::nullopt;
    return d;
  }

  Value quotient(Value x, const APInt &d) {
    const auto magic = llvm::SignedDivisionByConstantInfo::get(d);
    // The high half of x * magic, of signed numbers.
    Value high = highHalf(x, magic.Magic);
    Value isNegative = arith::ShRSIOp::create(b_, x, number(63));
    high = arith::SubIOp::create(b_, high, arith::AndIOp::create(b_, isNegative, number(magic.Magic)));
    // Minus x if magic < 0; and plus x where the multiplier is magic + 2^64, minus x where it is magic -
    // 2^64.
    const int64_t times = (d.isStrictlyPositive() && magic.Magic.isNegative() ? 1 : 0) -
                          (d.isNegative() && magic.Magic.isStrictlyPositive() ? 1 : 0) -
                          (magic.Magic.isNegative() ? 1 : 0);
    if (times > 0) high = arith::AddIOp::create(b_, high, x);
    if (times < 0) high = arith::SubIOp::create(b_, high, x);
    if (magic.ShiftAmount) high = arith::ShRSIOp::create(b_, high, number(magic.ShiftAmount));
    // Rounded down so far: a negative quotient is one too small.
    return arith::AddIOp::create(b_, high, arith::ShRUIOp::create(b_, high, number(63)));
  }

private:
  Value number(const APInt &n) {
    return arith::ConstantOp::create(b_, DenseElementsAttr::get(cast<ShapedType>(type_), n));
  }
  Value number(uint64_t n) { return number(APInt(64, n)); }

  /// The high half of the product of unsigned numbers.
  Value highHalf(Value x, const APInt &y) {
    auto low = [&](Value v) { return arith::AndIOp::create(b_, v, number(0xffffffffu)).getResult(); };
    auto high = [&](Value v) { return arith::ShRUIOp::create(b_, v, number(32)).getResult(); };
    auto times = [&](Value v, Value w) { return arith::MulIOp::create(b_, v, w).getResult(); };
    auto plus = [&](Value v, Value w) { return arith::AddIOp::create(b_, v, w).getResult(); };
    Value x0 = low(x), x1 = high(x), y0 = number(y.getLoBits(32)), y1 = number(y.lshr(32));
    Value middle = plus(times(x1, y0), high(times(x0, y0))); // none of these sums wraps
    Value other = plus(times(x0, y1), low(middle));
    return plus(plus(times(x1, y1), high(middle)), high(other));
  }

  ImplicitLocOpBuilder b_;
  Type type_;
};

struct ExpandDivisionPass : impl::CpuExpandDivisionBase<ExpandDivisionPass> {
  void runOnOperation() final {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) return;
      auto type = dyn_cast<VectorType>(op->getResult(0).getType());
      auto element = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
      if (element && element.getWidth() > 1 && element.getWidth() <= 32 &&
          !matchPattern(op->getOperand(1), m_Constant()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expand(op);
    SmallVector<std::pair<Operation *, APInt>> byConstants;
    getOperation()->walk([&](Operation *op) {
      if (std::optional<APInt> d = DivisionByConstant::divisor(op)) byConstants.emplace_back(op, *d);
    });
    for (auto &[op, d] : byConstants)
      replace(op, DivisionByConstant(op).quotient(op->getOperand(0), d));
  }

  /// Puts the quotient, or the remainder that follows from it, in the operation's place.
  static void replace(Operation *op, Value quotient) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value x = op->getOperand(0), y = op->getOperand(1);
    if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      quotient = arith::SubIOp::create(b, x, arith::MulIOp::create(b, quotient, y));
    op->replaceAllUsesWith(ValueRange(quotient));
    op->erase();
  }

  static void expand(Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    Value x = op->getOperand(0), y = op->getOperand(1), quotient;
    const bool isNarrow = type.getElementType().getIntOrFloatBitWidth() <= 16;
    Type real = type.clone(isNarrow ? Type(b.getF32Type()) : Type(b.getF64Type()));
    auto divide = [&](auto toFloat, auto toInt) {
      using ToFloat = decltype(toFloat);
      using ToInt = decltype(toInt);
      Value ratio = arith::DivFOp::create(b, ToFloat::create(b, real, x), ToFloat::create(b, real, y));
      quotient = ToInt::create(b, type, ratio);
    };
    if (isa<arith::DivSIOp, arith::RemSIOp>(op))
      divide(arith::SIToFPOp(), arith::FPToSIOp());
    else
      divide(arith::UIToFPOp(), arith::FPToUIOp());
    replace(op, quotient);
  }
};

} // namespace

} // namespace tessera::cpu
