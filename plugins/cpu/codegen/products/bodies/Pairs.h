// Products of pairs of bf16 by fused multiply-adds, for elements so small that vdpbf16ps would take them, or
// sums, for 0. The order is that of the micro-kernels, the speed half of theirs or less.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Vectors.h"

namespace tessera::cpu::product {
namespace {

template <int Rows, bool TransposedA>
inline void multiplyPairs(int64_t depth, const float *a, int64_t strideA, const float *b, int64_t strideB,
                          float *c, int64_t strideC, int64_t lanes, bool isFresh) {
  using Pairs = Vector<uint32_t>;
  Vector<float> sums[Rows] = {};
  for (int r = 0; r < Rows && !isFresh; ++r)
    sums[r] = loadFirst<Vector<float>>(c + r * strideC, lanes);
  for (int64_t w = 0; 2 * w < depth; ++w) {
    const auto line = __builtin_bit_cast(Pairs, load(b + w * strideB));
    const auto upper = __builtin_bit_cast(Vector<float>, line & 0xffff0000u),
               lower = __builtin_bit_cast(Vector<float>, line << 16);
    for (int r = 0; r < Rows; ++r) {
      const auto pair = __builtin_bit_cast(uint32_t, TransposedA ? a[w * strideA + r] : a[r * strideA + w]);
      const float first = __builtin_bit_cast(float, pair & 0xffff0000u),
                  second = __builtin_bit_cast(float, pair << 16);
      sums[r] = multiplyAdd(first - Vector<float>{}, upper, sums[r]);
      // What fills up the last pair would change a sum of -0.
      if (2 * w + 1 < depth) sums[r] = multiplyAdd(second - Vector<float>{}, lower, sums[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    storeFirst(c + r * strideC, sums[r], lanes);
}

/// C += A * B, or C = A * B if it is fresh, of `depth` elements in rows of words.
template <bool TransposedA>
[[gnu::noinline]] void multiplyPairs(int64_t depth, int64_t rows, const float *a, int64_t strideA,
                                     const float *b, int64_t strideB, float *c, int64_t strideC,
                                     int64_t columns, bool isFresh) {
  constexpr int kRows = 8;
  for (int64_t j = 0; j < columns; j += kLanes<float>) {
    const int64_t lanes = least(kLanes<float>, columns - j);
    int64_t r = 0;
    auto block = [&]<int Rows>() {
      for (; r + Rows <= rows; r += Rows)
        multiplyPairs<Rows, TransposedA>(depth, a + r * (TransposedA ? 1 : strideA), strideA, b + j, strideB,
                                         c + r * strideC + j, strideC, lanes, isFresh);
    };
    block.template operator()<kRows>();
    block.template operator()<1>();
  }
}

} // namespace
} // namespace tessera::cpu::product
