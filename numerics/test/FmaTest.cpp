// Compares the software fma with the host's, which rounds once: over all triples of edge values, and over
// random values whose sum cancels, underflows or overflows.
#include "numerics/functions/Fma.h"
#include "numerics/functions/HostArithmetic.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera::functions;

namespace {

template <class T> T ours(T x, T y, T z) {
  HostArithmetic m;
  if constexpr (sizeof(T) == 4)
    return m.f32Of(fmaF32(m, m.of(x), m.of(y), m.of(z)));
  else
    return m.f64Of(fmaF64(m, m.of(x), m.of(y), m.of(z)));
}

template <class T> void expectSame(T x, T y, T z) {
  const T want = std::fma(x, y, z), got = ours(x, y, z);
  if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << x << ", " << y << ", " << z;
  else
    ASSERT_TRUE(got == want && std::signbit(got) == std::signbit(want))
        << std::hexfloat << x << ", " << y << ", " << z << ": " << got << ", not " << want;
}

template <class T> void checkEdges(std::initializer_list<double> values) {
  for (double a : values)
    for (double b : values)
      for (double c : values)
        for (int signs = 0; signs < 8; ++signs)
          expectSame<T>(T(signs & 1 ? -a : a), T(signs & 2 ? -b : b), T(signs & 4 ? -c : c));
}

class Random {
public:
  /// A random number with an exponent in [low, high]. Some mantissas have runs of zeros or ones.
  double operator()(int low, int high) {
    const uint64_t word = bits_();
    uint64_t mantissa = word & 0xfffffffffffff;
    const uint64_t run = (uint64_t(1) << (bits_() % 52)) - 1;
    if (word >> 52 & 1) mantissa &= ~run;
    if (word >> 53 & 1) mantissa |= run;
    const double m = std::bit_cast<double>(mantissa | uint64_t(1023) << 52);
    return std::ldexp(word >> 63 ? -m : m, low + int(bits_() % uint64_t(high - low + 1)));
  }
  uint64_t word() { return bits_(); }

private:
  std::mt19937_64 bits_{1};
};

TEST(Fma, EdgesF64) {
  checkEdges<double>({0, 1, 3, 0x1p-1022, 0x1p-1074, 0x1p1023, 0x1.fffffffffffffp1023,
                      0x1.fffffffffffffp-1023, 0x1p-537, 0x1p-511, 0x1.0000000000001p0, 0x1.fffffffffffffp0,
                      0x1p-600, 0x1.8p-538, 0x1p53, 0x1p-53, 0x1p600, kInfinity, kNaN});
}

TEST(Fma, EdgesF32) {
  checkEdges<float>({0, 1, 3, 0x1p-126, 0x1p-149, 0x1p127, 0x1.fffffep127, 0x1.fffffcp-127, 0x1p-75,
                     0x1.000002p0, 0x1p24, 0x1p-24, kInfinity, kNaN});
}

TEST(Fma, RandomF64) {
  Random random;
  for (int i = 0; i < 200000; ++i) {
    double x = random(-5, 5), y = random(-5, 5);
    expectSame(x, y, random(-120, 60));
    expectSame(x, y, std::nextafter(-x * y, 0));
    x = random(-600, -500), y = random(-600, -480);
    expectSame(x, y, random(-1090, -1000));
    expectSame(x, y, 0.0);
    expectSame(x, y, -x * y);
    x = random(-530, -505), y = random(-530, -505);
    expectSame(x, y, random(-1075, -1015));
    expectSame(random(-1074, 1023), random(-1074, 1023), random(-1074, 1023));
  }
}

TEST(Fma, RandomF32) {
  Random random;
  auto any = [&] { return std::bit_cast<float>(uint32_t(random.word())); };
  for (int i = 0; i < 200000; ++i) {
    expectSame(any(), any(), any());
    float x = float(random(-75, -60)), y = float(random(-75, -60));
    expectSame(x, y, float(random(-149, -120)));
    x = float(random(-3, 3)), y = float(random(-3, 3));
    expectSame(x, y, -x * y);
  }
}

} // namespace
