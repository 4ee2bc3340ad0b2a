// Powers of floats and of integers.
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/ExpandMathCoefficients.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tessera::tile {
namespace {

using P = MathBuilder::P;
using IP = MathBuilder::IP;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// high + low, |low| <= ulp(high) / 2.
struct TwoPart {
  Value high, low;
};

/// x + y where |x| >= |y| or x is zero.
TwoPart fastSum(MathBuilder &m, Value x, Value y) {
  Value sum = m.add(x, y);
  return {sum, m.sub(y, m.sub(sum, x))};
}

/// x * y, the low parts' product left out.
TwoPart product(MathBuilder &m, TwoPart x, TwoPart y) {
  Value high = m.mul(x.high, y.high);
  Value low = m.fma(x.high, y.high, m.neg(high));
  return {high, m.fma(x.high, y.low, m.fma(x.low, y.high, low))};
}

TwoPart constant(MathBuilder &m, const double (&parts)[2], Value like) {
  return {m.fconst(parts[0], like), m.fconst(parts[1], like)};
}

/// log2 of a positive finite f64 with about 68 bits: the exponent of a power grows to 2^10 and its error with
/// it.
TwoPart log2InTwoParts(MathBuilder &m, Value x) {
  auto [f, e] = splitMantissa(m, x);
  // s = f / (2 + f), the quotient's remainder giving the low part.
  Value divisor = m.add(f, 2.0);
  Value divisorLow = m.sub(f, m.sub(divisor, 2.0));
  Value quotient = m.div(f, divisor);
  Value remainder = m.fma(m.neg(quotient), divisorLow, m.fma(m.neg(quotient), divisor, f));
  TwoPart s{quotient, m.div(remainder, divisor)};
  // log(1 + f) = 2 s + s z (2/3 + z P(z)), z = s^2.
  TwoPart z = product(m, s, s);
  Value tail = m.mul(z.high, m.polynomial(z.high, kLogTailD));
  TwoPart twoThirds = constant(m, kTwoThirdsD, x);
  TwoPart factor = fastSum(m, twoThirds.high, tail);
  factor.low = m.add(factor.low, twoThirds.low);
  TwoPart cubic = product(m, product(m, s, z), factor);
  TwoPart log = fastSum(m, m.mul(s.high, 2.0), cubic.high);
  log.low = m.add(log.low, m.fma(s.low, m.fconst(2, x), cubic.low));
  TwoPart scaled = product(m, log, constant(m, kLog2eD, x));
  TwoPart sum = fastSum(m, e, scaled.high);
  return fastSum(m, sum.high, m.add(sum.low, scaled.low));
}

/// |x|^y in f64. The extremes of y are bounded so that 0 * inf cannot arise where |x| is 1.
Value powOfMagnitude(OpBuilder &builder, Location loc, MathBuilder &m, Value x, Value y, bool onlyF32) {
  Value bounded = m.atLeast(m.atMost(y, 1e300), -1e300);
  if (onlyF32) return emitExp2(builder, loc, m.mul(bounded, emitLog2(builder, loc, x)));
  TwoPart log = log2InTwoParts(m, x);
  Value isRegular = m.cmp(P::OLT, x, kInfinity);
  log.high = m.select(isRegular, log.high, x);
  log.high = m.select(m.cmp(P::OEQ, x, 0.0), -kInfinity, log.high);
  Value high = m.mul(bounded, log.high);
  Value low = m.fma(bounded, log.low, m.fma(bounded, log.high, m.neg(high)));
  // Out of range the low part is meaningless.
  Value inRange = m.andi(m.cmp(P::OLE, high, 1024), m.cmp(P::OGT, high, -1100));
  low = m.select(inRange, low, m.fconst(0, low));
  return exp2InTwoParts(m, high, low);
}

} // namespace

Value emitPow(OpBuilder &builder, Location loc, Value x, Value y) {
  MathBuilder m(builder, loc, x);
  Type type = x.getType();
  const bool onlyF32 = !m.isF64(x);
  if (onlyF32) { // f64 has all the precision an f32 power needs
    x = m.extf(x, m.f64());
    y = m.extf(y, m.f64());
  }
  auto floor = [&](Value v) -> Value { return math::FloorOp::create(builder, loc, v); };
  Value magnitude = powOfMagnitude(builder, loc, m, m.abs(x), y, onlyF32);
  // A negative base (-0 included) takes the sign of an odd exponent; with a fraction in the exponent it has
  // no power.
  Value half = m.mul(y, 0.5);
  Value isInteger = m.cmp(P::OEQ, floor(y), y);
  Value isOdd = m.andi(isInteger, m.cmp(P::UNE, floor(half), half));
  Value signBit = m.andi(m.bitcast(x, m.i(64)), std::numeric_limits<int64_t>::min());
  Value sign = m.select(isOdd, signBit, m.iconst(0, signBit));
  Value result = m.bitcast(m.ori(m.bitcast(magnitude, m.i(64)), sign), x.getType());
  Value isNegative = m.andi(m.cmp(P::OLT, x, 0.0), m.cmp(P::OGT, x, -kInfinity));
  Value noPower = m.andi(isNegative, m.cmp(P::ONE, floor(y), y));
  result = m.select(noPower, std::numeric_limits<double>::quiet_NaN(), result);
  result = m.select(m.cmp(P::OEQ, x, 1.0), 1.0, m.select(m.cmp(P::OEQ, y, 0.0), 1.0, result));
  return onlyF32 ? m.truncf(result, type) : result;
}

Value emitIntPow(OpBuilder &builder, Location loc, Value x, Value n) {
  MathBuilder m(builder, loc, x);
  const int bits = int(MathBuilder::elementOf(x).getIntOrFloatBitWidth());
  Value one = m.iconst(1, x);
  // Square and multiply over all bits of the exponent; a negative one is replaced below.
  Value first = arith::ConstantIndexOp::create(builder, loc, 0);
  Value count = arith::ConstantIndexOp::create(builder, loc, bits - 1);
  Value step = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, first, count, step, ValueRange{one, x, n});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value result = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
          rest = loop.getRegionIterArg(2);
    Value isSet = m.icmp(IP::ne, m.andi(rest, 1), 0);
    result = m.select(isSet, m.muli(result, square), result);
    scf::YieldOp::create(builder, loc, ValueRange{result, m.muli(square, square), m.shru(rest, 1)});
  }
  // x^-n: 1 for x = 1, +-1 for x = -1, else zero.
  Value zero = m.iconst(0, x);
  Value sign = m.select(m.icmp(IP::ne, m.andi(n, 1), 0), m.iconst(-1, x), one);
  Value inverse = m.select(m.icmp(IP::eq, x, -1), sign, zero);
  inverse = m.select(m.icmp(IP::eq, x, 1), one, inverse);
  return m.select(m.icmp(IP::slt, n, 0), inverse, loop.getResult(0));
}

} // namespace tessera::tile
