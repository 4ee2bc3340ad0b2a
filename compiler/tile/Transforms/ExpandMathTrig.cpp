// sin and cos, over the whole range of their argument.
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/ExpandMathCoefficients.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;

namespace tessera::tile {
namespace {

using P = MathBuilder::P;
using IP = MathBuilder::IP;

/// |x| = (4 k + quadrant) pi/2 + high + low with |high| <= pi/4 or a trifle more. Only the low two bits of
/// `quadrant`, an i64, count.
struct Reduced {
  Value quadrant, high, low;
};

/// Of the sine and cosine of the remainder, the one the quadrant asks for, with its sign; `flip` is xor-ed
/// into the sign.
Value choose(MathBuilder &m, Value quadrant, Value sine, Value cosine, Value flip) {
  Value isOdd = m.icmp(IP::ne, m.andi(quadrant, 1), 0);
  Value value = m.select(isOdd, cosine, sine);
  Value sign = m.shl(m.andi(quadrant, 2), 62);
  if (flip) sign = m.xori(sign, flip);
  return m.bitcast(m.xori(m.bitcast(value, m.i(64)), sign), value.getType());
}

Value signOf(MathBuilder &m, Value x) {
  return m.andi(m.bitcast(x, m.i(64)), std::numeric_limits<int64_t>::min());
}

/// sin (cos) of an f32 through f64: one product with 2/pi, taken mod 4 by choosing the constant for x's
/// magnitude.
Value emitF32(MathBuilder &m, Value x, bool isCos) {
  Value wide = m.extf(x, m.f64());
  Value a = m.abs(wide);
  Value high = m.fconst(kQuadrantBandsF[0].high, a), low = m.fconst(kQuadrantBandsF[0].low, a);
  for (size_t k = 1; k < std::size(kQuadrantBandsF); ++k) {
    Value isBeyond = m.cmp(P::OGE, a, std::ldexp(1, kQuadrantBandsF[k - 1].bound));
    high = m.select(isBeyond, kQuadrantBandsF[k].high, high);
    low = m.select(isBeyond, kQuadrantBandsF[k].low, low);
  }
  const double magic = 0x1.8p52; // rounds to an integer
  Value shifted = m.fma(a, high, magic);
  Value n = m.sub(shifted, magic);
  Value fraction = m.fma(a, low, m.fma(a, high, m.neg(n)));
  Value r = m.mul(fraction, kHalfPiD[0]);
  Value u = m.mul(r, r);
  Value sine = m.fma(m.mul(r, u), m.polynomial(u, kSinF), r);
  Value cosine = m.fma(u, m.polynomial(u, kCosF), 1.0);
  Value quadrant = m.bitcast(shifted, m.i(64));
  if (isCos) quadrant = m.addi(quadrant, 1);
  return m.truncf(choose(m, quadrant, sine, cosine, isCos ? Value() : signOf(m, wide)), x.getType());
}

/// The upper half of the 128-bit product, from 32-bit halves: vectors have no wider multiplication.
Value multiplyHigh(MathBuilder &m, Value x, Value y) {
  const int64_t mask = 0xffffffff;
  Value xl = m.andi(x, mask), xh = m.shru(x, 32), yl = m.andi(y, mask), yh = m.shru(y, 32);
  Value middle = m.addi(m.muli(xh, yl), m.shru(m.muli(xl, yl), 32));
  Value other = m.addi(m.muli(xl, yh), m.andi(middle, mask));
  return m.addi(m.muli(xh, yh), m.addi(m.shru(middle, 32), m.shru(other, 32)));
}

/// x + y in two parts, whatever their order of size.
void twoSum(MathBuilder &m, Value x, Value y, Value &high, Value &low) {
  high = m.add(x, y);
  Value yPart = m.sub(high, x);
  Value xPart = m.sub(high, yPart);
  low = m.add(m.sub(x, xPart), m.sub(y, yPart));
}

/// |x| below 2^30: n pi/2 is subtracted in three parts of 53 bits. The first step is exact.
Reduced reduceModerate(MathBuilder &m, Value a) {
  const double magic = 0x1.8p52;
  Value shifted = m.fma(a, kQuadrantBandsF[0].high, m.fconst(magic, a));
  Value n = m.neg(m.sub(shifted, magic));
  Value first = m.fma(n, kHalfPiD[0], a);
  Value second = m.mul(n, kHalfPiD[1]);
  Value secondLow = m.fma(n, kHalfPiD[1], m.neg(second));
  Value high, low;
  twoSum(m, first, second, high, low);
  low = m.add(low, m.fma(n, kHalfPiD[2], secondLow));
  Value sum = m.add(high, low);
  return {m.bitcast(shifted, m.i(64)), sum, m.sub(low, m.sub(sum, high))};
}

/// Payne and Hanek's reduction for |x| >= 2^30: x = M 2^E with a 53-bit integer M. Of 2^E 2/pi, whose
/// multiples of 4 do not matter, 192 bits are taken from the table and multiplied by M, modulo 4.
Reduced reduceHuge(MathBuilder &m, Value a) {
  Value word = m.bitcast(a, m.i(64));
  Value mantissa = m.ori(m.andi(word, 0xfffffffffffff), int64_t(1) << 52);
  // Position in the table of the bit worth 2: E - 2 bits into 2/pi, which begins after 64 zeros.
  Value position = m.addi(m.shru(word, 52), 64 - 1075 - 2);
  // Shift the table by whole words, one bit of the count at a time, keeping the four words that are needed.
  Value wordCount = m.shru(position, 6);
  SmallVector<Value> words;
  for (unsigned long long entry : kTwoOverPiBits)
    words.push_back(m.iconst(int64_t(entry), word));
  for (int bit = 4; bit >= 0; --bit) {
    Value isSet = m.icmp(IP::ne, m.andi(wordCount, 1 << bit), 0);
    const size_t shift = size_t(1) << bit, keep = std::min(words.size(), shift - 1 + 4);
    SmallVector<Value> next;
    for (size_t k = 0; k < keep; ++k)
      next.push_back(k + shift < words.size() ? m.select(isSet, words[k + shift], words[k]) : words[k]);
    words = next;
  }
  Value bits = m.andi(position, 63);
  Value rest = m.subi(m.iconst(63, word), bits); // shifting by 64 is undefined: by one, then by 63 - bits
  auto window = [&](int k) -> Value {
    Value left = arith::ShLIOp::create(m.b, m.loc, words[k], bits);
    Value right = arith::ShRUIOp::create(m.b, m.loc, m.shru(words[k + 1], 1), rest);
    return m.ori(left, right);
  };
  Value w0 = window(0), w1 = window(1), w2 = window(2);
  Value p1 = m.addi(m.muli(mantissa, w1), multiplyHigh(m, mantissa, w2));
  Value carry = m.extu(m.icmp(IP::ult, p1, m.muli(mantissa, w1)), m.i(64));
  Value p0 = m.addi(m.addi(m.muli(mantissa, w0), multiplyHigh(m, mantissa, w1)), carry);
  // Two integer bits, then the fraction; rounding the quadrant to nearest makes the fraction signed.
  Value quadrant = m.shru(m.addi(p0, int64_t(1) << 61), 62);
  Value upper = m.ori(m.shl(p0, 2), m.shru(p1, 62));
  Value lower = m.shl(p1, 2);
  Value top = m.mul(m.sitofp(m.andi(upper, ~int64_t(0x7ff)), m.f64()), 0x1p-64);
  Value tail = m.mul(m.sitofp(m.andi(upper, 0x7ff), m.f64()), 0x1p-64);
  tail = m.fma(m.uitofp(lower, m.f64()), 0x1p-128, tail);
  Value high, low;
  twoSum(m, top, tail, high, low);
  Value r = m.mul(high, kHalfPiD[0]);
  Value rLow = m.fma(high, kHalfPiD[0], m.neg(r));
  rLow = m.fma(low, kHalfPiD[0], m.fma(high, kHalfPiD[1], rLow));
  return {quadrant, r, rLow};
}

/// Whether any lane of an i1 value is set, as a scalar.
Value anyOf(MathBuilder &m, Value flags) {
  auto type = dyn_cast<VectorType>(flags.getType());
  if (!type) return flags;
  if (type.getRank() != 1)
    flags = vector::ShapeCastOp::create(
        m.b, m.loc, VectorType::get({type.getNumElements()}, type.getElementType()), flags);
  return vector::ReductionOp::create(m.b, m.loc, vector::CombiningKind::OR, flags);
}

Reduced reduceF64(MathBuilder &m, Value a) {
  Reduced moderate = reduceModerate(m, a);
  Value isHuge = m.cmp(P::OGE, a, 0x1p30);
  auto branch =
      scf::IfOp::create(m.b, m.loc, TypeRange{moderate.quadrant.getType(), a.getType(), a.getType()},
                        anyOf(m, isHuge), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(m.b);
  m.b.setInsertionPointToStart(branch.thenBlock());
  Reduced huge = reduceHuge(m, a);
  scf::YieldOp::create(m.b, m.loc,
                       ValueRange{m.select(isHuge, huge.quadrant, moderate.quadrant),
                                  m.select(isHuge, huge.high, moderate.high),
                                  m.select(isHuge, huge.low, moderate.low)});
  m.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(m.b, m.loc, ValueRange{moderate.quadrant, moderate.high, moderate.low});
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

Value emitF64(MathBuilder &m, Value x, bool isCos) {
  Value a = m.abs(x);
  auto [quadrant, r, low] = reduceF64(m, a);
  Value u = m.mul(r, r), half = m.mul(u, 0.5);
  // sin(r + low) = r + (r u P(u) + low (1 - u/2))
  Value sine = m.fma(m.mul(r, u), m.polynomial(u, kSinD), m.fma(m.neg(half), low, low));
  sine = m.add(r, sine);
  // cos(r + low) = 1 - u/2 + (u^2 P(u) - r low), with what 1 - u/2 lost
  Value c = m.sub(m.fconst(1, x), half);
  Value lost = m.sub(m.sub(m.fconst(1, x), c), half);
  Value rest = m.fma(m.mul(u, u), m.polynomial(u, kCosD), m.fma(m.neg(r), low, lost));
  Value cosine = m.add(c, rest);
  if (isCos) quadrant = m.addi(quadrant, 1);
  Value result = choose(m, quadrant, sine, cosine, isCos ? Value() : signOf(m, x));
  // An infinity went through the integer reduction.
  return m.select(m.cmp(P::OLT, a, std::numeric_limits<double>::infinity()), result, m.sub(x, x));
}

} // namespace

Value emitSin(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  return m.isF64(x) ? emitF64(m, x, false) : emitF32(m, x, false);
}

Value emitCos(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  return m.isF64(x) ? emitF64(m, x, true) : emitF32(m, x, true);
}

} // namespace tessera::tile
