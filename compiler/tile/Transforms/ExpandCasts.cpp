#include "compiler/tile/Transforms/ExpandCasts.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include <cmath>

using namespace mlir;

namespace tessera::tile {
namespace {

using P = MathBuilder::P;
using IP = MathBuilder::IP;

/// The largest finite value of fp8, fp6 or fp4.
double largestOf(DType t) {
  const double mantissa = 2 - std::ldexp(1, -info(t).mantissaBits) * (t == DType::F8E4M3 ? 2 : 1);
  return std::ldexp(mantissa, info(t).maxExponent);
}

/// fp8, fp6, fp4 -> f32. The magnitude becomes the exponent and mantissa of an f16, whose hardware conversion
/// handles denormals at full speed; a multiplication corrects the exponent bias:
///   f32((sign << (16 - bits)) | (magnitude << (10 - mantissaBits)) as f16) * 2^(15 - bias)
Value miniToF32(MathBuilder &m, Value v, DType t) {
  const DTypeInfo &f = info(t);
  Value bits = m.extu(v, m.i(16));
  Value magnitude = m.andi(bits, (1 << (f.bits - 1)) - 1);
  Value half = m.shl(magnitude, 10 - f.mantissaBits);
  if (t == DType::F8E4M3) half = m.selecti(m.icmp(IP::eq, magnitude, 0x7f), 0x7f80, half);
  half = m.ori(half, m.shl(m.andi(bits, 1 << (f.bits - 1)), 16 - f.bits));
  Value wide = m.extf(m.bitcast(half, m.f16()), m.f32());
  const int bias = 1 - f.minExponent;
  return bias == 15 ? wide : m.mul(wide, std::ldexp(1, 15 - bias));
}

/// Adds half of the last kept bit, minus one if that bit is even: the carry rounds to nearest even.
Value roundBits(MathBuilder &m, Value word, int dropped) {
  Value odd = m.andi(m.shru(word, dropped), 1);
  return m.addi(m.addi(word, (int64_t(1) << (dropped - 1)) - 1), odd);
}

/// f32 -> fp8, fp6, fp4, saturating.
Value f32ToMini(MathBuilder &m, Value v, DType t) {
  const DTypeInfo &f = info(t);
  const int dropped = 23 - f.mantissaBits;
  Value word = m.bitcast(v, m.i(32));
  Value magnitude = m.andi(word, 0x7fffffff);
  const auto largest = llvm::bit_cast<uint32_t>(float(largestOf(t)));
  Value clamped = m.minu(magnitude, largest);
  // Normal results: round in place, then replace the f32 bias by the format's.
  Value normal =
      m.subi(m.shru(roundBits(m, clamped, dropped), dropped), int64_t(126 + f.minExponent) << f.mantissaBits);
  // Denormal results: the sum's ulp is the smallest denormal, so the hardware's rounding yields a multiple of
  // it.
  const float magic = std::ldexp(1.0f, f.minExponent + dropped);
  Value count =
      m.subi(m.bitcast(m.add(m.bitcast(clamped, m.f32()), magic), m.i(32)), llvm::bit_cast<uint32_t>(magic));
  const auto smallestNormal = llvm::bit_cast<uint32_t>(std::ldexp(1.0f, f.minExponent));
  Value code = m.select(m.icmp(IP::ult, clamped, smallestNormal), count, normal);
  code = m.ori(code, m.andi(m.shru(word, 32 - f.bits), 1 << (f.bits - 1)));
  Value isNaN = m.icmp(IP::ugt, magnitude, 0x7f800000);
  if (t == DType::F8E4M3)
    code = m.select(isNaN, m.ori(code, 0x7f), code);
  else if (t == DType::F8E5M2) // the sign and the two leading payload bits are kept; bit 1 makes it quiet
    code = m.select(isNaN, m.ori(m.andi(code, 0x80), m.ori(m.andi(m.shru(word, 21), 3), 0x7e)), code);
  else
    code = m.selecti(isNaN, (1 << (f.bits - 1)) - 1, code);
  return m.trunci(code, m.i(8));
}

/// f32 -> bf16 bits by integer rounding; an overflow carries into infinity.
Value f32ToBF16(MathBuilder &m, Value v) {
  Value word = m.bitcast(v, m.i(32));
  Value rounded = m.shru(roundBits(m, word, 16), 16);
  Value quiet = m.ori(m.shru(word, 16), 0x40);
  return m.trunci(m.select(m.isNaN(v), quiet, rounded), m.i(16));
}

/// f32 -> tf32: an f32 with thirteen zero bits.
Value f32ToTF32(MathBuilder &m, Value v) {
  Value word = m.bitcast(v, m.i(32));
  Value rounded = m.select(m.isNaN(v), m.ori(word, 0x400000), roundBits(m, word, 13));
  return m.bitcast(m.andi(rounded, ~int64_t(0x1fff)), m.f32());
}

/// f64 -> f32 rounded to odd: toward zero, with the last bit set if the result is inexact. A later rounding
/// to a format with at least two bits less then equals one rounding from f64.
Value f64ToOddF32(MathBuilder &m, Value v) {
  Value nearest = m.truncf(v, m.f32());
  Value back = m.extf(nearest, m.f64());
  Value word = m.bitcast(nearest, m.i(32));
  Value tooLarge = m.cmp(P::OGT, m.abs(back), m.abs(v));
  Value truncated = m.subi(word, m.extu(tooLarge, m.i(32)));
  Value inexact = m.cmp(P::ONE, back, v);
  return m.bitcast(m.ori(truncated, m.extu(inexact, m.i(32))), m.f32());
}

Value toF32(MathBuilder &m, Value v, DType from) {
  switch (from) {
  case DType::F32:
  case DType::TF32:
    return v;
  case DType::F16:
    return m.extf(v, m.f32());
  case DType::BF16:
    return m.bitcast(m.shl(m.extu(v, m.i(32)), 16), m.f32());
  default:
    return miniToF32(m, v, from);
  }
}

Value fromF32(MathBuilder &m, Value v, DType to) {
  switch (to) {
  case DType::F64:
    return m.extf(v, m.f64());
  case DType::F32:
    return v;
  case DType::TF32:
    return f32ToTF32(m, v);
  case DType::F16:
    return m.truncf(v, m.f16());
  case DType::BF16:
    return f32ToBF16(m, v);
  default:
    return f32ToMini(m, v, to);
  }
}

/// The width of an integer or bool in registers.
int widthOf(DType t) { return t == DType::Bool ? 1 : storageBytes(t) * 8; }

/// f32 or f64 -> integer, truncating and saturating. Every fptosi gets a value for which it is defined.
Value floatToInt(MathBuilder &m, Value v, DType to) {
  const int bits = info(to).bits;
  const int mantissa = MathBuilder::elementOf(v).getIntOrFloatBitWidth() == 64 ? 53 : 24;
  const int magnitudeBits = isUnsigned(to) ? bits : bits - 1;
  const double low = isUnsigned(to) ? 0 : -std::ldexp(1, magnitudeBits);
  const double end = std::ldexp(1, magnitudeBits); // one past the largest
  // The largest float that converts: end - 1 if it is exact, else the largest float below end.
  const double high = magnitudeBits <= mantissa ? end - 1 : end - std::ldexp(1, magnitudeBits - mantissa);
  Value inRange = m.atMost(m.atLeast(v, low), high);
  inRange = m.select(m.isNaN(v), 0.0, inRange);
  const int width = bits <= 32 ? 32 : 64;
  const bool isFull = magnitudeBits == width; // without a bit for the sign
  Value result = isFull ? m.fptoui(inRange, m.i(width)) : m.fptosi(inRange, m.i(width));
  if (high != end - 1 || magnitudeBits > mantissa) {
    const int64_t largest = isFull ? -1 : bits == 64 ? INT64_MAX : (int64_t(1) << magnitudeBits) - 1;
    result = m.selecti(m.cmp(P::OGE, v, end), largest, result);
  }
  return m.trunci(result, m.i(widthOf(to)));
}

Value intToInt(MathBuilder &m, Value v, DType from, DType to) {
  const int have = widthOf(from), want = widthOf(to);
  if (isPacked(to)) { // four bits, extended to a byte
    Value byte = have > 8 ? m.trunci(v, m.i(8)) : have < 8 ? m.extu(v, m.i(8)) : v;
    Value low = m.andi(byte, 15);
    return to == DType::U4 ? low : m.subi(m.xori(low, m.iconst(8, low)), 8);
  }
  if (want <= have) return m.trunci(v, m.i(want));
  return isUnsigned(from) || from == DType::Bool ? m.extu(v, m.i(want)) : m.exts(v, m.i(want));
}

/// i64 or u64 -> f64 such that any later rounding to at most 24 bits equals that of the integer: in a large
/// integer, bits below 2^11 (u64: 2^12) are replaced by the one below that if they are not zero. The 53 bits
/// that are left are converted exactly.
Value i64ToStickyF64(MathBuilder &m, Value v, bool isUnsigned) {
  const int64_t dropped = isUnsigned ? 0xfff : 0x7ff;
  Value rest = m.andi(v, dropped);
  Value kept = m.andi(v, ~dropped);
  Value sticky = m.select(m.icmp(IP::ne, rest, 0), m.ori(kept, (dropped + 1) / 2), kept);
  if (isUnsigned) return m.uitofp(m.select(m.icmp(IP::ugt, v, int64_t(1) << 53), sticky, v), m.f64());
  Value isLarge = m.icmp(IP::ugt, m.addi(v, int64_t(1) << 53), int64_t(1) << 54);
  return m.sitofp(m.select(isLarge, sticky, v), m.f64());
}

Value intToFloat(MathBuilder &m, Value v, DType from, DType to) {
  const int bits = info(from).bits;
  if (bits <= 16) { // exact in f32
    Value wide = intToInt(m, v, from, DType::I32);
    if (to == DType::F64) return m.sitofp(wide, m.f64());
    return fromF32(m, m.sitofp(wide, m.f32()), to);
  }
  auto convert = [&](Type type) { return isUnsigned(from) ? m.uitofp(v, type) : m.sitofp(v, type); };
  if (to == DType::F64) return convert(m.f64());
  if (to == DType::F32) return convert(m.f32());
  Value wide = bits == 64 ? i64ToStickyF64(m, v, isUnsigned(from)) : convert(m.f64());
  return fromF32(m, f64ToOddF32(m, wide), to);
}

} // namespace

Type memoryType(MLIRContext *context, DType t) {
  switch (t) {
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
  case DType::TF32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  default:
    return IntegerType::get(context, unsigned(storageBytes(t)) * 8);
  }
}

Type registerType(MLIRContext *context, DType t) {
  return t == DType::Bool ? IntegerType::get(context, 1) : memoryType(context, t);
}

DType computeDType(DType t) { return !isFloat(t) || t == DType::F64 ? t : DType::F32; }

Value emitCast(OpBuilder &builder, Location loc, Value v, DType from, DType to) {
  if (from == to) return v;
  MathBuilder m(builder, loc, v);
  if (isFloat(from)) {
    const bool isF64 = from == DType::F64;
    if (to == DType::Bool) return m.cmp(P::UNE, isF64 ? v : toF32(m, v, from), 0.0);
    if (isInt(to)) return floatToInt(m, isF64 ? v : toF32(m, v, from), to);
    if (!isF64) return fromF32(m, toF32(m, v, from), to);
    return to == DType::F32 ? m.truncf(v, m.f32()) : fromF32(m, f64ToOddF32(m, v), to);
  }
  if (to == DType::Bool) return m.icmp(IP::ne, v, 0);
  return isInt(to) ? intToInt(m, v, from, to) : intToFloat(m, v, from, to);
}

Value emitLoadForm(OpBuilder &builder, Location loc, Value v, DType t) {
  if (t != DType::Bool) return v;
  MathBuilder m(builder, loc, v);
  return m.icmp(IP::ne, v, 0);
}

Value emitStoreForm(OpBuilder &builder, Location loc, Value v, DType t) {
  if (t != DType::Bool) return v;
  MathBuilder m(builder, loc, v);
  return m.extu(v, m.i(8));
}

} // namespace tessera::tile
