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
  static constexpr int64_t kPanelElements = (int64_t{256} << 10) / int64_t(sizeof(T));
  /// With 16 registers, a block reads few columns of B and few rows of A. Operands are packed in the order in
  /// which blocks read them: otherwise their lines share few sets of the first-level cache.
  static constexpr bool kPacksBlocks = kMaxVectors == 2;
  static constexpr int64_t kBlockRows = 6;
  /// Rows of a transposed A are copied once for as many columns.
  static constexpr int64_t kMostColumns = 4 * kPanelColumns;
  static_assert(kPanelElements * int64_t(sizeof(T)) <= kPanelBytes &&
                kGroupRows * (kPanelElements / kPanelColumns) * int64_t(sizeof(T)) <= kRowsOfABytes);
  /// The steps of k for which kGroupRows rows of A, packed in blocks, fit their memory.
  static constexpr int64_t kPackedDepth = kPanelElements / kPanelColumns - 4 * kLanes<T>;
  static_assert(!kPacksBlocks ||
                kGroupRows / kBlockRows * blockElements<T, kBlockRows>(kPackedDepth) * int64_t(sizeof(T)) <=
                    kRowsOfABytes);
  /// The most steps of k of a panel.
  static constexpr int64_t kMostDepth = TransposedA && kPacksBlocks ? kPackedDepth : kPanelElements;
  static_assert(kGroupRows % kBlockRows == 0 && kBlockRows == rowsOf(kMaxVectors));
  /// With fewer rows, packing B takes longer than it saves.
  static constexpr int64_t kRowsWorthPacking = kPacksBlocks ? 17 : 64;
  /// The same of a B whose rows are at most so many bytes apart, so that they share no sets of the cache, and
  /// that is the only one: those of a batch are not in a near cache, and packing fetches ahead.
  static constexpr int64_t kRowsWorthPackingNarrow = kPacksBlocks ? 49 : 64, kNarrowBytes = 256;
  /// Steps of k at a time where the rows of B that follow are fetched meanwhile.
  static constexpr int64_t kFetchedDepth = 128;
  static constexpr int64_t kPageBytes = 4096;
  /// A B of at most so many bytes is read in place.
  static constexpr int64_t kInPlaceBytes = int64_t{kPacksBlocks ? 32 : 512} << 10;
  /// The rows of a larger B are fetched ahead if it is read in place all the same.
  static constexpr int64_t kNearBytes = int64_t{512} << 10;
  /// Rows of an operand that are fetched ahead while it is packed.
  static constexpr int64_t kFetchedAhead = 16;

public:
  Panels(Context<T> &x, const MicroKernels<T> &kernels) : x_(x), p_(x.p), kernels_(kernels) {}

  void run(const Run &run) {
    const int64_t rows = least(p_.rows, run.rowBlocks * p_.blockRows);
    const int64_t bytesOfB = p_.columns * p_.depth * int64_t(sizeof(T));
    const bool isNarrow = p_.batchAxes == 0 && p_.strideB * int64_t(sizeof(T)) <= kNarrowBytes;
    packs_ = TransposedB ||
             (rows >= (isNarrow ? kRowsWorthPackingNarrow : kRowsWorthPacking) && bytesOfB > kInPlaceBytes);
    fetches_ = !packs_ && bytesOfB > kNearBytes;
    width_ = kPanelColumns;
    if (TransposedA && !fetches_) {
      // Blocks of k that are less deep leave room for more columns. Their sums would wait for an epilogue.
      const int64_t columns = x_.c ? run.columnBlocks * p_.blockColumns : kPanelElements / most(1, p_.depth);
      width_ = most(1, least(columns, kMostColumns) / kPanelColumns) * kPanelColumns;
    }
    // Blocks of k of about the same depth.
    const int64_t mostDepth = least(kPanelElements / width_, kMostDepth);
    const int64_t parts = most(1, ceilDiv(p_.depth, fetches_ ? kFetchedDepth : mostDepth));
    depth_ = (ceilDiv(p_.depth, parts) + 3) / 4 * 4;
    packedColumn_ = -1;
    x_.forStrips(run, width_, kWidth, parts > 1, [&](const Strip &results) { strip(results); });
  }

private:
  using Strip = typename Context<T>::Strip;

  void strip(const Strip &results) {
    for (int64_t n = results.c0; n < results.c1; n += width_) {
      const int64_t columns = least(width_, results.c1 - n);
      int64_t k = 0;
      do {
        const int64_t steps = least(depth_, p_.depth - k);
        if (packs_) pack(k, steps, n, columns);
        if (fetches_) plan(k + steps, depth_, n, columns, results.r1 - results.r0);
        for (int64_t g = results.r0; g < results.r1; g += kGroupRows)
          panel(results, g, least(results.r1, g + kGroupRows), k, steps, n, columns);
        k += steps;
      } while (k < p_.depth);
    }
  }

  /// The panel is made of register blocks' columns.
  void pack(int64_t k, int64_t steps, int64_t n, int64_t columns) {
    if (n == packedColumn_ && k == packedStep_) return; // for the rows before
    packedColumn_ = n, packedStep_ = k;
    if constexpr (kPacksBlocks && !TransposedB)
      return copyPanels<kWidth, kFetchedAhead>(x_.b + k * p_.strideB + n, p_.strideB, steps, columns,
                                               x_.panel);
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = least(kWidth, columns - j);
      T *to = x_.panel + j * steps;
      if constexpr (TransposedB)
        copyTransposed(x_.b + (n + j) * p_.strideB + k, p_.strideB, width, steps, to, kWidth);
      else
        copyRows(x_.b + k * p_.strideB + n + j, p_.strideB, steps, width, to, kWidth);
    }
  }

  /// Rows [r0, r1) of one panel and one block of k.
  void panel(const Strip &results, int64_t r0, int64_t r1, int64_t k, int64_t steps, int64_t n,
             int64_t columns) {
    constexpr bool packsBlocks = TransposedA && kPacksBlocks;
    const T *a = TransposedA ? x_.rowsOfA : x_.a + r0 * p_.strideA + k;
    const int64_t strideA = packsBlocks ? kBlockRows : TransposedA ? r1 - r0 : p_.strideA;
    if (packsBlocks)
      copyBlocks<kBlockRows, kFetchedAhead>(x_.a + k * p_.strideA + r0, p_.strideA, steps, r1 - r0,
                                            x_.rowsOfA);
    else if (TransposedA)
      copyRows(x_.a + k * p_.strideA + r0, p_.strideA, steps, r1 - r0, x_.rowsOfA, r1 - r0);
    for (int64_t j = 0; j < columns; j += kWidth) {
      const T *b = packs_ ? x_.panel + j * steps : x_.b + k * p_.strideB + n + j;
      const int64_t strideB = packs_ ? kWidth : p_.strideB;
      const int64_t width = least(kWidth, columns - j), vectors = ceilDiv(width, kLanes<T>);
      const int64_t last = width - (vectors - 1) * kLanes<T>;
      T *c = results.at(r0, n + j);
      // Blocks of about the same number of rows. Rows that are pages apart share a set of the first-level
      // cache, which has ways for at least eight lines.
      const bool shareSet = !TransposedA && strideA * int64_t(sizeof(T)) % kPageBytes == 0;
      int64_t blocks = ceilDiv(r1 - r0, packsBlocks ? kBlockRows
                                        : shareSet  ? least(rowsOf(vectors), 8)
                                                    : rowsOf(vectors));
      const T *block = a;
      for (int64_t r = r0; r < r1; --blocks) {
        const int64_t height = ceilDiv(r1 - r, blocks);
        kernels_[vectors - 1][height - 1](steps, block, strideA, b, strideB, c + (r - r0) * results.stride,
                                          results.stride, last, k == 0);
        fetch();
        r += height;
        block += packsBlocks ? blockElements<T, kBlockRows>(steps) : TransposedA ? height : height * strideA;
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
  bool packs_, fetches_;
  int64_t width_, depth_;             // of a panel
  int64_t packedColumn_, packedStep_; // the first ones of the panel in scratch
  Rows next_;                         // of B, not yet fetched
  int64_t fetchedRows_ = 0;           // by each micro-kernel
  Context<T> &x_;
  const Problem &p_;
  const MicroKernels<T> &kernels_;
};

} // namespace
} // namespace tessera::cpu::product
