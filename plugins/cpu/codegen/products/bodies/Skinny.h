// `skinny`: a product of a few rows uses each element of B a few times only. A few rows of B are read at
// once, in place and along many columns, while the next ones are fetched. The sums stay in scratch: in C they
// would be a row's stride apart, which may be one set of the cache. The order is that of panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/Packing.h"

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA, class In = T, class Widen = AsTheyAre<T>> class Skinny {
  static constexpr int kLines =
      kMaxVectors == 4 ? 8 : 4; // rows of B at once, whose vectors fill half of the registers
  static constexpr int kVectors = 2;
  static constexpr int64_t kMostRows = 48;
  static constexpr int64_t kSumBytes = int64_t{256} << 10; // at once, in the second-level cache
  static_assert(kSumBytes <= kPanelBytes);
  static constexpr int64_t kBytesInCache = int64_t{12} << 20;
  static constexpr int64_t kFarBytes = int64_t{512} << 10; // a B of more bytes is not in a near cache

public:
  static bool takes(const Problem &p) {
    return canCompute(p) && p.columns * p.depth * int64_t(sizeof(In)) > kFarBytes;
  }
  static bool canCompute(const Problem &p) {
    // The sums of a block are whole vectors.
    return p.rows <= kMostRows && p.rows <= p.blockRows && p.depth > 0 && p.blockColumns % kLanes<T> == 0 &&
           p.rows * p.blockColumns * int64_t(sizeof(T)) <= kSumBytes;
  }

  /// Are the rows of B that a run reads long enough? More than 16 rows use them so often that blocks in
  /// registers are faster. With 16 registers they are unless B is in memory, from which the rows of a panel
  /// are fetched slowly.
  static bool takes(const Problem &p, const Run &run) {
    if (p.rows <= 16) return true;
    const bool isInCache = p.columns * p.depth * int64_t(sizeof(In)) <= kBytesInCache;
    return run.columnBlocks >= 4 && (kMaxVectors == 4 || !isInCache);
  }

  explicit Skinny(Context<T, In> &x) : x_(x), p_(x.p) {}

  void run(const Run &run) {
    const int64_t bytes = p_.rows * p_.blockColumns * int64_t(sizeof(T));
    const int64_t fits = most(1, kSumBytes / bytes);
    for (int64_t i = 0; i < run.columnBlocks; i += fits)
      blocks(run.columnBlock + i, least(fits, run.columnBlocks - i));
  }

private:
  void blocks(int64_t first, int64_t count) {
    const int64_t resultsOfBlock = p_.rows * p_.blockColumns;
    const int64_t start = first * p_.blockColumns;
    auto block = [&]<int Lines>(int64_t k) {
      T a[kMostRows * Lines];
      for (int64_t r = 0; r < p_.rows; ++r)
        for (int i = 0; i < Lines; ++i)
          a[r * Lines + i] =
              Widen::one(TransposedA ? x_.a[(k + i) * p_.strideA + r] : x_.a[r * p_.strideA + k + i]);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t c0 = start + i * p_.blockColumns;
        lines<Lines>(a, k, c0, least(p_.columns, c0 + p_.blockColumns), x_.panel + i * resultsOfBlock);
      }
    };
    for (int64_t i = 0; i < count * resultsOfBlock; i += kLanes<T>)
      store(x_.panel + i, Vector<T>{});
    int64_t k = 0;
    for (; k + kLines <= p_.depth; k += kLines)
      block.template operator()<kLines>(k);
    for (; k < p_.depth; ++k)
      block.template operator()<1>(k);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t c0 = start + i * p_.blockColumns;
      const T *block = x_.panel + i * resultsOfBlock;
      if (x_.c)
        copyRows(block, p_.blockColumns, p_.rows, least(p_.columns - c0, p_.blockColumns), x_.c + c0,
                 p_.strideC);
      else
        x_.finish(0, c0, 1, block);
    }
  }

  template <int Lines> void lines(const T *a, int64_t k, int64_t c0, int64_t c1, T *c) {
    constexpr int lanes = kLanes<T>;
    const In *b = x_.b + k * p_.strideB + c0;
    const int64_t strideC = p_.blockColumns, columns = c1 - c0,
                  ahead = k + 2 * Lines <= p_.depth || p_.isChain ? Lines * p_.strideB : 0;
    int64_t j = 0;
    for (; j + kVectors * lanes <= columns; j += kVectors * lanes)
      vectors<Lines, kVectors>(a, b + j, ahead, c + j, strideC);
    for (; j + lanes <= columns; j += lanes)
      vectors<Lines, 1>(a, b + j, ahead, c + j, strideC);
    if (j < columns) vectors<Lines, 1, false>(a, b + j, ahead, c + j, strideC, columns - j);
  }

  /// `count`: the columns of a vector that is not whole.
  template <int Lines, int Vectors, bool IsWhole = true>
  [[gnu::always_inline]] void vectors(const T *a, const In *b, int64_t ahead, T *c, int64_t strideC,
                                      int64_t count = kLanes<T>) {
    static_assert(IsWhole || Vectors == 1);
    Vector<T> line[Lines][Vectors];
    for (int i = 0; i < Lines; ++i)
      for (int v = 0; v < Vectors; ++v) {
        const In *from = b + i * p_.strideB + v * kLanes<T>;
        line[i][v] = IsWhole ? Widen::all(from) : Widen::first(from, count);
        __builtin_prefetch(from + ahead, /*write=*/0, /*second-level cache*/ 2);
      }
    for (int64_t r = 0; r < p_.rows; ++r, a += Lines, c += strideC) {
      Vector<T> sum[Vectors];
      for (int v = 0; v < Vectors; ++v)
        sum[v] = load(c + v * kLanes<T>);
      for (int i = 0; i < Lines; ++i) {
        const Vector<T> all = a[i] - Vector<T>{};
        for (int v = 0; v < Vectors; ++v)
          sum[v] = multiplyAdd(all, line[i][v], sum[v]);
      }
      for (int v = 0; v < Vectors; ++v)
        store(c + v * kLanes<T>, sum[v]);
    }
  }

  Context<T, In> &x_;
  const Problem &p_;
};

} // namespace
} // namespace tessera::cpu::product
