// `shared vectors`: products whose rows of C are two vectors, one, half of one or a quarter, and whose depth
// is as large; A and B have no gaps between their rows. Several rows share a vector: each step of k loads a
// row of B to every part of it, and copies an element of each row of A to the lanes of its part. The order is
// that of panels. Without AVX-512, whose permutations cross the parts, only rows of whole vectors.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include <immintrin.h>
#include <type_traits>
#include <utility>

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA, class In = T, class Widen = AsTheyAre<T>> class SharedVectors {
  static constexpr int64_t kLane = kLanes<T>;
  static constexpr int64_t kLeastColumns = 4;
  /// With more rows, words (Words.h) multiply narrow elements faster than they are widened.
  static constexpr int64_t kMostWidenedRows = 16;
  static constexpr bool kWidens = sizeof(In) < sizeof(T);
  /// Rows of whole vectors that are computed at once, by their vectors: eight sums hide a multiply-add's
  /// time.
  template <int Vectors>
  static constexpr int64_t kWholeRows = Vectors == 1       ? kLane
                                        : kMaxVectors == 4 ? 8
                                                           : 4;
#ifdef __AVX512F__
  static constexpr bool kHasParts = true;
#else
  static constexpr bool kHasParts = false;
#endif

public:
  static bool takes(const Problem &p) {
    const int64_t n = p.columns;
    const bool isWhole = n == kLane || n == 2 * kLane;
    if (n < kLeastColumns || !((isWhole && !kWidens) || (kHasParts && (n == kLane / 2 || n == kLane / 4))))
      return false;
    const bool hasGaps = p.strideA != n || p.strideB != n;
    const int64_t group = n == 2 * kLane ? kWholeRows<2> : n; // of rows
    return p.depth == n && !hasGaps && n <= p.blockColumns && p.rows % group == 0 &&
           p.blockRows % group == 0 && (!TransposedA || (p.rows == n && n <= p.blockRows)) &&
           (!kWidens || p.rows <= kMostWidenedRows);
  }

  explicit SharedVectors(Context<T, In> &x) : x_(x), p_(x.p) {}

  void run(int64_t begin, int64_t end) {
    if (p_.columns == 2 * kLane) {
      if constexpr (!kWidens) walk<1, 2>(begin, end);
    } else if (p_.columns == kLane) {
      if constexpr (!kWidens) walk<1>(begin, end);
    } else if constexpr (kHasParts) {
      if (p_.columns == kLane / 2)
        walk<2>(begin, end);
      else if constexpr (kLane / 4 >= kLeastColumns)
        walk<4>(begin, end);
    }
  }

private:
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  template <int Parts, int Vectors = 1> void walk(int64_t begin, int64_t end) {
    const int64_t n = p_.columns, ofA = p_.rows * n, ofB = n * n;
    // By addresses in registers. A single product has no stride of a batch that would show gaps of C.
    if (p_.c && p_.strideC == n && p_.rows <= p_.blockRows && isOneBatch(p_, ofA, ofB, ofA)) {
      const In *a = static_cast<const In *>(p_.a) + begin * ofA,
               *b = static_cast<const In *>(p_.b) + begin * ofB;
      T *c = static_cast<T *>(p_.c) + begin * ofA;
      for (; begin < end; ++begin, a += ofA, b += ofB, c += ofA)
        rows<Parts, Vectors, false>(p_.rows, a, b, c, n);
      return;
    }
    walkRuns(begin, end, rows<Parts, Vectors>);
  }

  /// One copy for all widths of rows.
  using Rows = void (*)(int64_t count, const In *a, const In *b, T *c, int64_t strideC);
  [[gnu::noinline]] void walkRuns(int64_t begin, int64_t end, Rows rows) {
    const int64_t n = p_.columns;
    x_.forRuns(begin, end, [&](const Run &run) {
      const int64_t r0 = run.rowBlock * p_.blockRows, r1 = least(p_.rows, r0 + run.rowBlocks * p_.blockRows);
      if (x_.c) return rows(r1 - r0, x_.a + r0 * n, x_.b, x_.c + r0 * p_.strideC, p_.strideC);
      for (int64_t r = r0; r < r1; r += p_.blockRows) {
        rows(least(r1 - r, p_.blockRows), x_.a + r * n, x_.b, x_.results, p_.blockColumns);
        x_.finish(r, 0, 1, x_.results);
      }
    });
  }

  template <int Parts, int Vectors>
  [[gnu::noinline]] static void rows(int64_t count, const In *a, const In *b, T *c, int64_t strideC) {
    rows<Parts, Vectors, true>(count, a, b, c, strideC);
  }

  template <int Parts, int Vectors, bool MayHaveGaps>
  static void rows(int64_t count, const In *a, const In *b, T *c, int64_t strideC) {
    if constexpr (Parts == 1) {
      constexpr int64_t group = kWholeRows<Vectors>;
      for (; count > 0; count -= group, c += group * strideC) {
        wholeVectors<Vectors>(a, b, c, strideC);
        a += group * (TransposedA ? 1 : Vectors * kLane);
      }
    } else {
      constexpr int64_t width = kLane / Parts;
      constexpr int vectors = int(width) / Parts; // of `width` rows
      Vector<Index> at;                           // the lane of A's vector that a lane multiplies
      for (int i = 0; i < kLane; ++i)
        at[i] = Index(TransposedA ? i / width : i / width * width);
      for (; count > 0; count -= width, a += width * width, c += width * strideC) {
        Vector<T> sums[vectors] = {}, ofA[vectors];
        for (int v = 0; v < vectors && !TransposedA; ++v)
          ofA[v] = Widen::all(a + v * kLane);
        for (int k = 0; k < width; ++k) {
          const Vector<T> row = inAllParts<Parts>(b + k * width);
          const Vector<T> column = TransposedA ? inAllParts<Parts>(a + k * width) : row;
          for (int v = 0; v < vectors; ++v) {
            const Vector<T> x =
                TransposedA ? permute(column, at + Index(v * Parts)) : permute(ofA[v], at + Index(k));
            sums[v] = multiplyAdd(x, row, sums[v]);
          }
        }
        for (int v = 0; v < vectors; ++v)
          storeRows<Parts, MayHaveGaps>(c + v * Parts * strideC, strideC, sums[v]);
      }
    }
  }

  /// Rows of whole vectors: instructions that multiply copy the elements of A.
  template <int Vectors>
  [[gnu::noinline]] static void wholeVectors(const T *a, const T *b, T *c, int64_t strideC) {
    constexpr int n = Vectors * int(kLane), group = int(kWholeRows<Vectors>);
    Vector<T> sums[group][Vectors] = {};
#pragma clang loop unroll_count(4)
    for (int k = 0; k < n; ++k, a += TransposedA ? n : 1, b += n) {
      Vector<T> row[Vectors];
      for (int v = 0; v < Vectors; ++v)
        row[v] = load(b + v * kLane);
      for (int i = 0; i < group; ++i)
        for (int v = 0; v < Vectors; ++v)
          sums[i][v] = multiplyAdd(a[TransposedA ? i : i * n] - Vector<T>{}, row[v], sums[i][v]);
    }
    for (int i = 0; i < group; ++i)
      for (int v = 0; v < Vectors; ++v)
        store(c + i * strideC + v * kLane, sums[i][v]);
  }

  template <int Parts, bool MayHaveGaps> static void storeRows(T *to, int64_t stride, Vector<T> sums) {
    constexpr int64_t width = kLane / Parts;
    if (!MayHaveGaps || stride == width) return store(to, sums);
    T rows[kLane];
    store(rows, sums);
    for (int i = 0; i < Parts; ++i, to += stride)
      __builtin_memcpy(to, rows + i * width, width * sizeof(T));
  }

  /// A row of an operand in every part of a vector.
  template <int Parts> static Vector<T> inAllParts(const In *from) {
    using Row __attribute__((vector_size(kLane * int64_t(sizeof(In)) / Parts))) = In;
    return [&]<int... I>(Row row, std::integer_sequence<int, I...>) {
      return Widen::widen(__builtin_shufflevector(row, row, (I % int(kLane / Parts))...));
    }(loadAs<Row>(from), std::make_integer_sequence<int, int(kLane)>());
  }

#ifdef __AVX512F__
  static Vector<T> permute(Vector<T> x, Vector<Index> at) {
    const auto lanes = __builtin_bit_cast(__m512i, at);
    if constexpr (__is_same(T, float))
      return _mm512_permutexvar_ps(lanes, x);
    else if constexpr (__is_same(T, double))
      return _mm512_permutexvar_pd(lanes, x);
    else
      return __builtin_bit_cast(Vector<T>, _mm512_permutexvar_epi32(lanes, __builtin_bit_cast(__m512i, x)));
  }
#endif

  Context<T, In> &x_;
  const Problem &p_;
};

} // namespace
} // namespace tessera::cpu::product
