// `small`: batches of products of one block each. Everything that depends on the extents alone is decided
// once for all products of the call. The order is that of panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA> class Small {
  static constexpr int kWidth = kMaxVectors * kLanes<T>;
  /// B, if several blocks of rows are multiplied, stays in the first-level cache.
  static constexpr int64_t kNearBytes = int64_t{32} << 10;
  /// Fetching more than this takes longer than it saves.
  static constexpr int64_t kFetchedBytes = 2048;
  /// Bytes that are fetched in the time of a multiply-add of vectors.
  static constexpr int64_t kBytesOfStep = 4;
  static constexpr int64_t kFarBytes = int64_t{512} << 10;

public:
  static bool takes(const Problem &p) {
    return canCompute(p) && (isOneBlock(p) || p.columns * p.depth * int64_t(sizeof(T)) <= kNearBytes);
  }
  /// In registers: B is used once.
  static bool isOneBlock(const Problem &p) {
    return p.rows <= rowsOf(most(1, ceilDiv(p.columns, kLanes<T>)));
  }
  static bool canCompute(const Problem &p) {
    return p.rows <= p.blockRows && p.columns <= p.blockColumns && p.columns <= kWidth;
  }

  Small(Context<T> &x, const MicroKernels<T> &kernels) : x_(x), p_(x.p) {
    vectors_ = ceilDiv(p_.columns, kLanes<T>);
    last_ = p_.columns - (vectors_ - 1) * kLanes<T>;
    // At most two heights, which differ by one row.
    const int64_t blocks = ceilDiv(p_.rows, rowsOf(vectors_));
    low_ = p_.rows / blocks, high_ = low_ + 1, highBlocks_ = p_.rows % blocks, blocks_ = blocks;
    const MicroKernel<T> *ofHeight = kernels[vectors_ - 1] - 1;
    if (p_.batchAxes > 0) {
      nextA_ = p_.batchA[p_.batchAxes - 1], nextB_ = p_.batchB[p_.batchAxes - 1];
      // An operand that is repeated is in the cache.
      elementsOfA_ = nextA_ ? (TransposedA ? p_.depth : p_.rows) * p_.strideA : 0;
      elementsOfB_ = nextB_ ? p_.depth * p_.strideB : 0;
      // In parts before each block, of operands that no near cache holds, while each line is multiplied often
      // enough to hide that.
      const int64_t bytes = (elementsOfA_ + elementsOfB_) * int64_t(sizeof(T));
      const bool isFar = bytes * p_.batchExtent[p_.batchAxes - 1] > kFarBytes;
      fetches_ = bytes <= kFetchedBytes || (isFar && bytes <= kBytesOfStep * p_.rows * vectors_ * p_.depth);
      partOfA_ = ceilDiv(elementsOfA_, blocks), partOfB_ = ceilDiv(elementsOfB_, blocks);
    }
    lowKernel_ = ofHeight[low_], highKernel_ = ofHeight[highBlocks_ ? high_ : low_];
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
    fetch(x_.a + nextA_ + block * partOfA_, partOfA_);
    fetch(x_.b + nextB_ + block * partOfB_, partOfB_);
  }
  static void fetch(const T *from, int64_t count) {
    for (int64_t i = 0; i < count; i += 64 / int64_t(sizeof(T)))
      __builtin_prefetch(from + i);
  }

  void product(T *c, int64_t strideC) {
    const T *a = x_.a;
    for (int64_t i = 0; i < blocks_; ++i) {
      fetchNext(i);
      const int64_t height = i < highBlocks_ ? high_ : low_;
      (i < highBlocks_ ? highKernel_ : lowKernel_)(p_.depth, a, p_.strideA, x_.b, p_.strideB, c, strideC,
                                                   last_, 1);
      a += height * (TransposedA ? 1 : p_.strideA), c += height * strideC;
    }
  }

  Context<T> &x_;
  const Problem &p_;
  int64_t vectors_, last_, low_, high_, highBlocks_, blocks_;
  int64_t nextA_ = 0, nextB_ = 0; // from one product's operands to the next one's
  int64_t elementsOfA_ = 0, elementsOfB_ = 0;
  int64_t partOfA_ = 0, partOfB_ = 0; // which each block fetches of the next operands
  bool fetches_ = false;
  MicroKernel<T> lowKernel_, highKernel_;
};

} // namespace
} // namespace tessera::cpu::product
