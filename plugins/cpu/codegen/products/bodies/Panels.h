// `panels`: the body for products that no narrower body is for. A program owns up to `blockColumns` columns;
// a panel of B is read by all of its rows, in place or after it has been packed.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/Packing.h"

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA, bool TransposedB> class Panels {
  static constexpr int kWidth = kMaxVectors * kLanes<T>; // columns of a register block
  static constexpr int64_t kPanelColumns = 64, kGroupRows = 48;
  static constexpr int64_t kDepth = kPanelBytes / (kPanelColumns * int64_t(sizeof(T)));
  static_assert(kGroupRows * kDepth * int64_t(sizeof(T)) <= kRowsOfABytes);
  /// With fewer rows, packing B takes longer than it saves.
  static constexpr int64_t kRowsWorthPacking = 64;
  /// Steps of k at a time where the rows of B that follow are fetched meanwhile.
  static constexpr int64_t kFetchedDepth = 128;
  static constexpr int64_t kPageBytes = 4096;
  /// B is read in place if this many bytes hold all of it.
  static constexpr int64_t kNearBytes = int64_t{512} << 10;

public:
  Panels(Context<T> &x, const MicroKernels<T> &kernels) : x_(x), p_(x.p), kernels_(kernels) {}

  void run(const Run &run) {
    x_.forColumnBlocks(run, [&](auto... block) { rows(block...); });
  }

private:
  /// Computes rows [r0, r1) of columns [c0, c1) into `c` (Context::forColumnBlocks).
  void rows(int64_t r0, int64_t r1, int64_t c0, int64_t c1, T *c, int64_t strideC) {
    const bool epilogue = !x_.c;
    const bool isNear = p_.columns * p_.depth * int64_t(sizeof(T)) <= kNearBytes;
    const bool packs = TransposedB || (r1 - r0 >= kRowsWorthPacking && !isNear);
    const bool fetches = !packs && !isNear;
    // Blocks of k of about the same depth.
    const int64_t parts = most(1, ceilDiv(p_.depth, fetches ? kFetchedDepth : kDepth));
    const int64_t depth = (ceilDiv(p_.depth, parts) + 3) / 4 * 4;
    for (int64_t n = c0; n < c1; n += kPanelColumns) {
      const int64_t columns = least(kPanelColumns, c1 - n);
      int64_t k = 0;
      do {
        const int64_t steps = least(depth, p_.depth - k);
        const bool isLast = k + steps >= p_.depth;
        if (packs) pack(k, steps, n, columns);
        if (fetches) plan(k + steps, depth, n, columns, r1 - r0);
        const int64_t group = epilogue ? p_.blockRows : r1 - r0;
        for (int64_t r = r0; r < r1; r += group) {
          const int64_t end = least(r1, r + group);
          for (int64_t g = r; g < end; g += kGroupRows)
            panel(g, least(end, g + kGroupRows), k, steps, n, columns, packs,
                  c + (g - r0) * strideC + (epilogue ? n - c0 : n), strideC);
          if (epilogue && isLast && n + columns == c1)
            x_.finish(r, c0, 1, x_.results + (r - r0) * p_.blockColumns);
        }
        k += steps;
      } while (k < p_.depth);
    }
  }

  /// The panel is made of strips of one register block's columns.
  void pack(int64_t k, int64_t steps, int64_t n, int64_t columns) {
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = least(kWidth, columns - j);
      T *to = x_.panel + j * steps;
      if constexpr (TransposedB)
        copyTransposed(x_.b + (n + j) * p_.strideB + k, p_.strideB, width, steps, to, kWidth);
      else
        copyRows(x_.b + k * p_.strideB + n + j, p_.strideB, steps, width, to, kWidth);
    }
  }

  /// Rows [r0, r1) of one panel and one block of k; `c` is the element [r0, n].
  void panel(int64_t r0, int64_t r1, int64_t k, int64_t steps, int64_t n, int64_t columns, bool packs, T *c,
             int64_t strideC) {
    const T *a = TransposedA ? x_.rowsOfA : x_.a + r0 * p_.strideA + k;
    const int64_t strideA = TransposedA ? r1 - r0 : p_.strideA;
    if (TransposedA) copyRows(x_.a + k * p_.strideA + r0, p_.strideA, steps, r1 - r0, x_.rowsOfA, r1 - r0);
    for (int64_t j = 0; j < columns; j += kWidth) {
      const T *b = packs ? x_.panel + j * steps : x_.b + k * p_.strideB + n + j;
      const int64_t strideB = packs ? kWidth : p_.strideB;
      const int64_t width = least(kWidth, columns - j), vectors = ceilDiv(width, kLanes<T>);
      const int64_t last = width - (vectors - 1) * kLanes<T>;
      // Blocks of about the same number of rows. Rows that are pages apart share a set of the first-level
      // cache, which has ways for at least eight lines.
      const bool shareSet = !TransposedA && strideA * int64_t(sizeof(T)) % kPageBytes == 0;
      int64_t blocks = ceilDiv(r1 - r0, shareSet ? least(rowsOf(vectors), 8) : rowsOf(vectors));
      for (int64_t r = r0; r < r1; --blocks) {
        const int64_t height = ceilDiv(r1 - r, blocks);
        kernels_[vectors - 1][height - 1](steps, TransposedA ? a + (r - r0) : a + (r - r0) * strideA, strideA,
                                          b, strideB, c + (r - r0) * strideC + j, strideC, last, k == 0);
        fetch();
        r += height;
      }
    }
  }

  /// What the micro-kernels of a block fetch: the rows of B from `k` on, or the first rows of the next
  /// columns.
  void plan(int64_t k, int64_t depth, int64_t n, int64_t columns, int64_t rows) {
    if (k >= p_.depth) k = 0, n += columns;
    next_ = {x_.b + k * p_.strideB + n, least(depth, p_.depth - k), least(kPanelColumns, p_.columns - n)};
    if (n >= p_.columns) next_.rows = 0;
    fetchedRows_ = ceilDiv(next_.rows, ceilDiv(rows, rowsOf(kMaxVectors)) * ceilDiv(columns, kWidth));
  }

  /// Fetches a part of what the next block reads into the second-level cache.
  void fetch() {
    const int64_t rows = least(fetchedRows_, next_.rows);
    for (int64_t i = 0; i < rows; ++i, next_.from += p_.strideB)
      for (int64_t j = 0; j < next_.columns; j += 64 / int64_t(sizeof(T)))
        __builtin_prefetch(next_.from + j, /*write=*/0, /*second-level cache*/ 2);
    next_.rows -= rows;
  }

  struct Rows {
    const T *from = nullptr;
    int64_t rows = 0, columns = 0;
  };
  Rows next_;               // of B, not yet fetched
  int64_t fetchedRows_ = 0; // by each micro-kernel
  Context<T> &x_;
  const Problem &p_;
  const MicroKernels<T> &kernels_;
};

} // namespace
} // namespace tessera::cpu::product
