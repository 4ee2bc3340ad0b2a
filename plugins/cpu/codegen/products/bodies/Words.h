// `words`: products of narrow elements. Both operands are packed, a panel of B for all rows of the call and
// rows of A for each panel, because packing forms the words that micro-kernels multiply. Blocks are what
// calls them:
//
//   kStep          words of k that are multiplied at a time: operands are packed in as many, filled up with 0
//   kMostDepth     words of a panel
//   kRowsOfA       a transposed A is packed as the other is, instead of in rows along M
//   multiply(...)  C += A * B, or C = A * B, of packed operands
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/PackWords.h"
#include "plugins/cpu/codegen/products/bodies/Pairs.h"

namespace tessera::cpu::product {
namespace {

/// Blocks of rows and vectors in registers.
template <class T, bool TransposedA> class RegisterBlocks {
public:
  static constexpr int64_t kStep = 1, kMostDepth = INT64_MAX;
  static constexpr bool kRowsOfA = !TransposedA;
  explicit RegisterBlocks(const MicroKernels<T> &kernels) : kernels_(kernels) {}

  /// `fresh` is that of micro-kernels.
  void multiply(int64_t words, int64_t rows, int64_t columns, const T *a, int64_t strideA, const T *b,
                int64_t strideB, T *c, int64_t strideC, int64_t fresh) {
    const int64_t vectors = ceilDiv(columns, kLanes<T>), last = columns - (vectors - 1) * kLanes<T>;
    // Blocks of about the same number of rows.
    int64_t blocks = ceilDiv(rows, rowsOf(vectors));
    for (int64_t r = 0; r < rows; --blocks) {
      const int64_t height = ceilDiv(rows - r, blocks);
      kernels_[vectors - 1][height - 1](words, a + r * (TransposedA ? 1 : strideA), strideA, b, strideB,
                                        c + r * strideC, strideC, last, fresh);
      r += height;
    }
  }

private:
  const MicroKernels<T> &kernels_;
};

template <class Kind, bool TransposedA, bool TransposedB, class Blocks>
class WordPanels : WordPacking<Kind, Blocks::kStep> {
  using Packing = WordPacking<Kind, Blocks::kStep>;
  using Packing::wordsOf, Packing::line, Packing::packRows, Packing::packTransposed, Packing::packWovenRows;
  using typename Packing::T, typename Packing::In;
  static constexpr int kWidth = kMaxVectors * kLanes<T>; // columns of a register block
  static constexpr int64_t kPanelColumns = 64, kGroupRows = 48;
  static constexpr int64_t kDepth = least(Blocks::kMostDepth, 1024); // words of a panel's columns
  /// Half of a second-level cache.
  static constexpr int64_t kPanelWords = (int64_t{kVectorBytes == 64 ? 512 : 256} << 10) / int64_t(sizeof(T));
  static_assert(kPanelWords * int64_t(sizeof(T)) <= kPanelBytes && kDepth * kPanelColumns <= kPanelWords);
  /// B is fetched ahead if no near cache holds this many bytes.
  static constexpr int64_t kFarBytes = int64_t{512} << 10;
  static constexpr int64_t kFarDepth = 256;                  // words of a panel of such a B of few rows
  static constexpr int64_t kMostColumns = 8 * kPanelColumns; // of a panel that is less deep
  static_assert(kGroupRows * kDepth * int64_t(sizeof(T)) <= kRowsOfABytes);
  static constexpr bool kChecks = requires(typename Kind::Left a) { Kind::areNormal(a, a); };
  static constexpr bool kHasStart = requires(Vector<T> v) { Kind::addColumns(v, v); };

public:
  WordPanels(Context<T, In> &x, Blocks blocks) : x_(x), p_(x.p), blocks_(blocks) {}

  void run(const Run &run) {
    left_ = {}, right_ = {};
    // Blocks of k of about the same depth.
    const int64_t words = ceilDiv(p_.depth, Kind::kGroup), parts = most(1, ceilDiv(words, kDepth));
    int64_t depth = roundUp(ceilDiv(words, parts), most(4, Blocks::kStep));
    fetches_ = p_.columns * p_.depth * int64_t(sizeof(In)) > kFarBytes;
    // Of few rows, reading B takes most of the time: longer parts of its rows, which are pages apart.
    if (kMaxVectors == 2 && fetches_ && p_.rows <= kGroupRows) depth = least(depth, kFarDepth);
    depth_ = depth * Kind::kGroup;
    // Rows of A are packed once for as many columns as a panel holds.
    width_ = least(kMostColumns, kPanelWords / kPanelColumns / most(1, depth) * kPanelColumns);
    packedColumn_ = -1;
    x_.forStrips(run, width_, kWidth, depth < words, [&](const Strip &results) { strip(results); });
  }

private:
  using Strip = typename Context<T, In>::Strip;

  /// k is in elements, steps and strides in words.
  void strip(const Strip &results) {
    for (int64_t n = results.c0; n < results.c1; n += width_) {
      const int64_t columns = least(width_, results.c1 - n);
      int64_t k = 0;
      do {
        const int64_t steps = least(depth_, p_.depth - k);
        packB(k, steps, n, columns);
        for (int64_t g = results.r0; g < results.r1; g += kGroupRows)
          panel(results, g, least(results.r1, g + kGroupRows), k, steps, n, columns);
        k += steps;
      } while (k < p_.depth);
    }
  }

  void packB(int64_t k, int64_t steps, int64_t n, int64_t columns) {
    if (n == packedColumn_ && k == packedStep_) return; // for the rows before
    packedColumn_ = n, packedStep_ = k;
    auto packer = right_;
    const int64_t words = wordsOf(steps);
    if constexpr (kMaxVectors == 2 && !TransposedB) {
      Packing::template packPanels<kWidth>(packer, x_.b + k * p_.strideB + n, p_.strideB, steps, columns,
                                           x_.panel, fetches_ ? p_.depth - k : 0);
      right_ = packer;
      return;
    }
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = least(kWidth, columns - j);
      T *to = x_.panel + j * words;
      static_assert(!kHasStart || decltype(packer)::kVectors * kLanes<T> == kWidth);
      if constexpr (TransposedB)
        Packing::template packTransposed<kHasStart>(packer, x_.b + (n + j) * p_.strideB + k, p_.strideB,
                                                    width, steps, to, kWidth, start_ + j);
      else
        Packing::template packRows<kHasStart>(packer, x_.b + k * p_.strideB + n + j, p_.strideB, steps, width,
                                              to, kWidth, start_ + j, fetches_ ? p_.depth - k : 0);
    }
    right_ = packer;
  }

  void packA(int64_t r0, int64_t rows, int64_t k, int64_t steps) {
    auto packer = left_;
    const int64_t words = wordsOf(steps);
    if constexpr (TransposedA && Blocks::kRowsOfA) {
      packWovenRows(packer, x_.a + k * p_.strideA + r0, p_.strideA, rows, steps, x_.rowsOfA);
    } else if constexpr (TransposedA) {
      packRows(packer, x_.a + k * p_.strideA + r0, p_.strideA, steps, rows, x_.rowsOfA, pitch(rows));
    } else {
      // Rows without gaps are one line: many stores of short rows, which overlap, would wait for each other.
      // The last vector of a row may pass its end: the next row is stored after it.
      const bool isOneLine = p_.strideA == steps && steps % (Kind::kGroup * Blocks::kStep) == 0;
      const int64_t lines = isOneLine ? 1 : rows, length = isOneLine ? rows * steps : steps;
      for (int64_t r = 0; r < lines; ++r) {
        const In *from = x_.a + (r0 + r) * p_.strideA + k;
        for (int64_t w = 0; w * Kind::kGroup < length; w += kLanes<T>)
          store(x_.rowsOfA + r * words + w, packer.along(line(from, w, length)));
      }
    }
    left_ = packer;
  }

  /// Words from one step of k to the next of a transposed A: whole vectors are stored.
  static constexpr int64_t pitch(int64_t rows) { return ceilDiv(rows, kLanes<T>) * kLanes<T>; }

  /// Rows [r0, r1) of one panel and one block of k.
  void panel(const Strip &results, int64_t r0, int64_t r1, int64_t k, int64_t steps, int64_t n,
             int64_t columns) {
    packA(r0, r1 - r0, k, steps);
    const int64_t words = wordsOf(steps), strideA = Blocks::kRowsOfA ? words : pitch(r1 - r0);
    bool careful = false;
    if constexpr (kChecks) careful = !Kind::areNormal(left_, right_);
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = least(kWidth, columns - j);
      T *c = results.at(r0, n + j);
      const int64_t strideC = results.stride;
      if (kHasStart && k > 0) addStart(r1 - r0, j, width, c, strideC);
      const int64_t fresh = k > 0 ? 0 : kHasStart ? reinterpret_cast<int64_t>(start_ + j) : 1;
      if constexpr (kChecks)
        if (careful) {
          multiplyPairs<TransposedA>(steps, r1 - r0, x_.rowsOfA, strideA, x_.panel + j * words, kWidth, c,
                                     strideC, width, k == 0);
          continue;
        }
      blocks_.multiply(words, r1 - r0, width, x_.rowsOfA, strideA, x_.panel + j * words, kWidth, c, strideC,
                       fresh);
    }
  }

  void addStart(int64_t rows, int64_t j, int64_t width, T *c, int64_t strideC) {
    for (int64_t r = 0; r < rows; ++r, c += strideC)
      for (int64_t i = 0; i < width; ++i)
        c[i] = T(uint32_t(c[i]) + uint32_t(start_[j + i]));
  }

  Context<T, In> &x_;
  const Problem &p_;
  Blocks blocks_;
  int64_t width_, depth_; // of a panel, columns and elements of k
  bool fetches_;
  int64_t packedColumn_, packedStep_; // the first ones of the panel in scratch
  typename Kind::Left left_;          // what the packers have seen
  typename Kind::Right right_;
  T start_[kHasStart ? kMostColumns : 1]; // sums begin with it; packing B fills it in
};

} // namespace
} // namespace tessera::cpu::product
