// `small`: batches of products of one block each. Everything that depends on the extents alone is decided
// once for all products of the call. The order is that of panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA> class Small {
  static constexpr int kWidth = kMaxVectors * kLanes<T>; // columns of a register block
  /// With 16 registers, a product has several register blocks next to each other.
  static constexpr int64_t kMostColumns = kMaxVectors == 2 ? 64 : kWidth;
  /// B, if several blocks of rows are multiplied, stays in the first-level cache.
  static constexpr int64_t kNearBytes = int64_t{32} << 10;
  /// Fetching more than this takes longer than it saves.
  static constexpr int64_t kFetchedBytes = 2048;
  /// With a first-level cache of 32 KB, more than kFetchedBytes are fetched into the second one; of more than
  /// this, the processor notices the stream in time.
  static constexpr int64_t kMostFetchedBytes = kMaxVectors == 2 ? int64_t{16} << 10 : INT64_MAX;
  /// Bytes that are fetched in the time of a multiply-add of vectors.
  static constexpr int64_t kBytesOfStep = 4;
  static constexpr int64_t kFarBytes = int64_t{512} << 10;

public:
  static bool takes(const Problem &p) {
    return canCompute(p) && (isOneBlock(p) || p.columns * p.depth * int64_t(sizeof(T)) <= kNearBytes);
  }
  /// In registers: B is used once.
  static bool isOneBlock(const Problem &p) {
    return p.columns <= kWidth && p.rows <= rowsOf(most(1, ceilDiv(p.columns, kLanes<T>)));
  }
  static bool canCompute(const Problem &p) {
    return p.rows <= p.blockRows && p.columns <= p.blockColumns && p.columns <= kMostColumns;
  }

  Small(Context<T> &x, const MicroKernels<T> &kernels) : x_(x), p_(x.p) {
    // All register blocks but the last have whole vectors.
    last_ = Columns(p_, kernels, p_.columns - (most(1, ceilDiv(p_.columns, kWidth)) - 1) * kWidth);
    whole_ = p_.columns > kWidth ? Columns(p_, kernels, kWidth) : last_;
    const int64_t vectors = ceilDiv(p_.columns, kLanes<T>), blocks = whole_.blocks;
    if (p_.batchAxes > 0) {
      nextA_ = p_.batchA[p_.batchAxes - 1], nextB_ = p_.batchB[p_.batchAxes - 1];
      // An operand that is repeated is in the cache.
      elementsOfA_ = nextA_ ? (TransposedA ? p_.depth : p_.rows) * p_.strideA : 0;
      elementsOfB_ = nextB_ ? p_.depth * p_.strideB : 0;
      // In parts before each block, of operands that no near cache holds, while each line is multiplied often
      // enough to hide that.
      const int64_t bytes = (elementsOfA_ + elementsOfB_) * int64_t(sizeof(T));
      const bool isFar = bytes * p_.batchExtent[p_.batchAxes - 1] > kFarBytes;
      isFew_ = bytes <= kFetchedBytes;
      fetches_ = isFew_ || (isFar && bytes <= kMostFetchedBytes &&
                            bytes <= kBytesOfStep * p_.rows * vectors * p_.depth);
      partOfA_ = ceilDiv(elementsOfA_, blocks), partOfB_ = ceilDiv(elementsOfB_, blocks);
    }
  }

  void run(int64_t begin, int64_t end) {
    x_.forRuns(begin, end, [&](const Run &) {
      product(x_.c ? x_.c : x_.results, x_.c ? p_.strideC : p_.blockColumns);
      if (!x_.c) x_.finish(0, 0, 1, x_.results);
    });
  }

private:
  /// Fetches the operands of the next product, if they are so few bytes that the processor has not noticed
  /// the stream before they are needed, and so few instructions that they cost less than they save.
  void fetchNext(int64_t block) const {
    if (!fetches_) return;
    if (kMaxVectors == 4 || isFew_)
      fetchOperands<3>(block);
    else
      fetchOperands<2>(block);
  }
  template <int Locality> void fetchOperands(int64_t block) const {
    fetch<Locality>(x_.a + nextA_ + block * partOfA_, partOfA_);
    fetch<Locality>(x_.b + nextB_ + block * partOfB_, partOfB_);
  }
  template <int Locality> static void fetch(const T *from, int64_t count) {
    for (int64_t i = 0; i < count; i += 64 / int64_t(sizeof(T)))
      __builtin_prefetch(from + i, /*write=*/0, Locality);
  }

  /// What register blocks of some columns have in common: at most two heights, which differ by one row.
  struct Columns {
    Columns() = default;
    Columns(const Problem &p, const MicroKernels<T> &kernels, int64_t columns) {
      const int64_t vectors = ceilDiv(columns, kLanes<T>);
      last = columns - (vectors - 1) * kLanes<T>;
      blocks = ceilDiv(p.rows, rowsOf(vectors));
      low = p.rows / blocks, highBlocks = p.rows % blocks;
      const MicroKernel<T> *ofHeight = kernels[vectors - 1] - 1;
      lowKernel = ofHeight[low], highKernel = ofHeight[highBlocks ? low + 1 : low];
    }
    int64_t last, low, highBlocks, blocks;
    MicroKernel<T> lowKernel, highKernel;
  };

  void product(T *c, int64_t strideC) {
    int64_t j = 0;
    if constexpr (kMostColumns > kWidth)
      for (; j + kWidth < p_.columns; j += kWidth)
        blocksOf(whole_, x_.b + j, c + j, strideC, j == 0);
    blocksOf(last_, x_.b + j, c + j, strideC, j == 0);
  }

  [[gnu::always_inline]] void blocksOf(const Columns &columns, const T *b, T *c, int64_t strideC,
                                       bool fetches) {
    const T *a = x_.a;
    for (int64_t i = 0; i < columns.blocks; ++i) {
      if (fetches) fetchNext(i);
      const bool isHigh = i < columns.highBlocks;
      const int64_t height = columns.low + isHigh;
      (isHigh ? columns.highKernel : columns.lowKernel)(p_.depth, a, p_.strideA, b, p_.strideB, c, strideC,
                                                        columns.last, 1);
      a += height * (TransposedA ? 1 : p_.strideA), c += height * strideC;
    }
  }

  Context<T> &x_;
  const Problem &p_;
  Columns whole_, last_;
  int64_t nextA_ = 0, nextB_ = 0; // from one product's operands to the next one's
  int64_t elementsOfA_ = 0, elementsOfB_ = 0;
  int64_t partOfA_ = 0, partOfB_ = 0; // which each block fetches of the next operands
  bool fetches_ = false, isFew_ = false;
};

} // namespace
} // namespace tessera::cpu::product
