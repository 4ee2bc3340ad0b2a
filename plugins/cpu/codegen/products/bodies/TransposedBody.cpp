// Products of a few rows with a transposed B in the order of fixed_reductions; TESSERA_T is the type of both
// operands. Blocks of B of one vector
// each way are transposed in registers and multiplied at once. As many rows of B as a vector has lanes are
// read to their ends, one leaf after another, because processors fetch ahead of long streams only.
#include "plugins/cpu/codegen/products/Leaves.h"
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/Packing.h"

#define TESSERA_TEXT_(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_(x)

namespace tessera::cpu::product {
namespace {

using T = TESSERA_T;

class Transposed {
  static constexpr int kLane = kLanes<T>;
  static constexpr int64_t kMostRows = 16; // more use a copy of B often enough
  /// Rows of A that are pages apart share a set of the first-level cache.
  static constexpr int64_t kMostRowsOfSet = 12, kPageBytes = 4096;
  static constexpr int kAtOnce = 4; // rows, whose sums do not wait for each other
  static constexpr int kMostLevels = 64;
  static_assert(kMostLevels * kMostRows * kVectorBytes <= kPanelBytes);

public:
  static bool takes(const Problem &p) {
    const bool shareSet = p.strideA * int64_t(sizeof(T)) % kPageBytes == 0;
    return p.rows <= least(shareSet ? kMostRowsOfSet : kMostRows, p.blockRows);
  }

  /// `steps`: of k, in a leaf.
  Transposed(Context<T> &x, int64_t steps)
      : x_(x), p_(x.p), steps_(steps), digits_(reinterpret_cast<Vector<T> *>(x.panel)) {}

  void run(const Run &run) {
    const int64_t end = least(p_.columns, (run.columnBlock + run.columnBlocks) * p_.blockColumns);
    for (int64_t c = run.columnBlock * p_.blockColumns; c < end; c += p_.blockColumns) {
      const int64_t width = least(p_.blockColumns, end - c);
      for (int64_t j = 0; j < width; j += kLane)
        columns(x_.b + (c + j) * p_.strideB, least(kLane, width - j), x_.results + j);
      x_.finish(0, c, 1, x_.results);
    }
  }

private:
  /// The results of at most a vector of columns.
  void columns(const T *b, int64_t width, T *to) {
    const T *lines[kLane]; // those past the last column are the last one
    for (int64_t i = 0; i < kLane; ++i)
      lines[i] = b + least(i, width - 1) * p_.strideB;
    // Rows that are a power of two apart share a set of the first-level cache, which has no room for all of
    // them: a line of the cache is read at once.
    const int64_t before = reinterpret_cast<uintptr_t>(b) / sizeof(T) % kLane;
    const bool areAligned = before == 0 || p_.strideB % kLane != 0;
    Vector<T> sums[kMostRows];
    int64_t k = 0, leaf = 0;
    do {
      const int64_t end = least(p_.depth, k + steps_);
      for (int64_t r = 0; r < p_.rows; ++r)
        sums[r] = Vector<T>{};
      if (!areAligned && k < end) k += some(lines, k, least(kLane - (before + k) % kLane, end - k), sums);
      for (; k + kLane <= end; k += kLane)
        whole(lines, k, sums);
      if (k < end) k += some(lines, k, end - k, sums);
      join(leaf++, k == p_.depth, sums);
    } while (k < p_.depth);
    for (int64_t r = 0; r < p_.rows; ++r)
      storeFirst(to + r * p_.blockColumns, sums[r], width);
  }

  /// Joins a leaf with those before it, as a binary counter does; the last one with all of them.
  void join(int64_t leaf, bool isLast, Vector<T> *sums) {
    int64_t level = 0;
    for (; isLast ? leaf >> level != 0 : leaf >> level & 1; ++level)
      for (int64_t r = 0; leaf >> level & 1 && r < p_.rows; ++r)
        sums[r] = digits_[level * kMostRows + r] + sums[r];
    for (int64_t r = 0; !isLast && r < p_.rows; ++r)
      digits_[level * kMostRows + r] = sums[r];
  }

  /// As many steps from k on as a vector has lanes.
  void whole(const T *const *lines, int64_t k, Vector<T> *sums) const {
    Vector<T> block[kLane];
#pragma clang loop unroll(full)
    for (int i = 0; i < kLane; ++i)
      block[i] = load(lines[i] + k);
    transposeBlock<T>(block);
    const T *a = x_.a + k;
    int64_t r = 0;
    for (; r + kAtOnce <= p_.rows; r += kAtOnce)
      multiply<kAtOnce>(a + r * p_.strideA, block, sums + r);
    for (; r < p_.rows; ++r)
      multiply<1>(a + r * p_.strideA, block, sums + r);
  }

  template <int Rows>
  [[gnu::always_inline]] void multiply(const T *a, const Vector<T> *block, Vector<T> *sums) const {
    Vector<T> sum[Rows];
    for (int r = 0; r < Rows; ++r)
      sum[r] = sums[r];
#pragma clang loop unroll(full)
    for (int i = 0; i < kLane; ++i)
      for (int r = 0; r < Rows; ++r)
        sum[r] = multiplyAdd(a[r * p_.strideA + i] - Vector<T>{}, block[i], sum[r]);
    for (int r = 0; r < Rows; ++r)
      sums[r] = sum[r];
  }

  /// `count` steps from k on, at most as many. Returns their number.
  [[gnu::noinline]] int64_t some(const T *const *lines, int64_t k, int64_t count, Vector<T> *sums) const {
    Vector<T> block[kLane];
#pragma clang loop unroll(full)
    for (int i = 0; i < kLane; ++i)
      block[i] = loadFirst<Vector<T>>(lines[i] + k, count);
    transposeBlock<T>(block);
    T steps[kLane * kLane];
#pragma clang loop unroll(full)
    for (int i = 0; i < kLane; ++i)
      store(steps + i * kLane, block[i]);
    for (int64_t r = 0; r < p_.rows; ++r) {
      Vector<T> sum = sums[r];
      for (int64_t i = 0; i < count; ++i)
        sum = multiplyAdd(x_.a[r * p_.strideA + k + i] - Vector<T>{}, load(steps + i * kLane), sum);
      sums[r] = sum;
    }
    return count;
  }

  Context<T> &x_;
  const Problem &p_;
  int64_t steps_;
  Vector<T> *digits_; // [kMostLevels, kMostRows]
};

} // namespace

extern "C" void leaves(const Problem *, const Leaves *, int64_t, int64_t,
                       uint8_t *) __asm__("tsr.p." TESSERA_TEXT(TESSERA_DTYPE) ".leaves");
extern "C" [[gnu::visibility("default")]] void
transposed(const Problem *, const Leaves *, int64_t, int64_t,
           uint8_t *) __asm__("tsr.p." TESSERA_TEXT(TESSERA_DTYPE) ".transposed");

/// Leaves the products of more rows to leaves().
extern "C" void transposed(const Problem *p, const Leaves *of, int64_t begin, int64_t end, uint8_t *scratch) {
  if (!Transposed::takes(*p)) return leaves(p, of, begin, end, scratch);
  if (begin >= end) return; // extents may be 0
  Context<T> x(*p, scratch);
  Transposed body(x, of->steps);
  x.forRuns(begin, end, [&](const Run &run) { body.run(run); });
}

} // namespace tessera::cpu::product
