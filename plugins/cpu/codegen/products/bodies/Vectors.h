// Vectors of the level that a body is compiled for. Bodies are freestanding: they use no library, and only
// the body itself is visible outside its object: a program may contain bodies of several levels.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::cpu::product {
namespace {

#ifdef __AVX512F__
constexpr int kVectorBytes = 64, kMaxVectors = 4;
constexpr int64_t kRows[] = {16, 8, 6, 6};
#else
constexpr int kVectorBytes = 32, kMaxVectors = 2;
constexpr int64_t kRows[] = {6, 6};
#endif
constexpr int kMaxRows = int(kRows[0]);
/// The most rows of a micro-kernel of so many vectors.
constexpr int64_t rowsOf(int64_t vectors) { return kRows[vectors - 1]; }

template <class T> constexpr int kLanes = kVectorBytes / int(sizeof(T));
template <class T> using Vector __attribute__((vector_size(kVectorBytes))) = T;

/// Memory is aligned to elements only.
template <class T> inline Vector<T> load(const T *from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T> inline void store(T *to, Vector<T> v) { __builtin_memcpy(to, &v, sizeof v); }

/// A fused multiply-add of floats; of integers, whose sums wrap, the same.
template <class V> inline V multiplyAdd(V x, V y, V sum) {
  if constexpr (__is_same(V, int32_t) || __is_same(V, Vector<int32_t>))
    return V(x * y + sum);
  else
    return __builtin_elementwise_fma(x, y, sum);
}

template <class T> struct AsTheyAre {
  static Vector<T> all(const T *from) { return load(from); }
  static T one(T x) { return x; }
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace
} // namespace tessera::cpu::product
