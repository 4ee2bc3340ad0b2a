// Copies of operands that micro-kernels read without strides.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Vectors.h"
#include <utility>

namespace tessera::cpu::product {
namespace {

/// Copies [rows, columns] with a row stride to rows of `width` elements. Elements past `columns` are left as
/// they are; nothing past the last column is read.
template <class T>
inline void copyRows(const T *from, int64_t stride, int64_t rows, int64_t columns, T *to, int64_t width) {
  constexpr int lanes = kLanes<T>;
  if (columns == 4 * lanes) {
    for (int64_t k = 0; k < rows; ++k, from += stride, to += width)
      for (int v = 0; v < 4; ++v)
        store(to + v * lanes, load(from + v * lanes));
    return;
  }
  const int64_t whole = columns / lanes * lanes;
  for (int64_t k = 0; k < rows; ++k, from += stride, to += width) {
    for (int64_t j = 0; j < whole; j += lanes)
      store(to + j, load(from + j));
    if (whole < columns)
      storeFirst(to + whole, loadFirst<Vector<T>>(from + whole, columns - whole), columns - whole);
  }
}

/// Fetches the row `Ahead` rows after `from`, of those that are left: rows that are pages apart are no stream
/// that the processor would notice.
template <int64_t Ahead, class T>
inline void fetchAhead(const T *from, int64_t stride, int64_t left, int64_t columns) {
  if (left <= Ahead) return;
  for (int64_t j = 0; j < columns; j += 64 / int64_t(sizeof(T)))
    __builtin_prefetch(from + Ahead * stride + j);
}

/// Copies [rows, columns] with a row stride to panels of `Width` columns, which follow each other.
template <int64_t Width, int64_t Ahead, class T>
inline void copyPanels(const T *from, int64_t stride, int64_t rows, int64_t columns, T *to) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t k = 0; k < rows; ++k, from += stride, to += Width) {
    fetchAhead<Ahead>(from, stride, rows - k, columns);
    T *panel = to;
    int64_t j = 0;
    for (; j + Width <= columns; j += Width, panel += rows * Width)
#pragma clang loop unroll(full)
      for (int64_t v = 0; v < Width; v += lanes)
        store(panel + v, load(from + j + v));
    for (; j < columns; j += lanes, panel += lanes) // the panel has whole vectors
      store(panel, loadFirst<Vector<T>>(from + j, columns - j));
  }
}

/// The elements of a block of `Rows` rows by `steps`, and of what vectors store past its end.
template <class T, int64_t Rows> constexpr int64_t blockElements(int64_t steps) {
  return Rows * steps + kLanes<T>;
}
/// Copies [steps, rows] with a stride to blocks of at most `Rows` rows, which follow each other. Blocks have
/// about the same number of rows, the first ones the most.
template <int64_t Rows, int64_t Ahead, class T>
inline void copyBlocks(const T *from, int64_t stride, int64_t steps, int64_t rows, T *to) {
  constexpr int64_t lanes = kLanes<T>, vectors = ceilDiv(Rows, lanes);
  const int64_t blocks = ceilDiv(rows, Rows), low = rows / blocks, high = rows % blocks;
  for (int64_t k = 0; k < steps; ++k, from += stride, to += Rows) {
    fetchAhead<Ahead>(from, stride, steps - k, rows);
    T *block = to;
    // What a vector has past its block is overwritten by the next step, or follows the block.
    for (int64_t i = 0, r = 0; i < blocks; ++i, block += blockElements<T, Rows>(steps)) {
#pragma clang loop unroll(full)
      for (int64_t v = 0; v < vectors; ++v)
        store(block + v * lanes, loadFirst<Vector<T>>(from + r + v * lanes, most(0, rows - r - v * lanes)));
      r += low + (i < high);
    }
  }
}

/// Exchanges the upper halves of every 2 * Step lanes of `a` with the lower ones of `b`.
template <class T, int Step, int... I>
inline void exchange(Vector<T> &a, Vector<T> &b, std::integer_sequence<int, I...>) {
  constexpr int lanes = kLanes<T>;
  const Vector<T> x = a, y = b;
  a = __builtin_shufflevector(x, y, (I & Step ? lanes + I - Step : I)...);
  b = __builtin_shufflevector(x, y, (I & Step ? lanes + I : I + Step)...);
}
/// Exchanges the blocks of `Step` x `Step` elements that are off the diagonal, then those inside them
/// (Eklundh's transposition). Loops over the vectors of a block have to be unrolled, here and where they are
/// loaded and stored: otherwise the block is in memory, not in registers.
template <class T, int Step> inline void exchangeBlocks(Vector<T> *rows) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kLanes<T>; ++i)
    if (!(i & Step)) exchange<T, Step>(rows[i], rows[i + Step], std::make_integer_sequence<int, kLanes<T>>());
}
/// The lower or upper elements of a and b in turn, in every 16 bytes.
template <bool Upper, class V, int... I> inline V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I), part = lanes * 16 / int(sizeof(V)), first = Upper ? part / 2 : 0;
  return __builtin_shufflevector(a, b, (I / part * part + first + I % part / 2 + (I % 2 ? lanes : 0))...);
}
/// Transposes blocks of 4x4 f32, which are in one instruction's reach, in twice as many instructions as
/// vectors: an exchange of single elements takes a table for each.
inline void transposeParts(Vector<float> *rows) {
  constexpr auto lanes = std::make_integer_sequence<int, kLanes<float>>();
  constexpr auto pairs = std::make_integer_sequence<int, kLanes<double>>();
#pragma clang loop unroll(full)
  for (int i = 0; i < kLanes<float>; i += 4) {
    auto inPairs = [](Vector<float> v) { return __builtin_bit_cast(Vector<double>, v); };
    const Vector<double> a = inPairs(interleave<false>(rows[i], rows[i + 1], lanes)),
                         b = inPairs(interleave<true>(rows[i], rows[i + 1], lanes)),
                         c = inPairs(interleave<false>(rows[i + 2], rows[i + 3], lanes)),
                         d = inPairs(interleave<true>(rows[i + 2], rows[i + 3], lanes));
    rows[i] = __builtin_bit_cast(Vector<float>, interleave<false>(a, c, pairs));
    rows[i + 1] = __builtin_bit_cast(Vector<float>, interleave<true>(a, c, pairs));
    rows[i + 2] = __builtin_bit_cast(Vector<float>, interleave<false>(b, d, pairs));
    rows[i + 3] = __builtin_bit_cast(Vector<float>, interleave<true>(b, d, pairs));
  }
}
template <class T> inline void transposeBlock(Vector<T> *rows) {
  if constexpr (kLanes<T> == 16) exchangeBlocks<T, 8>(rows);
  if constexpr (kLanes<T> >= 8) exchangeBlocks<T, 4>(rows);
  if constexpr (__is_same(T, float)) return transposeParts(rows);
  exchangeBlocks<T, 2>(rows);
  exchangeBlocks<T, 1>(rows);
}

/// Adds the lanes of each vector: the upper half to the lower one until one lane is left. The sum of vector i
/// is lane i of the result. Overwrites the vectors.
template <class T, int Step = kLanes<T> / 2> inline Vector<T> sumsOfLanes(Vector<T> *vectors) {
#pragma clang loop unroll(full)
  for (int i = 0; i < Step; ++i) {
    exchange<T, Step>(vectors[i], vectors[i + Step], std::make_integer_sequence<int, kLanes<T>>());
    vectors[i] = vectors[i] + vectors[i + Step];
  }
  if constexpr (Step == 1)
    return vectors[0];
  else
    return sumsOfLanes<T, Step / 2>(vectors);
}

/// Copies the transpose of [rows, columns] with a row stride to `columns` rows of `width` elements. Blocks of
/// one vector each way are transposed in registers.
template <class T>
inline void copyTransposed(const T *from, int64_t stride, int64_t rows, int64_t columns, T *to,
                           int64_t width) {
  constexpr int lanes = kLanes<T>;
  int64_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    int64_t k = 0;
    for (; k + lanes <= columns; k += lanes) {
      Vector<T> block[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i)
        block[i] = load(from + (r + i) * stride + k);
      transposeBlock<T>(block);
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i)
        store(to + (k + i) * width + r, block[i]);
    }
    for (; k < columns; ++k)
      for (int i = 0; i < lanes; ++i)
        to[k * width + r + i] = from[(r + i) * stride + k];
  }
  for (; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      to[k * width + r] = from[r * stride + k];
}

} // namespace
} // namespace tessera::cpu::product
