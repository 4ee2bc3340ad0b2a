// Narrow operands, packed in words that micro-kernels multiply. A kind has
//
//   In, T        the elements, and the type of their sums; a word has the size of T
//   kGroup       steps of k in a word
//   Widen        elements as T
//   Left, Right  packers of A and of B
//
// and a packer forms words of elements that are
//
//   along        adjacent: words of one row of A, or of one column of a transposed B
//   weave        in kGroup rows: kVectors vectors of words, of as many columns
//   word         anywhere, and fewer than kGroup: the last ones of k
#pragma once
#include "plugins/cpu/codegen/products/bodies/Packing.h"
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

namespace tessera::cpu::product {
namespace {

/// Memory is aligned to elements only.
template <class V, class In> inline V loadAs(const In *from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T> inline Vector<T> bits(Vector<uint32_t> v) { return __builtin_bit_cast(Vector<T>, v); }

/// The elements of the lower or the upper half of x and y in turn.
template <bool Upper, class V, int... I> inline V alternate(V x, V y, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I), first = Upper ? lanes / 2 : 0;
  return __builtin_shufflevector(x, y, (first + I / 2 + (I % 2 ? lanes : 0))...);
}
template <bool Upper, class E> inline Vector<E> alternate(Vector<E> x, Vector<E> y) {
  return alternate<Upper>(x, y, std::make_integer_sequence<int, kLanes<E>>());
}

/// Packs words of one element: as f32.
template <class Kind> struct Converter {
  static constexpr int kVectors = 1;
  auto along(const auto *from) { return Kind::Widen::all(from); }
  void weave(const auto *from, int64_t, float *to) { store(to, Kind::Widen::all(from)); }
  float word(const auto *from, int64_t, int64_t) { return Kind::Widen::one(*from); }
};

struct F16 {
  using In = _Float16;
  using T = float;
  static constexpr int kGroup = 1;
  using Halfs __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> all(const In *from) { return __builtin_convertvector(loadAs<Halfs>(from), Vector<T>); }
    static T one(In x) { return T(x); }
  };
  using Left = Converter<F16>;
  using Right = Left;
};

struct Bf16 {
  using In = uint16_t;
  using T = float;
  static constexpr int kGroup = 1;
  using Halfs __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> all(const In *from) {
      return bits<T>(__builtin_convertvector(loadAs<Halfs>(from), Vector<uint32_t>) << 16);
    }
    static T one(In x) { return __builtin_bit_cast(T, uint32_t(x) << 16); }
  };
  using Left = Converter<Bf16>;
  using Right = Left;
};

#ifdef __AVX512BF16__
/// Pairs, which vdpbf16ps multiplies. The first element is the upper half of the word, whose product is added
/// first.
struct Bf16Dots {
  using In = uint16_t;
  using T = float;
  static constexpr int kGroup = 2;
  using Widen = Bf16::Widen;
  class Left {
  public:
    static constexpr int kVectors = 2;
    Vector<T> along(const In *from) {
      const auto pair = loadAs<Vector<uint32_t>>(from);
      see(__builtin_bit_cast(Vector<In>, pair));
      return bits<T>(pair << 16 | pair >> 16);
    }
    void weave(const In *from, int64_t stride, T *to) {
      const Vector<In> first = load(from), second = load(from + stride);
      see(first), see(second);
      store(to, __builtin_bit_cast(Vector<T>, alternate<false, In>(second, first)));
      store(to + kLanes<T>, __builtin_bit_cast(Vector<T>, alternate<true, In>(second, first)));
    }
    T word(const In *from, int64_t stride, int64_t count) {
      const In first = from[0], second = count > 1 ? from[stride] : In(0);
      see(Vector<In>{first, second});
      return __builtin_bit_cast(T, uint32_t(first) << 16 | second);
    }
    /// Returns the least biased exponent of an element that is not 0.
    int leastExponent() const {
      In least = 0xffff;
      for (int i = 0; i < kLanes<In>; ++i)
        if (least_[i] < least) least = least_[i];
      return (least + 1) >> 7;
    }

  private:
    void see(Vector<In> v) { // 0 becomes the largest
      least_ = __builtin_elementwise_min(least_, (v & 0x7fff) - 1);
    }
    Vector<In> least_ = ~Vector<In>{};
  };
  using Right = Left;
  /// Does vdpbf16ps, which takes subnormals for 0, give what fused multiply-adds do? An element is a multiple
  /// of 2^(e - 134), where e is its biased exponent. If all products are multiples of 2^-126, so are their
  /// sums, and none is subnormal.
  static bool areNormal(const Left &a, const Right &b) {
    const int ofA = a.leastExponent(), ofB = b.leastExponent();
    return ofA >= 1 && ofB >= 1 && ofA + ofB >= 142;
  }
};
#endif

/// Pairs of i16, which vpmaddwd multiplies.
struct I8 {
  using In = int8_t;
  using T = int32_t;
  static constexpr int kGroup = 2;
  using Quarter __attribute__((vector_size(kVectorBytes / 4))) = In;
  using Half __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> all(const In *from) { return __builtin_convertvector(loadAs<Quarter>(from), Vector<T>); }
    static T one(In x) { return x; }
  };
  struct Left {
    static constexpr int kVectors = 2;
    static Vector<int16_t> wide(const In *from) {
      return __builtin_convertvector(loadAs<Half>(from), Vector<int16_t>);
    }
    Vector<T> along(const In *from) { return __builtin_bit_cast(Vector<T>, wide(from)); }
    void weave(const In *from, int64_t stride, T *to) {
      const Vector<int16_t> first = wide(from), second = wide(from + stride);
      store(to, __builtin_bit_cast(Vector<T>, alternate<false, int16_t>(first, second)));
      store(to + kLanes<T>, __builtin_bit_cast(Vector<T>, alternate<true, int16_t>(first, second)));
    }
    T word(const In *from, int64_t stride, int64_t count) {
      const uint32_t second = count > 1 ? uint32_t(from[stride]) : 0;
      return T(second << 16 | uint16_t(from[0]));
    }
  };
  using Right = Left;
};

#ifdef __AVX512VNNI__
/// Quads, of which vpdpbusd multiplies unsigned elements of A by signed ones of B: A is packed as a + 128,
/// and sums begin with -128 times the sum of the column of B.
struct I8Quads {
  using In = int8_t;
  using T = int32_t;
  static constexpr int kGroup = 4;
  using Widen = I8::Widen;
  template <uint32_t Flip> struct Packer {
    static constexpr int kVectors = 4;
    Vector<T> along(const In *from) { return bits<T>(loadAs<Vector<uint32_t>>(from) ^ Flip); }
    void weave(const In *from, int64_t stride, T *to) {
      const Vector<In> x0 = load(from), x1 = load(from + stride), x2 = load(from + 2 * stride),
                       x3 = load(from + 3 * stride);
      quads(alternate<false, In>(x0, x1), alternate<false, In>(x2, x3), to);
      quads(alternate<true, In>(x0, x1), alternate<true, In>(x2, x3), to + 2 * kLanes<T>);
    }
    /// The elements past the end are 0 in B, so that those of A may be anything.
    T word(const In *from, int64_t stride, int64_t count) {
      uint32_t quad = 0;
      for (int64_t i = 0; i < count; ++i)
        quad |= uint32_t(uint8_t(from[i * stride])) << (8 * i);
      return T(quad ^ Flip);
    }

  private:
    void quads(Vector<In> x, Vector<In> y, T *to) {
      const auto first = __builtin_bit_cast(Vector<int16_t>, x),
                 second = __builtin_bit_cast(Vector<int16_t>, y);
      store(to,
            bits<T>(__builtin_bit_cast(Vector<uint32_t>, alternate<false, int16_t>(first, second)) ^ Flip));
      store(to + kLanes<T>,
            bits<T>(__builtin_bit_cast(Vector<uint32_t>, alternate<true, int16_t>(first, second)) ^ Flip));
    }
  };
  using Left = Packer<0x80808080>;
  using Right = Packer<0>;
  /// Adds a vector of words to the sums of its columns.
  static Vector<T> addColumns(Vector<T> sums, Vector<T> words) {
    const auto ones = _mm512_set1_epi8(1);
    return __builtin_bit_cast(Vector<T>, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sums), ones,
                                                             __builtin_bit_cast(__m512i, words)));
  }
};
#endif

} // namespace
} // namespace tessera::cpu::product
