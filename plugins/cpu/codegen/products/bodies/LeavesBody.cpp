// Products in the order of fixed_reductions, whose sums are TESSERA_T: a body computes leaves, products of
// `steps` steps of k, one after another for a few programs, and gives each block of results to join(), as to
// an epilogue. Leaves are joined pairwise while they are in a near cache, and the last join is followed by
// the product's own epilogue. After leaf n there is a partial result for each bit of n + 1 that is set, as
// the digits of a binary counter.
#include "plugins/cpu/codegen/products/Leaves.h"
#include "plugins/cpu/codegen/products/bodies/Vectors.h"

#define TESSERA_TEXT_(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_(x)

namespace tessera::cpu::product {
namespace {

using T = TESSERA_T;

/// Programs whose blocks are joined together: a panel of B is packed once for all rows of them, and rows of B
/// that are read in place are this many blocks long.
constexpr int64_t kMostRows = 384, kMostBlocks = 64;

/// What join() needs; `values` of the problem that computes a leaf begin with the address of its results.
struct Joiner {
  uint64_t results;
  const Problem *whole;
  T *digits;                                 // [levels, programs of the group, elements of a block]
  int64_t digitStride, blockElements, first; // the first program of the group
  int64_t leaf;                              // its number
  bool isLast;
};

/// sums += each of `count` digits, from the lowest on; they are the left operands.
void add(const T *const *digits, int64_t count, int64_t at, T *sums, T *to, int64_t elements) {
  int64_t i = 0;
  constexpr int kAtOnce = 4; // vectors
  for (; i + kAtOnce * kLanes<T> <= elements; i += kAtOnce * kLanes<T>) {
    Vector<T> some[kAtOnce];
    for (int v = 0; v < kAtOnce; ++v)
      some[v] = load(sums + i + v * kLanes<T>);
    for (int64_t d = 0; d < count; ++d)
      for (int v = 0; v < kAtOnce; ++v)
        some[v] = load(digits[d] + at + i + v * kLanes<T>) + some[v];
    for (int v = 0; v < kAtOnce; ++v)
      store(to + i + v * kLanes<T>, some[v]);
  }
  for (; i + kLanes<T> <= elements; i += kLanes<T>) {
    Vector<T> sum = load(sums + i);
    for (int64_t d = 0; d < count; ++d)
      sum = load(digits[d] + at + i) + sum;
    store(to + i, sum);
  }
  if (i == elements) return;
  Vector<T> sum = loadFirst<Vector<T>>(sums + i, elements - i);
  for (int64_t d = 0; d < count; ++d)
    sum = loadFirst<Vector<T>>(digits[d] + at + i, elements - i) + sum;
  storeFirst(to + i, sum, elements - i);
}

/// The epilogue of a leaf: programs [begin, end), of adjacent blocks of rows.
void join(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  const Joiner &j = *reinterpret_cast<const Joiner *>(values);
  const Problem &p = *j.whole;
  const int64_t rowBlocks = ceilDiv(p.rows, p.blockRows), columnBlocks = ceilDiv(p.columns, p.blockColumns);
  T *const origin = reinterpret_cast<T *>(j.results);
  for (int64_t program = begin; program < end; ++program) {
    const int64_t row = program % rowBlocks * p.blockRows,
                  column = program / rowBlocks % columnBlocks * p.blockColumns;
    const int64_t rows = least(p.blockRows, p.rows - row),
                  columns = least(p.blockColumns, p.columns - column);
    T *block = origin + row * p.blockColumns + column;
    T *own = j.digits + (program - j.first) * j.blockElements;
    // Digits that the leaf is joined with: all that are set, or, if others follow, the trailing ones.
    const T *digits[64];
    int64_t count = 0, level = 0;
    for (; j.isLast ? j.leaf >> level != 0 : j.leaf >> level & 1; ++level)
      if (j.leaf >> level & 1) digits[count++] = own + level * j.digitStride;
    T *to = j.isLast ? block : own + level * j.digitStride;
    if (columns == p.blockColumns) { // rows follow each other
      add(digits, count, 0, block, to, rows * columns);
    } else {
      for (int64_t r = 0; r < rows; ++r)
        add(digits, count, r * p.blockColumns, block + r * p.blockColumns, to + r * p.blockColumns, columns);
    }
  }
  if (!j.isLast) return;
  p.values[p.slot] = j.results;
  p.epilogue(p.values, begin, end, scratch);
}

} // namespace

extern "C" [[gnu::visibility("default")]] void
leaves(const Problem *, const Leaves *, int64_t, int64_t,
       uint8_t *) __asm__("tsr.p." TESSERA_TEXT(TESSERA_DTYPE) ".leaves");

extern "C" void leaves(const Problem *whole, const Leaves *of, int64_t begin, int64_t end, uint8_t *scratch) {
  const int64_t count = ceilDiv(whole->depth, of->steps);
  if (count <= 1) return of->body(whole, begin, end, scratch);
  Problem p = *whole;
  int64_t levels = 1;
  while (count - 1 >> levels)
    ++levels;
  Joiner joiner{};
  joiner.whole = whole;
  joiner.digits = reinterpret_cast<T *>(scratch + of->digits);
  joiner.blockElements = least(p.rows, p.blockRows) * p.blockColumns;
  const int64_t rowBlocks = ceilDiv(p.rows, p.blockRows);
  // Few blocks of rows: as many of columns as there is room for.
  const int64_t room = most(1, kDigitBytes / (levels * joiner.blockElements * int64_t(sizeof(T))));
  int64_t group = least(room, rowBlocks > 1 ? most(1, kMostRows / p.blockRows) : kMostBlocks);
  if (rowBlocks > 1 && rowBlocks < group) group = group / rowBlocks * rowBlocks; // whole columns
  joiner.digitStride = group * joiner.blockElements;
  p.epilogue = join;
  p.values = reinterpret_cast<uint64_t *>(&joiner);
  p.slot = 0;
  for (; begin < end; begin += group) {
    const int64_t stop = least(end, begin + group);
    joiner.first = begin;
    for (joiner.leaf = 0; joiner.leaf < count; ++joiner.leaf) {
      joiner.isLast = joiner.leaf + 1 == count;
      p.a = static_cast<const uint8_t *>(whole->a) + joiner.leaf * of->bytesOfA;
      p.b = static_cast<const uint8_t *>(whole->b) + joiner.leaf * of->bytesOfB;
      p.depth = least(of->steps, whole->depth - joiner.leaf * of->steps);
      of->body(&p, begin, stop, scratch);
    }
  }
}

} // namespace tessera::cpu::product
