// `small`: batches of products of one block each. Everything that depends on the extents alone is decided
// once for all products of the call. The order is that of panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA> class Small {
  static constexpr int kWidth = kMaxVectors * kLanes<T>;
  /// B stays in the first-level cache while all rows of A are multiplied.
  static constexpr int64_t kNearBytes = int64_t{32} << 10;

public:
  static bool takes(const Problem &p) {
    return p.rows <= p.blockRows && p.columns <= p.blockColumns && p.columns <= kWidth &&
           p.columns * p.depth * int64_t(sizeof(T)) <= kNearBytes;
  }

  Small(Context<T> &x, const MicroKernels<T> &kernels) : x_(x), p_(x.p) {
    vectors_ = ceilDiv(p_.columns, kLanes<T>);
    last_ = p_.columns - (vectors_ - 1) * kLanes<T>;
    // At most two heights, which differ by one row.
    const int64_t blocks = ceilDiv(p_.rows, rowsOf(vectors_));
    low_ = p_.rows / blocks, high_ = low_ + 1, highBlocks_ = p_.rows % blocks, blocks_ = blocks;
    const MicroKernel<T> *ofHeight = kernels[vectors_ - 1] - 1;
    lowKernel_ = ofHeight[low_], highKernel_ = ofHeight[highBlocks_ ? high_ : low_];
  }

  void run(int64_t begin, int64_t end) {
    x_.enter(begin);
    for (int64_t i = begin; i < end; ++i) {
      product(x_.c ? x_.c : x_.results, x_.c ? p_.strideC : p_.blockColumns);
      if (!x_.c) x_.finish(0, 0, 1, x_.results);
      x_.next();
    }
  }

private:
  void product(T *c, int64_t strideC) {
    const T *a = x_.a;
    for (int64_t i = 0; i < blocks_; ++i) {
      const int64_t height = i < highBlocks_ ? high_ : low_;
      (i < highBlocks_ ? highKernel_ : lowKernel_)(p_.depth, a, p_.strideA, x_.b, p_.strideB, c, strideC,
                                                   last_, 1);
      a += height * (TransposedA ? 1 : p_.strideA), c += height * strideC;
    }
  }

  Context<T> &x_;
  const Problem &p_;
  int64_t vectors_, last_, low_, high_, highBlocks_, blocks_;
  MicroKernel<T> lowKernel_, highKernel_;
};

} // namespace
} // namespace tessera::cpu::product
