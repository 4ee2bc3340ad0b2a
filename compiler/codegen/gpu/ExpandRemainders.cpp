// gpu-expand-remainders: no GPU has an instruction for the remainder of floats, and what LLVM and drivers
// make of it, x - y * trunc(x / y), is wrong where the quotient has more digits than the dtype. fmod is exact
// (docs/numerics.md), so it is computed by long division of the integers that the numbers are multiples of.
#include "compiler/codegen/gpu/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tessera::gpu {
#define GEN_PASS_DEF_GPUEXPANDREMAINDERS
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

/// Computes with the bits of f32 or f64 numbers.
class Remainder {
public:
  Remainder(ImplicitLocOpBuilder &b, FloatType type)
      : b_(b), type_(type), width_(type.getWidth()), digits_(type.getFPMantissaWidth() - 1),
        word_(b.getIntegerType(width_)) {}

  Value of(Value x, Value y) {
    Value xBits = arith::BitcastOp::create(b_, word_, x), yBits = arith::BitcastOp::create(b_, word_, y);
    Value magnitude = constant(APInt::getSignedMaxValue(width_)),
          infinity = constant(APInt::getBitsSet(width_, digits_, width_ - 1));
    Value ax = arith::AndIOp::create(b_, xBits, magnitude), ay = arith::AndIOp::create(b_, yBits, magnitude);
    Value sign = arith::AndIOp::create(b_, xBits, constant(APInt::getSignMask(width_)));
    Value isInvalid =
        either(either(is(P::eq, ay, number(0)), is(P::uge, ax, infinity)), is(P::ugt, ay, infinity));
    Value isOwn = is(P::ult, ax, ay); // x is its own remainder
    Value divides = is(P::eq, either(isInvalid, isOwn), constant(APInt(1, 0)));
    auto result = scf::IfOp::create(b_, TypeRange{word_}, divides, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(result.thenBlock());
      scf::YieldOp::create(b_, either(divide(ax, ay), sign));
      b_.setInsertionPointToStart(result.elseBlock());
      scf::YieldOp::create(b_, xBits);
    }
    Value product = arith::MulFOp::create(b_, x, y); // a NaN of an operand, or that of an invalid operation
    Value invalid = arith::DivFOp::create(b_, product, product);
    return arith::SelectOp::create(b_, isInvalid, invalid,
                                   arith::BitcastOp::create(b_, type_, result.getResult(0)));
  }

private:
  using P = arith::CmpIPredicate;
  Value constant(const APInt &value) {
    return arith::ConstantOp::create(b_, b_.getIntegerAttr(b_.getIntegerType(value.getBitWidth()), value));
  }
  Value number(uint64_t value) { return constant(APInt(width_, value)); }
  Value is(P predicate, Value x, Value y) { return arith::CmpIOp::create(b_, predicate, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b_, x, y); }

  /// A number is its integer times two to the power of its exponent. Those of subnormals have the exponent 1,
  /// too.
  std::pair<Value, Value> split(Value magnitude) {
    Value exponent = arith::ShRUIOp::create(b_, magnitude, number(digits_));
    Value fraction = arith::AndIOp::create(b_, magnitude, constant(APInt::getLowBitsSet(width_, digits_)));
    Value isSubnormal = is(P::eq, exponent, number(0));
    Value integer = either(fraction, number(uint64_t{1} << digits_));
    return {arith::SelectOp::create(b_, isSubnormal, fraction, integer),
            arith::SelectOp::create(b_, isSubnormal, number(1), exponent)};
  }

  /// The magnitude of the remainder of ax >= ay > 0, finite.
  Value divide(Value ax, Value ay) {
    auto [x, xExponent] = split(ax);
    auto [y, yExponent] = split(ay);
    // The bits of a word that integers leave free are as many digits of the quotient in each step.
    Value step = number(width_ - 1 - digits_);
    Value first = arith::RemUIOp::create(b_, x, y),
          distance = arith::SubIOp::create(b_, xExponent, yExponent);
    auto loop = scf::WhileOp::create(
        b_, TypeRange{word_, word_}, ValueRange{first, distance},
        [&](OpBuilder &, Location, ValueRange v) {
          scf::ConditionOp::create(b_, is(P::ne, v[1], number(0)), v);
        },
        [&](OpBuilder &, Location, ValueRange v) {
          Value now = arith::MinUIOp::create(b_, v[1], step);
          Value shifted = arith::ShLIOp::create(b_, v[0], now);
          scf::YieldOp::create(
              b_, ValueRange{arith::RemUIOp::create(b_, shifted, y), arith::SubIOp::create(b_, v[1], now)});
        });
    return join(loop.getResult(0), yExponent);
  }

  /// The bits of an integer below 2^(digits + 1) times two to the power of an exponent.
  Value join(Value integer, Value exponent) {
    Value zeros = math::CountLeadingZerosOp::create(b_, integer);
    Value lead = arith::SubIOp::create(b_, zeros, number(width_ - 1 - digits_));
    Value isNormal = is(P::ugt, exponent, lead);
    Value most = arith::SubIOp::create(b_, exponent, number(1));
    Value shift = arith::SelectOp::create(b_, isNormal, lead, most);
    Value fraction = arith::ShLIOp::create(b_, integer, shift);
    // The leading one adds 1 to the exponent.
    Value above = arith::SubIOp::create(b_, most, lead);
    Value normal = arith::AddIOp::create(b_, fraction, arith::ShLIOp::create(b_, above, number(digits_)));
    Value bits = arith::SelectOp::create(b_, isNormal, normal, fraction);
    return arith::SelectOp::create(b_, is(P::eq, integer, number(0)), number(0), bits);
  }

  ImplicitLocOpBuilder &b_;
  FloatType type_;
  const unsigned width_, digits_; // of the number; of its fraction
  Type word_;
};

Value expand(ImplicitLocOpBuilder &b, Value x, Value y) {
  auto type = cast<FloatType>(x.getType());
  if (type.getWidth() >= 32) return Remainder(b, type).of(x, y);
  // The remainder of two numbers of a dtype is one of it.
  FloatType wide = b.getF32Type();
  Value rest = Remainder(b, wide).of(arith::ExtFOp::create(b, wide, x), arith::ExtFOp::create(b, wide, y));
  return arith::TruncFOp::create(b, type, rest);
}

struct ExpandRemaindersPass : impl::GpuExpandRemaindersBase<ExpandRemaindersPass> {
  void runOnOperation() final {
    getOperation()->walk([](arith::RemFOp op) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      Value out;
      if (auto vector = dyn_cast<VectorType>(op.getType())) {
        out = arith::ConstantOp::create(b, b.getZeroAttr(vector));
        for (int64_t i = 0; i < vector.getNumElements(); ++i) {
          Value x = mlir::vector::ExtractOp::create(b, op.getLhs(), i),
                y = mlir::vector::ExtractOp::create(b, op.getRhs(), i);
          out = mlir::vector::InsertOp::create(b, expand(b, x, y), out, i);
        }
      } else {
        out = expand(b, op.getLhs(), op.getRhs());
      }
      op.replaceAllUsesWith(out);
      op.erase();
    });
  }
};

} // namespace
} // namespace tessera::gpu
