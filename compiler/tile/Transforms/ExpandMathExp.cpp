// exp, exp2 and what is built on them: tanh, sigmoid, erf.
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/ExpandMathCoefficients.h"

using namespace mlir;
using llvm::ArrayRef;

namespace tessera::tile {
namespace {

using P = MathBuilder::P;

/// mantissa * 2^n: the mantissa in [sqrt(1/2), sqrt(2)], and an integer whose low bits hold n + `bias`.
struct PowerOfE {
  Value mantissa, word;
};

/// Adding 1.5 * 2^mantissaBits rounds to an integer, which then stands in the low mantissa bits; `bias` on
/// top makes it positive.
double roundingConstant(MathBuilder &m, Value x, int bias) {
  return (m.isF64(x) ? 0x1.8p52 : 0x1.8p23) + bias;
}

/// e^x as mantissa and power: x = n ln 2 + r.
PowerOfE splitExp(MathBuilder &m, Value x, int bias) {
  const bool wide = m.isF64(x);
  ArrayRef<double> ln2 = wide ? ArrayRef<double>(kLn2D) : kLn2F;
  const double magic = roundingConstant(m, x, bias);
  Value shifted = m.fma(x, wide ? kLog2eD[0] : kLog2eF[0], m.fconst(magic, x));
  Value n = m.sub(shifted, magic);
  Value r = m.fma(n, -ln2[1], m.fma(n, -ln2[0], x));
  return {m.polynomial(r, wide ? ArrayRef<double>(kExpD) : kExpF), m.bitcast(shifted, m.wordOf(x))};
}

/// Twice the exponent bias of x's type: two powers of two of about half the exponent each reach every result,
/// down to denormals, and only the last multiplication rounds.
int twiceBias(MathBuilder &m, Value x) { return m.isF64(x) ? 2046 : 254; }

Value scaleTwice(MathBuilder &m, PowerOfE power) {
  Type type = power.mantissa.getType();
  const int mantissaBits = m.isF64(power.mantissa) ? 52 : 23;
  Value half = m.shru(power.word, 1);
  Value first = m.bitcast(m.shl(half, mantissaBits), type);
  Value second = m.bitcast(m.shl(m.subi(power.word, half), mantissaBits), type);
  return m.mul(m.mul(power.mantissa, first), second);
}

/// e^x where the result and its power of two are normal numbers.
Value expInRange(MathBuilder &m, Value x) {
  PowerOfE power = splitExp(m, x, twiceBias(m, x) / 2);
  return m.mul(power.mantissa, m.bitcast(m.shl(power.word, m.isF64(x) ? 52 : 23), x.getType()));
}

} // namespace

Value emitExp(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  // Just past where the result is infinite, and below half of the smallest denormal.
  Value bounded = m.isF64(x) ? m.atLeast(m.atMost(x, 710), -746) : m.atLeast(m.atMost(x, 89), -104);
  return scaleTwice(m, splitExp(m, bounded, twiceBias(m, x)));
}

Value exp2InTwoParts(MathBuilder &m, Value x, Value low) {
  const bool wide = m.isF64(x);
  Value bounded = wide ? m.atLeast(m.atMost(x, 1024), -1076) : m.atLeast(m.atMost(x, 128), -151);
  const double magic = roundingConstant(m, x, twiceBias(m, x));
  Value shifted = m.add(bounded, magic);
  Value r = m.sub(bounded, m.sub(shifted, magic));
  ArrayRef<double> c = wide ? ArrayRef<double>(kExp2D) : kExp2F;
  Value mantissa = m.polynomial(r, c);
  if (low) { // what the low part adds joins the small terms
    Value added = m.mul(m.mul(low, c[1]), mantissa);
    Value curved = m.fma(m.mul(r, r), m.polynomial(r, c.drop_front(2)), added);
    mantissa = m.add(m.fma(r, c[1], curved), 1.0);
  }
  return scaleTwice(m, {mantissa, m.bitcast(shifted, m.wordOf(x))});
}

Value emitExp2(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  return exp2InTwoParts(m, x, {});
}

Value emitSigmoid(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  // With e = exp(-|x|) <= 1 nothing overflows: 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0.
  Value e = emitExp(builder, loc, m.neg(m.abs(x)));
  Value top = m.select(m.cmp(P::OLT, x, 0.0), e, m.fconst(1, x));
  Value sum = m.add(e, 1.0);
  Value sumLow = m.sub(e, m.sub(sum, 1.0));
  Value reciprocal = m.div(m.fconst(1, x), sum);
  Value quotient = m.mul(top, reciprocal);
  Value remainder = m.fma(m.neg(quotient), sumLow, m.fma(m.neg(quotient), sum, top));
  return m.fma(remainder, reciprocal, quotient);
}

Value emitTanh(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  const bool wide = m.isF64(x);
  Value a = m.abs(x), u = m.mul(a, a);
  Value p = wide ? m.polynomial(m.sub(u, 0.5), kTanhD) : m.polynomial(u, kTanhF);
  Value near = m.fma(m.mul(a, u), p, a);
  // 1 - 2 / (e^2a + 1); beyond the bound it rounds to 1.
  Value e = expInRange(m, m.mul(m.atMost(a, wide ? 20 : 10), 2.0));
  Value far = m.sub(m.fconst(1, x), m.div(m.fconst(2, x), m.add(e, 1.0)));
  return m.copySign(m.select(m.cmp(P::OLT, a, 1.0), near, far), x);
}

Value emitErf(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  const bool wide = m.isF64(x);
  Value a = m.abs(x), u = m.mul(a, a);
  Value near = m.fma(a, m.polynomial(m.sub(u, 0.5), wide ? ArrayRef<double>(kErfD) : kErfF), a);
  // 1 - erfc(1) exp(t P(t)) with t = a - 1, which is exact; beyond the bound it rounds to 1.
  Value t = m.sub(m.atMost(a, wide ? 6 : 4), 1.0);
  Value tail = m.mul(t, m.polynomial(t, wide ? ArrayRef<double>(kErfTailD) : kErfTailF));
  Value far = m.fma(expInRange(m, tail), wide ? -kErfcOneD[0] : -kErfcOneF[0], m.fconst(1, x));
  return m.copySign(m.select(m.cmp(P::OLT, a, 1.0), near, far), x);
}

} // namespace tessera::tile
