// log, log2 and rsqrt.
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/ExpandMathCoefficients.h"

using namespace mlir;
using llvm::ArrayRef;

namespace tessera::tile {
namespace {

using P = MathBuilder::P;

/// Zero, negative, infinite and NaN arguments; `result` is right for the others.
Value logOfSpecials(MathBuilder &m, Value x, Value result) {
  const double infinity = std::numeric_limits<double>::infinity();
  result = m.select(m.cmp(P::OLT, x, infinity), result, x); // inf and NaN are their own logarithm
  result = m.select(m.cmp(P::OEQ, x, 0.0), -infinity, result);
  return m.select(m.cmp(P::OLT, x, 0.0), std::numeric_limits<double>::quiet_NaN(), result);
}

/// f64: s (f - z P(z)) with s = f / (2 + f), which is f - log(1 + f).
Value logCorrection(MathBuilder &m, Value f) {
  Value s = m.div(f, m.add(f, 2.0));
  Value z = m.mul(s, s);
  return m.mul(s, m.sub(f, m.mul(z, m.polynomial(z, kLogD))));
}

} // namespace

SplitFloat splitMantissa(MathBuilder &m, Value x) {
  const bool wide = m.isF64(x);
  const int mantissaBits = wide ? 52 : 23;
  const int64_t sqrtHalf = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const double scale = wide ? 0x1p52 : 0x1p23;
  Value isDenormal = m.cmp(P::OLT, x, wide ? 0x1p-1022 : 0x1p-126);
  Value word = m.bitcast(m.select(isDenormal, m.mul(x, scale), x), m.wordOf(x));
  // The distance to sqrt(1/2) has the exponent wanted in its upper bits.
  Value distance = m.subi(word, sqrtHalf);
  Value exponent = m.shrs(distance, mantissaBits);
  Value mantissa = m.bitcast(m.subi(word, m.shl(exponent, mantissaBits)), x.getType());
  Value e = m.sitofp(m.trunci(exponent, m.i(32)), x.getType());
  e = m.select(isDenormal, m.sub(e, double(mantissaBits)), e);
  return {m.sub(mantissa, 1.0), e};
}

Value emitLog(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  auto [f, e] = splitMantissa(m, x);
  if (!m.isF64(x)) {
    Value log1p = m.fma(m.mul(f, f), m.polynomial(f, kLogF), f);
    return logOfSpecials(m, x, m.fma(e, kLn2F[0], m.fma(e, kLn2F[1], log1p)));
  }
  // e ln 2 + f - correction: the first product is exact, and what its sum with f loses joins the small terms.
  Value large = m.mul(e, kShortLn2D[0]);
  Value sum = m.add(large, f);
  Value lost = m.sub(f, m.sub(sum, large));
  Value small = m.fma(e, kShortLn2D[1], m.sub(lost, logCorrection(m, f)));
  return logOfSpecials(m, x, m.add(sum, small));
}

Value emitLog2(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  auto [f, e] = splitMantissa(m, x);
  if (!m.isF64(x)) {
    Value rest = m.mul(m.mul(f, f), m.polynomial(f, kLog2F));
    Value fraction = m.fma(f, kLog2eF[0], m.fma(f, kLog2eF[1], rest));
    return logOfSpecials(m, x, m.add(e, fraction));
  }
  // log(1 + f) and its product with 1 / ln 2 in two parts, so that the sum with e rounds once.
  Value correction = logCorrection(m, f);
  Value high = m.sub(f, correction);
  Value low = m.sub(m.sub(f, high), correction);
  Value product = m.mul(high, kLog2eD[0]);
  Value productLow = m.fma(high, kLog2eD[0], m.neg(product));
  productLow = m.add(productLow, m.fma(low, kLog2eD[0], m.mul(high, kLog2eD[1])));
  Value sum = m.add(e, product);
  // |e| >= 1 > |product|, or e is zero and nothing is lost.
  Value lost = m.sub(product, m.sub(sum, e));
  return logOfSpecials(m, x, m.add(sum, m.add(lost, productLow)));
}

Value emitRsqrt(OpBuilder &builder, Location loc, Value x) {
  MathBuilder m(builder, loc, x);
  const bool wide = m.isF64(x);
  // The residuals below must not underflow.
  Value isSmall = m.cmp(P::OLT, x, wide ? 0x1p-900 : 0x1p-100);
  Value scaled = m.select(isSmall, m.mul(x, wide ? 0x1p104 : 0x1p48), x);
  Value root = m.sqrt(scaled);
  Value y = m.div(m.fconst(1, x), root);
  // 1 / sqrt(x) = y (1 + e - d y^2 / 2) with the exact residuals e = 1 - root y, d = x - root^2.
  Value d = m.fma(m.neg(root), root, scaled);
  Value e = m.fma(m.neg(root), y, 1.0);
  Value factor = m.fma(m.mul(d, y), m.mul(y, -0.5), e);
  Value refined = m.fma(y, factor, y);
  Value result = m.select(m.isNaN(refined), y, refined); // 0, inf and negative arguments
  return m.select(isSmall, m.mul(result, wide ? 0x1p52 : 0x1p24), result);
}

} // namespace tessera::tile
