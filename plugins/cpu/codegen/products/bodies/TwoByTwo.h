// `two by two`: batches of 2x2x2 without gaps, of which a vector holds several. Lanes are all elements of C:
// a step of k copies elements of A and of B to the lanes that they are multiplied in. The order is that of
// panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include <utility>

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA, bool TransposedB, class In = T, class Widen = AsTheyAre<T>>
class TwoByTwo {
  static constexpr int64_t kElements = 4; // of an operand

public:
  static bool takes(const Problem &p) {
    if (!p.c || p.rows != 2 || p.columns != 2 || p.depth != 2 || p.blockRows < 2 || p.blockColumns < 2)
      return false;
    if (p.strideA != 2 || p.strideB != 2 || p.strideC != 2) return false;
    return isOneBatch(p, kElements, kElements, kElements);
  }

  /// The products [begin, end) of the batch.
  static void run(const Problem &p, int64_t begin, int64_t end) {
    const In *a = static_cast<const In *>(p.a), *b = static_cast<const In *>(p.b);
    T *c = static_cast<T *>(p.c);
    for (int64_t e = begin * kElements; e < end * kElements; e += kLanes<T>) {
      const int64_t count = end * kElements - e;
      const Vector<T> x = Widen::first(a + e, count), y = Widen::first(b + e, count);
      const auto lanes = std::make_integer_sequence<int, kLanes<T>>();
      Vector<T> sums = {};
      sums = multiplyAdd(ofA<0>(x, lanes), ofB<0>(y, lanes), sums);
      sums = multiplyAdd(ofA<1>(x, lanes), ofB<1>(y, lanes), sums);
      storeFirst(c + e, sums, count);
    }
  }

private:
  /// The element of A, or of B, that step K of each lane's element of C multiplies.
  template <int K, int... I> static Vector<T> ofA(Vector<T> v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v,
                                   (I / 4 * 4 + (TransposedA ? 2 * K + I / 2 % 2 : I / 2 % 2 * 2 + K))...);
  }
  template <int K, int... I> static Vector<T> ofB(Vector<T> v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I / 4 * 4 + (TransposedB ? I % 2 * 2 + K : 2 * K + I % 2))...);
  }
};

} // namespace
} // namespace tessera::cpu::product
