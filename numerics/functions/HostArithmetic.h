// The arithmetic of numerics/functions/Arithmetic.h that computes on the host, with the same bits as emitted
// code.
#pragma once
#include "numerics/functions/Arithmetic.h"
#include <array>
#include <bit>
#include <cmath>

namespace tessera::functions {

class HostArithmetic {
public:
  /// The type of a value; values are stored in the low `bits` bits. Bool has 1.
  struct Type {
    bool isFloat;
    int bits;
    bool operator==(const Type &) const = default;
  };
  struct V {
    Type type;
    uint64_t word;
    Type getType() const { return type; }
  };
  enum class P { OLT, OLE, OGT, OGE, OEQ, ONE, UNE, UNO };
  enum class IP { eq, ne, ult };

  static V of(float x) { return {{true, 32}, std::bit_cast<uint32_t>(x)}; }
  static V of(double x) { return {{true, 64}, std::bit_cast<uint64_t>(x)}; }
  static float f32Of(V v) { return std::bit_cast<float>(static_cast<uint32_t>(v.word)); }
  static double f64Of(V v) { return std::bit_cast<double>(v.word); }

  static bool isF64(V v) { return v.type.bits == 64; }
  static Type f32() { return {true, 32}; }
  static Type f64() { return {true, 64}; }
  static Type i(int bits) { return {false, bits}; }
  static Type wordOf(V v) { return {false, v.type.bits}; }
  static V fconst(double value, V like) { return isF64(like) ? of(value) : of(static_cast<float>(value)); }
  static V iconst(int64_t value, V like) { return integer(static_cast<uint64_t>(value), like.type.bits); }

  static V add(V x, V y) {
    return on(x, y, [](auto a, auto b) { return a + b; });
  }
  static V sub(V x, V y) {
    return on(x, y, [](auto a, auto b) { return a - b; });
  }
  static V mul(V x, V y) {
    return on(x, y, [](auto a, auto b) { return a * b; });
  }
  static V div(V x, V y) {
    return on(x, y, [](auto a, auto b) { return a / b; });
  }
  V inverse(V x) { return div(fconst(1, x), x); }
  static V neg(V x) { return {x.type, x.word ^ signOf(x)}; }
  static V abs(V x) { return {x.type, x.word & ~signOf(x)}; }
  static V sqrt(V x) {
    return on(x, x, [](auto a, auto) { return std::sqrt(a); });
  }
  static V floor(V x) {
    return on(x, x, [](auto a, auto) { return std::floor(a); });
  }
  static V fma(V x, V y, V z) {
    return isF64(x) ? of(std::fma(f64Of(x), f64Of(y), f64Of(z))) : of(std::fma(f32Of(x), f32Of(y), f32Of(z)));
  }
  static V add(V x, double y) { return add(x, fconst(y, x)); }
  static V sub(V x, double y) { return sub(x, fconst(y, x)); }
  static V mul(V x, double y) { return mul(x, fconst(y, x)); }
  static V fma(V x, double y, V z) { return fma(x, fconst(y, x), z); }
  static V fma(V x, V y, double z) { return fma(x, y, fconst(z, x)); }
  static V polynomial(V x, Coefficients c) {
    V sum = fconst(c.back(), x);
    for (size_t k = c.size() - 1; k-- > 0;)
      sum = fma(sum, x, c[k]);
    return sum;
  }
  static V copySign(V magnitude, V sign) {
    return {magnitude.type, magnitude.word | (sign.word & signOf(sign))};
  }

  static V cmp(P p, V x, V y) {
    return isF64(x) ? boolean(compare(p, f64Of(x), f64Of(y))) : boolean(compare(p, f32Of(x), f32Of(y)));
  }
  static V cmp(P p, V x, double y) { return cmp(p, x, fconst(y, x)); }
  static V isNaN(V x) { return cmp(P::UNO, x, x); }
  static V select(V c, V x, V y) { return c.word ? x : y; }
  static V select(V c, double x, V y) { return select(c, fconst(x, y), y); }
  static V atMost(V x, double high) { return select(cmp(P::OGT, x, high), high, x); }
  static V atLeast(V x, double low) { return select(cmp(P::OLT, x, low), low, x); }

  static V icmp(IP p, V x, V y) {
    return boolean(p == IP::eq ? x.word == y.word : p == IP::ne ? x.word != y.word : x.word < y.word);
  }
  static V icmp(IP p, V x, int64_t y) { return icmp(p, x, iconst(y, x)); }
  static V addi(V x, V y) { return integer(x.word + y.word, x.type.bits); }
  static V subi(V x, V y) { return integer(x.word - y.word, x.type.bits); }
  static V muli(V x, V y) { return integer(x.word * y.word, x.type.bits); }
  static V andi(V x, V y) { return {x.type, x.word & y.word}; }
  static V ori(V x, V y) { return {x.type, x.word | y.word}; }
  static V xori(V x, V y) { return {x.type, x.word ^ y.word}; }
  static V addi(V x, int64_t y) { return addi(x, iconst(y, x)); }
  static V subi(V x, int64_t y) { return subi(x, iconst(y, x)); }
  static V andi(V x, int64_t y) { return andi(x, iconst(y, x)); }
  static V ori(V x, int64_t y) { return ori(x, iconst(y, x)); }
  static V shl(V x, V n) { return integer(x.word << n.word, x.type.bits); }
  static V shru(V x, V n) { return {x.type, x.word >> n.word}; }
  static V shl(V x, int64_t n) { return shl(x, iconst(n, x)); }
  static V shru(V x, int64_t n) { return shru(x, iconst(n, x)); }
  static V shrs(V x, int64_t n) { return integer(static_cast<uint64_t>(signedOf(x) >> n), x.type.bits); }

  static V bitcast(V x, Type type) { return {type, x.word}; }
  static V extf(V x, Type) { return of(static_cast<double>(f32Of(x))); }
  static V truncf(V x, Type) { return of(static_cast<float>(f64Of(x))); }
  static V extu(V x, Type type) { return {type, x.word}; }
  static V trunci(V x, Type type) { return integer(x.word, type.bits); }
  static V sitofp(V x, Type type) {
    return type.bits == 64 ? of(static_cast<double>(signedOf(x))) : of(static_cast<float>(signedOf(x)));
  }
  static V uitofp(V x, Type type) {
    return type.bits == 64 ? of(static_cast<double>(x.word)) : of(static_cast<float>(x.word));
  }

  template <size_t N, class Then>
  static std::array<V, N> ifAny(V flag, const std::array<V, N> &otherwise, Then then) {
    return flag.word ? then() : otherwise;
  }

private:
  static V integer(uint64_t word, int bits) {
    return {i(bits), bits < 64 ? word & ((uint64_t(1) << bits) - 1) : word};
  }
  static V boolean(bool b) { return {i(1), b}; }
  static uint64_t signOf(V x) { return uint64_t(1) << (x.type.bits - 1); }
  static int64_t signedOf(V x) {
    return static_cast<int64_t>(x.word << (64 - x.type.bits)) >> (64 - x.type.bits);
  }
  template <class F> static V on(V x, V y, F f) {
    return isF64(x) ? of(f(f64Of(x), f64Of(y))) : of(f(f32Of(x), f32Of(y)));
  }
  template <class T> static bool compare(P p, T x, T y) {
    switch (p) {
    case P::OLT:
      return x < y;
    case P::OLE:
      return x <= y;
    case P::OGT:
      return x > y;
    case P::OGE:
      return x >= y;
    case P::OEQ:
      return x == y;
    case P::ONE:
      return x < y || x > y;
    case P::UNE:
      return x != y;
    case P::UNO:
      return x != x || y != y;
    }
    return false;
  }
};

} // namespace tessera::functions
