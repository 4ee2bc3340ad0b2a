// C = A * B of tiles of bf16 by vdpbf16ps, which multiplies pairs. A is where it is, with any strides, and
// packed a group of rows at a time. B is in scratch: its words are pairs of rows (`tile.pair_rows`). Each
// element is one chain of fused multiply-adds over k, as in every other product.
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/Operands.h"
#include "plugins/cpu/codegen/products/bodies/Pairs.h"

namespace tessera::cpu::product {
namespace {

using Kind = Bf16Dots;
using T = Kind::T;
using In = Kind::In;
TESSERA_KERNELS(kKernels, "bf16.dot.n")
TESSERA_KERNELS(kTurnedKernels, "bf16.dot.t")

/// Rows of A that are packed at a time, and words of each. They stay in the first-level cache.
constexpr int64_t kGroupRows = 2 * kLanes<T>, kWords = 128;

/// An operand with any strides, in elements.
struct Strided {
  const In *data;
  int64_t rowStride, columnStride;
};

/// Packs rows of A that are adjacent along k as rows of words. Fetches the rows that the next group packs: A
/// comes from far away where few columns are multiplied.
Kind::Left packRows(Strided a, int64_t rows, int64_t steps, T *to) {
  constexpr int64_t lanes = 2 * kLanes<T>;
  Kind::Left packer;
  const int64_t words = ceilDiv(steps, 2), whole = steps / lanes * lanes;
  for (int64_t r = 0; r < rows; ++r, a.data += a.rowStride, to += words) {
    for (int64_t k = 0; k < whole; k += lanes) {
      __builtin_prefetch(a.data + k + rows * a.rowStride);
      store(to + k / 2, packer.along(loadAs<Kind::Line>(a.data + k)));
    }
    // The last vector of a row may pass its end: the next row is stored after it.
    if (whole < steps)
      store(to + whole / 2, packer.along(loadFirst<Kind::Line>(a.data + whole, steps - whole)));
  }
  return packer;
}

/// Packs rows of A that are not adjacent along k as words of all rows, `kGroupRows` apart. `load` returns a
/// step of k of all rows. Fetches what the next product packs.
template <class Load> Kind::Left packColumns(Strided a, int64_t steps, T *to, Load load) {
  Kind::Left packer;
  auto pack = [&](Kind::Line first, Kind::Line second) {
    const Kind::Line lines[2] = {first, second};
    Vector<T> packed[2];
    packer.weave(lines, packed);
    store(to, packed[0]), store(to + kLanes<T>, packed[1]);
    to += kGroupRows;
  };
  const In *ahead = a.data + steps * a.columnStride;
  for (int64_t k = 0; k + 2 <= steps; k += 2, ahead += 2 * a.columnStride, a.data += 2 * a.columnStride) {
    __builtin_prefetch(ahead), __builtin_prefetch(ahead + a.columnStride);
    pack(load(a.data), load(a.data + a.columnStride));
  }
  if (steps % 2) pack(load(a.data), Kind::Line{});
  return packer;
}

/// Packs [rows, steps] of A.
Kind::Left pack(Strided a, int64_t rows, int64_t steps, T *to) {
  if (a.columnStride == 1) return packRows(a, rows, steps, to);
  if (a.rowStride == 1 && rows == kGroupRows)
    return packColumns(a, steps, to, [](const In *from) { return loadAs<Kind::Line>(from); });
  return packColumns(a, steps, to, [&](const In *from) {
    if (a.rowStride == 1) return loadFirst<Kind::Line>(from, rows);
    Kind::Line line = {};
    for (int64_t r = 0; r < rows; ++r)
      line[r] = from[r * a.rowStride];
    return line;
  });
}

/// C += A * B, or C = A * B if it is fresh, of a packed group of rows.
template <bool TransposedA>
void multiply(const MicroKernels<T> &kernels, bool isNormal, int64_t rows, int64_t columns, int64_t steps,
              const T *a, const T *b, int64_t strideB, T *c, int64_t strideC, bool isFresh) {
  const int64_t strideA = TransposedA ? kGroupRows : ceilDiv(steps, 2);
  if (!isNormal)
    return multiplyPairs<TransposedA>(steps, rows, a, strideA, b, strideB, c, strideC, columns, isFresh);
  const int64_t pairs = steps / 2;
  for (int64_t j = 0; j < columns; j += kMaxVectors * kLanes<T>) {
    const int64_t width = least(kMaxVectors * kLanes<T>, columns - j), vectors = ceilDiv(width, kLanes<T>);
    // Blocks of about the same number of rows. Small numbers are divided faster.
    const int32_t count = int32_t(rows), blocks = int32_t(ceilDiv(rows, rowsOf(vectors)));
    const int64_t lower = count / blocks, higher = count % blocks;
    for (int64_t r = 0, block = 0; r < rows; ++block) {
      const int64_t height = lower + (block < higher);
      kernels[vectors - 1][height - 1](pairs, a + r * (TransposedA ? 1 : strideA), strideA, b + j, strideB,
                                       c + r * strideC + j, strideC, width - (vectors - 1) * kLanes<T>,
                                       isFresh);
      r += height;
    }
  }
  // The second half of the last word is not part of the product.
  if (steps % 2)
    multiplyPairs<TransposedA>(1, rows, a + pairs * (TransposedA ? strideA : 1), strideA, b + pairs * strideB,
                               strideB, c, strideC, columns, false);
}

} // namespace

extern "C" [[gnu::visibility("default")]] void tileProduct(const In *, int64_t, int64_t, const T *, int64_t,
                                                           T *, int64_t, int64_t, int64_t,
                                                           int64_t) __asm__("tsr.p.bf16.dot.tile");

extern "C" void tileProduct(const In *a, int64_t rowStride, int64_t columnStride, const T *b, int64_t strideB,
                            T *c, int64_t strideC, int64_t rows, int64_t columns, int64_t depth) {
  Kind::Right right;
  auto see = [&](int64_t j, auto load) {
    for (int64_t w = 0; w < ceilDiv(depth, 2); ++w)
      right.see(__builtin_bit_cast(Kind::Line, load(b + w * strideB + j)));
  };
  int64_t seen = 0;
  for (; seen + kLanes<T> <= columns; seen += kLanes<T>)
    see(seen, [](const T *from) { return loadAs<Vector<T>>(from); });
  if (seen < columns) see(seen, [&](const T *from) { return loadFirst<Vector<T>>(from, columns - seen); });
  const bool isAlong = columnStride == 1;
  T packed[kGroupRows * kWords + kLanes<T>];
  for (int64_t r = 0; r < rows; r += kGroupRows) {
    const int64_t count = least(kGroupRows, rows - r);
    bool isNormal = true;
    int64_t k = 0;
    do {
      const int64_t steps = least(2 * kWords, depth - k);
      const Kind::Left left =
          pack({a + r * rowStride + k * columnStride, rowStride, columnStride}, count, steps, packed);
      isNormal = isNormal && Kind::areNormal(left, right); // so are the sums
      (isAlong ? multiply<false> : multiply<true>)(isAlong ? kKernels : kTurnedKernels, isNormal, count,
                                                   columns, steps, packed, b + k / 2 * strideB, strideB,
                                                   c + r * strideC, strideC, k == 0);
      k += steps;
    } while (k < depth);
  }
}

} // namespace tessera::cpu::product
