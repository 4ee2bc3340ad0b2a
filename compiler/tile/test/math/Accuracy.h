// Measures a compiled function against one of higher precision.
#pragma once
#include "compiler/tile/test/math/VectorJit.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace tessera::tile::test {

template <class T> using WordOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T> using WiderThan = std::conditional_t<sizeof(T) == 4, double, long double>;

/// The distance between neighbouring T at `exact`, which is finite and not zero.
template <class T> WiderThan<T> ulpAt(WiderThan<T> exact) {
  const int lowest = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(std::ilogb(exact), lowest);
  return std::scalbn(WiderThan<T>(1), exponent - (std::numeric_limits<T>::digits - 1));
}

struct Worst {
  double ulps = 0;   // of |result - exact| among finite results
  double at[2] = {}; // where
  int wrong = 0;     // results whose class or sign is not that of the rounded exact value
  double wrongAt[2] = {}, wrongGot = 0, wrongWant = 0;
};

/// Adds one result. A finite result beside an infinite one (or the reverse) counts by its distance, an
/// infinity standing for the number after the largest.
template <class T> void judge(Worst &worst, T got, WiderThan<T> exact, T x, T y = 0) {
  using R = WiderThan<T>;
  const T rounded = static_cast<T>(exact);
  auto isWrong = [&] {
    if (worst.wrong++ == 0) {
      worst.wrongAt[0] = x, worst.wrongAt[1] = y;
      worst.wrongGot = got, worst.wrongWant = rounded;
    }
  };
  if (std::isnan(exact) || std::isnan(got)) {
    if (std::isnan(exact) != std::isnan(got)) isWrong();
    return;
  }
  if (exact == 0 || std::isinf(exact)) {
    if (got != rounded || std::signbit(got) != std::signbit(rounded)) isWrong();
    return;
  }
  if (std::signbit(got) != std::signbit(rounded)) return isWrong();
  if (std::isinf(got) && std::isinf(rounded)) return;
  const R end = std::scalbn(R(1), std::numeric_limits<T>::max_exponent);
  const R value = std::isinf(got) ? std::copysign(end, exact) : R(got);
  const R clipped = std::abs(exact) > end ? std::copysign(end, exact) : exact;
  const double ulps =
      static_cast<double>(std::abs(value - clipped) / std::min(ulpAt<T>(clipped), ulpAt<T>(end / 2)));
  if (ulps > worst.ulps) worst.ulps = ulps, worst.at[0] = x, worst.at[1] = y;
}

/// Zeros, infinities, NaNs, denormals, powers of two and small integers, each with both signs and its
/// neighbours.
template <class T> std::vector<T> edgeValues() {
  using W = WordOf<T>;
  std::vector<W> words;
  const W sign = W(1) << (8 * sizeof(T) - 1);
  for (int e = 0; e < 8 * int(sizeof(T)); ++e)
    words.push_back(W(1) << e);
  for (int e = std::numeric_limits<T>::min_exponent - 30; e <= std::numeric_limits<T>::max_exponent; ++e)
    words.push_back(std::bit_cast<W>(std::scalbn(T(1), e)));
  for (double v : {0.0,
                   1.0,
                   0.5,
                   1.5,
                   3.0,
                   5.0,
                   6.0,
                   10.0,
                   20.0,
                   88.7228,
                   88.3763,
                   103.972,
                   103.28,
                   87.3365,
                   709.782712893384,
                   745.1332191019412,
                   708.3964185322641,
                   128.0,
                   149.0,
                   150.0,
                   126.0,
                   1024.0,
                   1074.0,
                   1075.0,
                   1022.0,
                   0.34657359,
                   0.69314718,
                   1.41421356,
                   0.70710678,
                   0.92,
                   4.0,
                   5.9,
                   9.01,
                   19.06,
                   1.5707963267948966,
                   3.141592653589793,
                   0.7853981633974483,
                   6381956970095103.0 * 0x1p797,
                   16367173.0 * 0x1p72})
    words.push_back(std::bit_cast<W>(T(v)));
  words.push_back(std::bit_cast<W>(std::numeric_limits<T>::infinity()));
  words.push_back(std::bit_cast<W>(std::numeric_limits<T>::quiet_NaN()));
  std::vector<T> values;
  for (W w : words)
    for (int delta = -2; delta <= 2; ++delta)
      for (W s : {W(0), sign})
        values.push_back(std::bit_cast<T>(W((w + W(delta)) ^ s)));
  return values;
}

} // namespace tessera::tile::test
