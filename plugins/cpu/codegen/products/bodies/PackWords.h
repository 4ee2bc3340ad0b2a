// Copies of narrow operands as the words that micro-kernels multiply. Steps of k are filled up with zeros to
// a multiple of `Step` words.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Operands.h"

namespace tessera::cpu::product {
namespace {

template <class Kind, int64_t Step> struct WordPacking {
  using T = typename Kind::T;
  using In = typename Kind::In;

  /// Rows that are fetched ahead.
  static constexpr int64_t kFetchedAhead = 64;

  /// The words of so many elements along k, with those that fill up the last step.
  static constexpr int64_t wordsOf(int64_t steps) { return roundUp(ceilDiv(steps, Kind::kGroup), Step); }

  /// The elements of a vector of words from word `w` on, of `depth` adjacent elements.
  static auto line(const In *from, int64_t w, int64_t depth) {
    return loadFirst<typename Kind::Line>(from + w * Kind::kGroup, depth - w * Kind::kGroup);
  }

  /// Packs `depth` rows of `columns` elements in rows of `width` words, in whole vectors. With `HasStart`,
  /// stores what the sums of each column begin with; there are at most as many columns as are woven at once.
  /// `fetched`: how many rows there are that may be fetched ahead into the second-level cache. Rows that are
  /// pages apart are no stream that the processor would notice.
  template <bool HasStart = false, class Packer>
  static void packRows(Packer &packer, const In *from, int64_t stride, int64_t depth, int64_t columns, T *to,
                       int64_t width, [[maybe_unused]] T *start = nullptr, int64_t fetched = 0) {
    using Line = typename Kind::Line;
    constexpr int64_t woven = Packer::kVectors * kLanes<T>;
    Vector<T> sums[Packer::kVectors] = {};
    auto add = [&](const Vector<T> *words) {
      if constexpr (HasStart)
        for (int v = 0; v < Packer::kVectors; ++v)
          sums[v] = Kind::addColumns(sums[v], words[v]);
    };
    const int64_t end = wordsOf(depth) * Kind::kGroup;
    for (int64_t k = 0; k < end; k += Kind::kGroup, from += Kind::kGroup * stride, to += width) {
      const int64_t count = least(Kind::kGroup, depth - k); // may be negative
      int64_t j = 0;
      Vector<T> words[Packer::kVectors];
      if (count == Kind::kGroup)
        for (; j + woven <= columns; j += woven) {
          Line rows[Kind::kGroup];
          for (int i = 0; i < Kind::kGroup; ++i)
            rows[i] = loadAs<Line>(from + i * stride + j);
          if (k + Kind::kGroup + kFetchedAhead <= fetched)
            for (int i = 0; i < Kind::kGroup; ++i)
              __builtin_prefetch(from + (i + kFetchedAhead) * stride + j, /*write=*/0,
                                 /*second-level cache*/ 2);
          packer.weave(rows, words);
          add(words);
          for (int v = 0; v < Packer::kVectors; ++v)
            store(to + j + v * kLanes<T>, words[v]);
        }
      for (; j < columns; j += woven) {
        Line rows[Kind::kGroup] = {};
        for (int i = 0; i < Kind::kGroup; ++i)
          if (i < count) rows[i] = loadFirst<Line>(from + i * stride + j, columns - j);
        packer.weave(rows, words);
        add(words);
        for (int v = 0; v < Packer::kVectors; ++v)
          if (j + v * kLanes<T> < columns) store(to + j + v * kLanes<T>, words[v]);
      }
    }
    if constexpr (HasStart)
      for (int v = 0; v < Packer::kVectors && v * kLanes<T> < columns; ++v)
        store(start + v * kLanes<T>, -128 * sums[v]);
  }

  /// Packs `depth` rows of `columns` elements in panels of `Width` columns, which follow each other. A line
  /// of a row is in several panels, and is read once. `fetched` is that of packRows.
  template <int64_t Width, class Packer>
  static void packPanels(Packer &packer, const In *from, int64_t stride, int64_t depth, int64_t columns,
                         T *to, int64_t fetched) {
    using Line = typename Kind::Line;
    constexpr int64_t woven = Packer::kVectors * kLanes<T>, line = 64 / int64_t(sizeof(In));
    static_assert(Width % woven == 0);
    const int64_t words = wordsOf(depth), end = words * Kind::kGroup;
    for (int64_t k = 0; k < end; k += Kind::kGroup, from += Kind::kGroup * stride, to += Width) {
      const int64_t count = least(Kind::kGroup, depth - k); // may be negative
      if (k + Kind::kGroup + kFetchedAhead <= fetched)
        for (int i = 0; i < Kind::kGroup; ++i)
          for (int64_t j = 0; j < columns; j += line)
            __builtin_prefetch(from + (i + kFetchedAhead) * stride + j, /*write=*/0,
                               /*second-level cache*/ 2);
      int64_t j = 0;
      if (count >= Kind::kGroup) // without tests in whole panels
        for (T *panel = to; j + Width <= columns; j += Width, panel += words * Width)
#pragma clang loop unroll(full)
          for (int64_t w = 0; w < Width; w += woven) {
            Line rows[Kind::kGroup];
            for (int i = 0; i < Kind::kGroup; ++i)
              rows[i] = loadAs<Line>(from + i * stride + j + w);
            Vector<T> out[Packer::kVectors];
            packer.weave(rows, out);
            for (int v = 0; v < Packer::kVectors; ++v)
              store(panel + w + v * kLanes<T>, out[v]);
          }
      for (; j < columns; j += woven) {
        Line rows[Kind::kGroup] = {};
        for (int i = 0; i < Kind::kGroup; ++i)
          if (i < count) rows[i] = loadFirst<Line>(from + i * stride + j, columns - j);
        Vector<T> out[Packer::kVectors];
        packer.weave(rows, out);
        T *panel = to + j / Width * words * Width + j % Width;
        for (int v = 0; v < Packer::kVectors; ++v)
          if (j + v * kLanes<T> < columns) store(panel + v * kLanes<T>, out[v]);
      }
    }
  }

  /// Packs `columns` rows of `depth` elements, each a column of words. With `HasStart`, stores what the sums
  /// of each column begin with.
  template <bool HasStart = false, class Packer>
  static void packTransposed(Packer &packer, const In *from, int64_t stride, int64_t columns, int64_t depth,
                             T *to, int64_t width, [[maybe_unused]] T *start = nullptr) {
    constexpr int lanes = kLanes<T>;
    const int64_t words = wordsOf(depth);
    for (int64_t j = 0; j < columns; j += lanes) {
      const int64_t count = least(lanes, columns - j);
      [[maybe_unused]] Vector<T> sums = {};
      for (int64_t w = 0; w < words; w += lanes) {
        Vector<T> block[lanes];
#pragma clang loop unroll(full)
        for (int i = 0; i < lanes; ++i)
          block[i] = packer.along(line(from + (j + least(i, count - 1)) * stride, w, depth));
        transposeBlock<T>(block);
#pragma clang loop unroll(full)
        for (int i = 0; i < lanes; ++i) {
          if (w + i < words) store(to + (w + i) * width + j, block[i]);
          if constexpr (HasStart) sums = Kind::addColumns(sums, block[i]); // words past the end are 0
        }
      }
      if constexpr (HasStart) store(start + j, -128 * sums);
    }
  }

  /// Packs `rows` columns of `depth` rows, each a row of words.
  template <class Packer>
  static void packWovenRows(Packer &packer, const In *from, int64_t stride, int64_t rows, int64_t depth,
                            T *to) {
    constexpr int lanes = kLanes<T>, vectors = Packer::kVectors;
    const int64_t words = wordsOf(depth);
    for (int64_t r = 0; r < rows; r += vectors * lanes)
      for (int64_t w = 0; w < words; w += lanes) {
        Vector<T> block[vectors][lanes];
        for (int i = 0; i < lanes; ++i) {
          typename Kind::Line lines[Kind::kGroup] = {};
          Vector<T> woven[vectors];
          for (int64_t g = 0, k = (w + i) * Kind::kGroup; g < Kind::kGroup && k < depth; ++g, ++k)
            lines[g] = loadFirst<typename Kind::Line>(from + k * stride + r, rows - r);
          packer.weave(lines, woven);
          for (int v = 0; v < vectors; ++v)
            block[v][i] = woven[v];
        }
        for (int v = 0; v < vectors && r + v * lanes < rows; ++v) {
          transposeBlock<T>(block[v]);
#pragma clang loop unroll(full)
          for (int i = 0; i < lanes; ++i)
            store(to + (r + v * lanes + i) * words + w, block[v][i]);
        }
      }
  }
};

} // namespace
} // namespace tessera::cpu::product
