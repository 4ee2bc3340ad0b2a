// C = A * B of rows of a tile of bf16 by vdpbf16ps, which multiplies pairs. Lanes run along the columns of B,
// which is where it is: its columns or its rows are adjacent, or neither. It is packed 64 columns at a time,
// once for all rows. A is packed first. Each element is one chain of fused multiply-adds over k.
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/PackWords.h"
#include "plugins/cpu/codegen/products/bodies/Pairs.h"

namespace tessera::cpu::product {
namespace {

using Kind = Bf16Dots;
using T = Kind::T;
using In = Kind::In;
using Packing = WordPacking<Kind, 1>;
TESSERA_KERNELS(kKernels, "bf16.dot.n")

/// What is packed at a time: rows of A, words of k, columns of B. Both operands stay in the first-level
/// cache.
constexpr int64_t kMostRows = 64, kWords = 64, kWidth = kMaxVectors * kLanes<T>;
constexpr int kSecondLevel = 2;          // locality of a prefetch into the second-level cache
constexpr int64_t kLine = 2 * kLanes<T>; // elements of a vector of words

/// An operand with any strides, in elements.
template <class E> struct Strided {
  const E *data;
  int64_t rowStride, columnStride;
};

/// The first `count` adjacent elements of a vector, at most all of them; the others are 0. Those that are f32
/// have been rounded to bf16.
inline Kind::Line lineOf(const In *from, int64_t count) { return loadFirst<Kind::Line>(from, count); }
template <int... I>
inline Kind::Line upperHalves(Vector<T> x, Vector<T> y, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(__builtin_bit_cast(Kind::Line, x), __builtin_bit_cast(Kind::Line, y),
                                 (2 * I + 1)...);
}
inline Kind::Line lineOf(const T *from, int64_t count) {
  constexpr auto all = std::make_integer_sequence<int, kLine>();
  if (count >= kLine) return upperHalves(load(from), load(from + kLanes<T>), all);
  const bool isLong = count > kLanes<T>;
  const auto second = isLong ? loadFirst<Vector<T>>(from + kLanes<T>, count - kLanes<T>) : Vector<T>{};
  return upperHalves(loadFirst<Vector<T>>(from, count), second, all);
}
inline In narrow(In x) { return x; }
inline In narrow(T x) { return In(__builtin_bit_cast(uint32_t, x) >> 16); }
/// The same of elements that are apart.
template <class E> inline Kind::Line lineOf(const E *from, int64_t stride, int64_t count) {
  if (stride == 1) return lineOf(from, count);
  Kind::Line line = {};
  for (int64_t i = 0; i < least(count, kLine); ++i)
    line[i] = narrow(from[i * stride]);
  return line;
}

/// Packs [rows, steps] as rows of words. The last vector of a row may pass its end: the next row is stored
/// after it.
template <class E> Kind::Left packLeft(Kind::Left packer, Strided<E> a, int64_t rows, int64_t steps, T *to) {
  const int64_t words = ceilDiv(steps, 2);
  for (int64_t r = 0; r < rows; ++r, a.data += a.rowStride, to += words)
    for (int64_t k = 0; k < steps; k += kLine)
      store(to + k / 2, packer.along(lineOf(a.data + k * a.columnStride, a.columnStride, steps - k)));
  return packer;
}

/// Packs [steps, columns] as rows of kWidth words. Fetches what the next product packs.
Kind::Right packRight(Kind::Right packer, Strided<In> b, int64_t steps, int64_t columns, T *to) {
  if (b.rowStride == 1) {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < steps; k += kLine)
        __builtin_prefetch(b.data + (columns + j) * b.columnStride + k, 0, kSecondLevel);
    Packing::packTransposed(packer, b.data, b.columnStride, columns, steps, to, kWidth);
  } else if (b.columnStride == 1 && columns == kWidth && steps % 2 == 0) {
    for (const In *from = b.data, *end = from + steps * b.rowStride; from < end; from += 2 * b.rowStride)
#pragma clang loop unroll(full)
      for (int64_t j = 0; j < kWidth; j += kLine, to += kLine) {
        Kind::Line rows[2];
        Vector<T> words[2];
        for (int i = 0; i < 2; ++i) {
          rows[i] = loadAs<Kind::Line>(from + i * b.rowStride + j);
          __builtin_prefetch(from + (steps + i) * b.rowStride + j, 0, kSecondLevel);
        }
        packer.weave(rows, words);
        store(to, words[0]), store(to + kLanes<T>, words[1]);
      }
  } else if (b.columnStride == 1) {
    Packing::packRows(packer, b.data, b.rowStride, steps, columns, to, kWidth);
  } else {
    for (int64_t k = 0; k < steps; k += 2, to += kWidth)
      for (int64_t j = 0; j < columns; j += kLine) {
        const In *from = b.data + k * b.rowStride + j * b.columnStride;
        Kind::Line rows[2] = {lineOf(from, b.columnStride, columns - j), {}};
        if (k + 1 < steps) rows[1] = lineOf(from + b.rowStride, b.columnStride, columns - j);
        Vector<T> words[2];
        packer.weave(rows, words);
        store(to + j, words[0]), store(to + j + kLanes<T>, words[1]);
      }
  }
  return packer;
}

template <class E>
void multiply(Strided<E> a, Strided<In> b, T *c, int64_t strideC, int64_t rows, int64_t columns,
              int64_t depth) {
  T left[kMostRows * kWords + kLanes<T>], right[kWords * kWidth];
  Kind::Right seenOfB;
  for (int64_t r = 0; r < rows; r += kMostRows) {
    const int64_t count = least(kMostRows, rows - r);
    Kind::Left seenOfA;
    int64_t k = 0;
    do {
      const int64_t steps = least(2 * kWords, depth - k), words = ceilDiv(steps, 2);
      seenOfA = packLeft(
          seenOfA, Strided<E>{a.data + r * a.rowStride + k * a.columnStride, a.rowStride, a.columnStride},
          count, steps, left);
      for (int64_t j = 0; j < columns; j += kWidth) {
        const int64_t width = least(kWidth, columns - j), vectors = ceilDiv(width, kLanes<T>);
        seenOfB =
            packRight(seenOfB, {b.data + k * b.rowStride + j * b.columnStride, b.rowStride, b.columnStride},
                      steps, width, right);
        T *to = c + r * strideC + j;
        if (!Kind::areNormal(seenOfA, seenOfB)) {
          multiplyPairs<false>(steps, count, left, words, right, kWidth, to, strideC, width, k == 0);
          continue;
        }
        // Blocks of about the same number of rows.
        int64_t blocks = ceilDiv(count, rowsOf(vectors));
        for (int64_t i = 0; i < count; --blocks) {
          const int64_t height = ceilDiv(count - i, blocks);
          kKernels[vectors - 1][height - 1](words, left + i * words, words, right, kWidth, to + i * strideC,
                                            strideC, width - (vectors - 1) * kLanes<T>, k == 0);
          i += height;
        }
      }
      k += steps;
    } while (k < depth);
  }
}

} // namespace

extern "C" [[gnu::visibility("default")]] void rowsProduct(const void *, int64_t, int64_t, int64_t,
                                                           const In *, int64_t, int64_t, T *, int64_t,
                                                           int64_t, int64_t,
                                                           int64_t) __asm__("tsr.p.bf16.dot.rows");

/// `isWide`: the elements of A are f32 that have been rounded to bf16.
extern "C" void rowsProduct(const void *a, int64_t rowStrideA, int64_t columnStrideA, int64_t isWide,
                            const In *b, int64_t rowStrideB, int64_t columnStrideB, T *c, int64_t strideC,
                            int64_t rows, int64_t columns, int64_t depth) {
  const Strided<In> right{b, rowStrideB, columnStrideB};
  if (isWide)
    multiply(Strided<T>{static_cast<const T *>(a), rowStrideA, columnStrideA}, right, c, strideC, rows,
             columns, depth);
  else
    multiply(Strided<In>{static_cast<const In *>(a), rowStrideA, columnStrideA}, right, c, strideC, rows,
             columns, depth);
}

} // namespace tessera::cpu::product
