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
constexpr int64_t kRows[] = {10, 6};
#endif
constexpr int kMaxRows = int(kRows[0]);
/// The most rows of a micro-kernel of so many vectors.
constexpr int64_t rowsOf(int64_t vectors) { return kRows[vectors - 1]; }

template <class T> constexpr int kLanes = kVectorBytes / int(sizeof(T));
template <class T> using Vector __attribute__((vector_size(kVectorBytes))) = T;

/// Memory is aligned to elements only.
template <class V, class In> inline V loadAs(const In *from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T> inline Vector<T> load(const T *from) { return loadAs<Vector<T>>(from); }
/// Are there instructions that load and store some elements of a vector?
#ifdef __AVX512BW__
template <class T> constexpr bool kHasMasks = true;
#else
template <class T> constexpr bool kHasMasks = sizeof(T) >= 4;
#endif
template <int64_t Lanes> using Mask __attribute__((ext_vector_type(Lanes))) = bool;
/// Selects the first `count` lanes, fewer than all of them.
template <int64_t Lanes> inline Mask<Lanes> maskOfFirst(int64_t count) {
  const uint64_t bits = (uint64_t{1} << count) - 1;
  Mask<Lanes> mask;
  __builtin_memcpy(&mask, &bits, sizeof mask);
  return mask;
}
/// Loads the first `count` bytes of a word, at most 8; the others are 0. Two loads overlap: bytes that are
/// stored one by one would be waited for.
inline uint64_t firstBytes(const char *from, int64_t count) {
  if (count >= 8) return loadAs<uint64_t>(from);
  if (count >= 4)
    return loadAs<uint32_t>(from) | uint64_t{loadAs<uint32_t>(from + count - 4)} << 8 * (count - 4);
  if (count >= 2)
    return loadAs<uint16_t>(from) | uint64_t{loadAs<uint16_t>(from + count - 2)} << 8 * (count - 2);
  return count == 1 ? uint64_t{uint8_t(*from)} : 0;
}
/// Loads the first `count` elements of a vector, at most all of them; the others are 0.
template <class V, class In> inline V loadFirst(const In *from, int64_t count) {
  constexpr int64_t lanes = sizeof(V) / sizeof(In);
  if (count >= lanes) return loadAs<V>(from);
  if constexpr (kHasMasks<In>) {
    return __builtin_bit_cast(V, __builtin_masked_load(maskOfFirst<lanes>(count), from));
  } else {
    constexpr int64_t words = sizeof(V) / sizeof(uint64_t);
    const char *bytes = reinterpret_cast<const char *>(from);
    using Words __attribute__((vector_size(sizeof(V)))) = uint64_t;
    Words out;
    for (int64_t i = 0; i < words; ++i)
      out[i] = firstBytes(bytes + 8 * i, count * int64_t(sizeof(In)) - 8 * i);
    return __builtin_bit_cast(V, out);
  }
}
template <class T> inline void store(T *to, Vector<T> v) { __builtin_memcpy(to, &v, sizeof v); }

#ifndef __AVX512F__
/// Stores the first `count` elements, fewer than all of them, as a half, a quarter and an eighth of a vector:
/// vmaskmovps to memory takes 17 cycles on Zen 3.
template <class T> inline void storeParts(T *to, Vector<uint64_t> v, int64_t count) {
  if (count * sizeof(T) & 16) {
    const auto half = __builtin_shufflevector(v, v, 0, 1);
    __builtin_memcpy(to, &half, sizeof half);
    v = __builtin_shufflevector(v, v, 2, 3, 2, 3), to += 16 / sizeof(T);
  }
  if (count * sizeof(T) & 8) {
    const uint64_t word = v[0];
    __builtin_memcpy(to, &word, sizeof word);
    v = __builtin_shufflevector(v, v, 1, 1, 1, 1), to += 8 / sizeof(T);
  }
  if (count * sizeof(T) & 4) {
    const auto part = uint32_t(v[0]);
    __builtin_memcpy(to, &part, sizeof part);
  }
}
#endif
/// Stores the first `count` elements, at most all of them.
template <class T> inline void storeFirst(T *to, Vector<T> v, int64_t count) {
  if (count >= kLanes<T>) return store(to, v);
#ifndef __AVX512F__
  if constexpr (sizeof(T) >= 4) return storeParts(to, __builtin_bit_cast(Vector<uint64_t>, v), count);
#endif
  if constexpr (kHasMasks<T>) {
    using Lanes __attribute__((ext_vector_type(kLanes<T>))) = T;
    return __builtin_masked_store(maskOfFirst<kLanes<T>>(count), __builtin_bit_cast(Lanes, v), to);
  }
  for (int64_t i = 0; i < count; ++i)
    to[i] = v[i];
}

/// A fused multiply-add of floats; of integers, whose sums wrap, the same.
template <class V> inline V multiplyAdd(V x, V y, V sum) {
  if constexpr (__is_same(V, int32_t) || __is_same(V, Vector<int32_t>))
    return V(x * y + sum);
  else
    return __builtin_elementwise_fma(x, y, sum);
}

template <class T> struct AsTheyAre {
  static Vector<T> widen(Vector<T> v) { return v; }
  static Vector<T> all(const T *from) { return load(from); }
  static Vector<T> first(const T *from, int64_t count) { return loadFirst<Vector<T>>(from, count); }
  static T one(T x) { return x; }
};

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

} // namespace
} // namespace tessera::cpu::product
