// Narrow operands, packed in words that micro-kernels multiply. A kind has
//
//   In, T        the elements, and the type of their sums; a word has the size of T
//   kGroup       steps of k in a word
//   Line         the elements of a vector of words
//   Widen        elements as T
//   Left, Right  packers of A and of B
//
// and a packer forms words of elements that are
//
//   along        adjacent: a line of one row of A, or of one column of a transposed B
//   weave        in kGroup rows: kVectors vectors of words, of as many columns
//
// Elements past the end of a line are 0.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/Packing.h"
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

namespace tessera::cpu::product {
namespace {

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
  auto along(auto line) { return Kind::Widen::widen(line); }
  void weave(const auto *rows, Vector<float> *out) { out[0] = Kind::Widen::widen(rows[0]); }
};

struct F16 {
  using In = _Float16;
  using T = float;
  static constexpr int kGroup = 1;
  using Line __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> widen(Line line) { return __builtin_convertvector(line, Vector<T>); }
    static Vector<T> all(const In *from) { return widen(loadAs<Line>(from)); }
    static Vector<T> first(const In *from, int64_t count) { return widen(loadFirst<Line>(from, count)); }
    static T one(In x) { return T(x); }
  };
  using Left = Converter<F16>;
  using Right = Left;
};

struct Bf16 {
  using In = uint16_t;
  using T = float;
  static constexpr int kGroup = 1;
  using Line __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> widen(Line line) {
      return bits<T>(__builtin_convertvector(line, Vector<uint32_t>) << 16);
    }
    static Vector<T> all(const In *from) { return widen(loadAs<Line>(from)); }
    static Vector<T> first(const In *from, int64_t count) { return widen(loadFirst<Line>(from, count)); }
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
  using Line = Vector<In>;
  using Widen = Bf16::Widen;
  class Left {
  public:
    static constexpr int kVectors = 2;
    Vector<T> along(Line line) {
      see(line);
      const auto pair = __builtin_bit_cast(Vector<uint32_t>, line);
      return bits<T>(pair << 16 | pair >> 16);
    }
    void weave(const Line *rows, Vector<T> *out) {
      see(rows[0]), see(rows[1]);
      out[0] = __builtin_bit_cast(Vector<T>, alternate<false, In>(rows[1], rows[0]));
      out[1] = __builtin_bit_cast(Vector<T>, alternate<true, In>(rows[1], rows[0]));
    }
    /// Takes notice of elements.
    void see(Vector<In> v) { // 0 becomes the largest
      least_ = __builtin_elementwise_min(least_, (v & 0x7fff) - 1);
    }
    /// Returns the least biased exponent of an element that is not 0.
    int leastExponent() const { return (int(__builtin_reduce_min(least_)) + 1) >> 7; }

  private:
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
  using Line __attribute__((vector_size(kVectorBytes / 2))) = In;
  struct Widen {
    static Vector<T> widen(Quarter line) { return __builtin_convertvector(line, Vector<T>); }
    static Vector<T> all(const In *from) { return widen(loadAs<Quarter>(from)); }
    static Vector<T> first(const In *from, int64_t count) { return widen(loadFirst<Quarter>(from, count)); }
    static T one(In x) { return x; }
  };
  struct Left {
    static constexpr int kVectors = 2;
    static Vector<int16_t> wide(Line line) { return __builtin_convertvector(line, Vector<int16_t>); }
    Vector<T> along(Line line) { return __builtin_bit_cast(Vector<T>, wide(line)); }
    void weave(const Line *rows, Vector<T> *out) {
      const Vector<int16_t> first = wide(rows[0]), second = wide(rows[1]);
      out[0] = __builtin_bit_cast(Vector<T>, alternate<false, int16_t>(first, second));
      out[1] = __builtin_bit_cast(Vector<T>, alternate<true, int16_t>(first, second));
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
  using Line = Vector<In>;
  using Widen = I8::Widen;
  template <uint32_t Flip> struct Packer {
    static constexpr int kVectors = 4;
    Vector<T> along(Line line) { return bits<T>(__builtin_bit_cast(Vector<uint32_t>, line) ^ Flip); }
    /// The elements past the end are 0 in B, so that those of A may be anything.
    void weave(const Line *rows, Vector<T> *out) {
      quads(alternate<false, In>(rows[0], rows[1]), alternate<false, In>(rows[2], rows[3]), out);
      quads(alternate<true, In>(rows[0], rows[1]), alternate<true, In>(rows[2], rows[3]), out + 2);
    }

  private:
    void quads(Vector<In> x, Vector<In> y, Vector<T> *out) {
      const auto first = __builtin_bit_cast(Vector<int16_t>, x),
                 second = __builtin_bit_cast(Vector<int16_t>, y);
      out[0] = bits<T>(__builtin_bit_cast(Vector<uint32_t>, alternate<false, int16_t>(first, second)) ^ Flip);
      out[1] = bits<T>(__builtin_bit_cast(Vector<uint32_t>, alternate<true, int16_t>(first, second)) ^ Flip);
    }
  };
  using Left = Packer<0x80808080>;
  using Right = Packer<0>;
  /// Dots of both operands where they are. The few are a + 128, and sums have an excess of 128 times those of
  /// the many.
  struct Dots {
    using Line = __m512i;
    static constexpr int64_t kSteps = 64, kLeastDepth = kSteps;
    /// Words of a deep product take longer to pack than to multiply.
    static bool isFew(int64_t count, int64_t depth) { return count <= (depth >= 4 * kSteps ? 8 : 4); }
    static bool isWorth(int64_t few, int64_t many, int64_t depth, bool areRows) {
      return few <= 2 || many <= kManyResults || !areRows || depth >= 2 * kSteps;
    }
    static Line all(const In *from) { return loadAs<Line>(from); }
    static Line first(const In *from, int64_t count) {
      return __builtin_bit_cast(Line, loadFirst<Vector<In>>(from, count));
    }
    static Line few(Line line) { return line ^ _mm512_set1_epi8(-128); }
    static Vector<T> multiplyAdd(Line few, Line many, Vector<T> sum) {
      return __builtin_bit_cast(Vector<T>, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sum), few, many));
    }
    static Vector<T> excess(Line many, Vector<T> sum) {
      return multiplyAdd(_mm512_set1_epi8(-128), many, sum);
    }
  };
  /// Adds a vector of words to the sums of its columns.
  static Vector<T> addColumns(Vector<T> sums, Vector<T> words) {
    const auto ones = _mm512_set1_epi8(1);
    return __builtin_bit_cast(Vector<T>, _mm512_dpbusd_epi32(__builtin_bit_cast(__m512i, sums), ones,
                                                             __builtin_bit_cast(__m512i, words)));
  }
};
#endif

/// Pairs of bf16 or quads of bytes in the order of memory, which the instructions of AMX multiply.
template <class E, class Sum, int Group> struct Tiles {
  using In = E;
  using T = Sum;
  static constexpr int kGroup = Group;
  using Line = Vector<In>;
  struct Left {
    static constexpr int kVectors = Group;
    Vector<T> along(Line line) { return __builtin_bit_cast(Vector<T>, line); }
    void weave(const Line *rows, Vector<T> *out) {
      if constexpr (Group == 2) {
        out[0] = along(alternate<false, In>(rows[0], rows[1]));
        out[1] = along(alternate<true, In>(rows[0], rows[1]));
      } else {
        quads(alternate<false, In>(rows[0], rows[1]), alternate<false, In>(rows[2], rows[3]), out);
        quads(alternate<true, In>(rows[0], rows[1]), alternate<true, In>(rows[2], rows[3]), out + 2);
      }
    }

  private:
    static void quads(Vector<In> x, Vector<In> y, Vector<T> *out) {
      const auto first = __builtin_bit_cast(Vector<int16_t>, x),
                 second = __builtin_bit_cast(Vector<int16_t>, y);
      out[0] = __builtin_bit_cast(Vector<T>, alternate<false, int16_t>(first, second));
      out[1] = __builtin_bit_cast(Vector<T>, alternate<true, int16_t>(first, second));
    }
  };
  using Right = Left;
};
using Bf16Tiles = Tiles<uint16_t, float, 2>;
using I8Tiles = Tiles<int8_t, int32_t, 4>;
using U8Tiles = Tiles<uint8_t, int32_t, 4>;

} // namespace
} // namespace tessera::cpu::product
