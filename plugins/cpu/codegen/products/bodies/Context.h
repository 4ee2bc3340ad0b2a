// What all bodies share: the runs of a range of programs, operands of one batch index, and the epilogue.
#pragma once
#include "plugins/cpu/codegen/products/Problem.h"
#include "plugins/cpu/codegen/products/bodies/Vectors.h"

namespace tessera::cpu::product {
namespace {

/// Consecutive programs of one batch index: blocks of columns with all rows, or blocks of rows of one block
/// of columns.
struct Run {
  int64_t batch, columnBlock, rowBlock, rowBlocks, columnBlocks;
};

/// A way of a body. `Fits`: it has code for operands stored as the body's are. `can`: it computes the
/// problem; `takes`: it is the fastest that does, if none before it is.
template <Way W, bool Fits, class Can, class Takes, class Run> struct Candidate {
  Can can;
  Takes takes;
  Run run;

  bool tryToRun(const Problem &p) const {
    if constexpr (Fits)
      if (p.way == Way::ByExtents ? takes() : p.way == W && can()) return run(), true;
    return false;
  }
};
template <Way W, bool Fits = true, class Can, class Takes, class Run>
Candidate<W, Fits, Can, Takes, Run> candidate(Can can, Takes takes, Run run) {
  return {can, takes, run};
}

/// Runs the way that the problem forces or, without one, the first that takes it. Returns false if panels are
/// left to compute it, which the problem is told if it forces another way.
template <class... Candidates> bool runOneOf(const Problem &p, const Candidates &...candidates) {
  if ((candidates.tryToRun(p) || ...)) return true;
  if (p.way != Way::ByExtents && p.way != Way::Panels) *p.isReplaced = 1;
  return false;
}

/// A product of few rows with at most so many columns, or the other way round, is one of few dots.
constexpr int64_t kManyResults = 16;

/// A micro-kernel (generator/MicroKernels.h has the contract).
template <class T>
using MicroKernel = void (*)(int64_t depth, const T *a, int64_t strideA, const T *b, int64_t strideB, T *c,
                             int64_t strideC, int64_t last, int64_t fresh);
template <class T> using MicroKernels = MicroKernel<T>[kMaxVectors][kMaxRows];

/// Do the products of the batch follow each other, each of so many elements?
[[maybe_unused]] inline bool isOneBatch(const Problem &p, int64_t a, int64_t b, int64_t c) {
  for (int64_t axis = p.batchAxes; axis-- > 0;) {
    if (p.batchA[axis] != a || p.batchB[axis] != b || p.batchC[axis] != c) return false;
    a *= p.batchExtent[axis], b *= p.batchExtent[axis], c *= p.batchExtent[axis];
  }
  return true;
}

/// The operands at one batch index: elements of In, whose products are summed in T. Lives for one call of a
/// body.
template <class T, class In = T> class Context {
public:
  Context(const Problem &problem, uint8_t *scratch) : p(problem), epilogueScratch_(scratch) {
    scratch += problem.epilogueScratch;
    panel = reinterpret_cast<T *>(scratch);
    rowsOfA = reinterpret_cast<T *>(scratch + kPanelBytes);
    results = reinterpret_cast<T *>(scratch + kPanelBytes + kRowsOfABytes);
  }

  /// Splits a range of programs into runs, and calls each(run) with the operands of its batch index. A body
  /// has many such calls, which share one loop: a copy in each would be a tenth of the body.
  template <class Each> void forRuns(int64_t begin, int64_t end, Each each) {
    splitIntoRuns(begin, end, caller<Each>(), &each);
  }

  /// The same with each(run) as a function and its argument, by which two objects share the loop.
  using Call = void (*)(void *each, const Run &run);
  template <class Each> static Call caller() {
    return [](void *each, const Run &run) { (*static_cast<Each *>(each))(run); };
  }
  [[gnu::noinline, clang::minsize]] void splitIntoRuns(int64_t begin, int64_t end, Call call, void *each) {
    const int64_t rowBlocks = ceilDiv(p.rows, p.blockRows), columnBlocks = ceilDiv(p.columns, p.blockColumns);
    if (rowBlocks * columnBlocks == 1)
      return forProducts(begin, end, [&](const Run &run) { call(each, run); });
    while (begin < end) {
      const int64_t rowBlock = begin % rowBlocks, column = begin / rowBlocks;
      Run run{column / columnBlocks, column % columnBlocks, rowBlock, 0, 1};
      const int64_t whole =
          rowBlock == 0 ? least((end - begin) / rowBlocks, columnBlocks - run.columnBlock) : 0;
      run.rowBlocks = whole > 0 ? rowBlocks : least(end - begin, rowBlocks - rowBlock);
      run.columnBlocks = most(1, whole);
      enter(run.batch);
      call(each, run);
      begin += run.rowBlocks * run.columnBlocks;
    }
  }

  /// The same for products so tiny that a call for each would take a tenth of the time.
  template <class Each> void forTinyRuns(int64_t begin, int64_t end, Each each) {
    if (p.rows <= p.blockRows && p.columns <= p.blockColumns) return forProducts(begin, end, each);
    forRuns(begin, end, each);
  }

  /// Results that are computed at once: rows [r0, r1) of columns [c0, c1).
  struct Strip {
    int64_t r0, r1, c0, c1;
    T *first;
    int64_t stride;             // between rows
    int64_t width, blockStride; // columns that are next to each other, and from them to the next ones

    T *at(int64_t r, int64_t column) const {
      const int64_t j = column - c0, block = j < width ? 0 : j / width;
      return first + block * blockStride + (j - block * width) + (r - r0) * stride;
    }
  };

  /// Calls each(strip) for all results of the run. Without an epilogue that is one strip. Otherwise results
  /// are in scratch: a strip has one block of rows of at most `columns` columns (at least one block), or if
  /// its sums wait for other steps of k, as many blocks of rows as the scratch holds. A register block of
  /// `registerColumns` is never divided.
  template <class Each>
  void forStrips(const Run &run, int64_t columns, int64_t registerColumns, bool sumsWait, Each each) {
    const int64_t r0 = run.rowBlock * p.blockRows, r1 = least(p.rows, r0 + run.rowBlocks * p.blockRows);
    const int64_t c0 = run.columnBlock * p.blockColumns,
                  c1 = least(p.columns, c0 + run.columnBlocks * p.blockColumns);
    if (c) return each(Strip{r0, r1, c0, c1, c + r0 * p.strideC + c0, p.strideC, c1 - c0, 0});
    const int64_t held = kResultBytes / int64_t(sizeof(T)) / p.blockRows; // columns of a block of rows
    const int64_t blocks = p.blockColumns % registerColumns ? 1 : least(columns, held) / p.blockColumns;
    const int64_t width = most(1, blocks) * p.blockColumns,
                  height = (sumsWait ? most(1, held / width) : 1) * p.blockRows;
    for (int64_t n = c0; n < c1; n += width)
      for (int64_t s = r0; s < r1; s += height) {
        const Strip strip = {s,
                             least(r1, s + height),
                             n,
                             least(c1, n + width),
                             results,
                             p.blockColumns,
                             p.blockColumns,
                             height * p.blockColumns};
        each(strip);
        for (int64_t column = n; column < strip.c1; column += p.blockColumns)
          finish(s, column, ceilDiv(strip.r1 - s, p.blockRows), strip.at(s, column));
      }
  }

  /// Runs the epilogue of `count` consecutive programs from the block of [r, column] on; that element is the
  /// first at `block`.
  void finish(int64_t r, int64_t column, int64_t count, const T *block) {
    const int64_t columnBlocks = ceilDiv(p.columns, p.blockColumns), rowBlocks = ceilDiv(p.rows, p.blockRows);
    const int64_t program = (batch_ * columnBlocks + column / p.blockColumns) * rowBlocks + r / p.blockRows;
    p.values[p.slot] =
        reinterpret_cast<uint64_t>(block) - static_cast<uint64_t>(r * p.blockColumns + column) * sizeof(T);
    p.epilogue(p.values, program, program + count, epilogueScratch_);
  }

  const Problem &p;
  const In *a = nullptr, *b = nullptr;
  T *c = nullptr;               // null: the epilogue stores
  T *panel, *rowsOfA, *results; // in scratch

private:
  /// Called at two places, once per run or less often.
  [[gnu::noinline, clang::minsize]] void enter(int64_t batch) {
    batch_ = batch;
    a = static_cast<const In *>(p.a), b = static_cast<const In *>(p.b), c = static_cast<T *>(p.c);
    for (int64_t axis = p.batchAxes; axis-- > 0;) {
      const int64_t at = batch % p.batchExtent[axis];
      at_[axis] = at;
      batch /= p.batchExtent[axis];
      a += at * p.batchA[axis], b += at * p.batchB[axis];
      if (c) c += at * p.batchC[axis];
    }
  }

  /// Calls each(run) for products of one block. Along the last axis of the batch nothing but addresses
  /// changes: small products would notice more.
  template <class Each> void forProducts(int64_t begin, int64_t end, Each each) {
    const int64_t last = p.batchAxes - 1;
    const int64_t extent = last < 0 ? 1 : p.batchExtent[last];
    const int64_t stepA = last < 0 ? 0 : p.batchA[last], stepB = last < 0 ? 0 : p.batchB[last],
                  stepC = last < 0 || !p.c ? 0 : p.batchC[last];
    enter(begin);
    while (true) {
      const int64_t at = last < 0 ? 0 : at_[last], stop = least(end, begin + extent - at);
      const In *nextA = a, *nextB = b;
      T *nextC = c;
      if (last >= 0) at_[last] += stop - begin - 1;
      for (; begin < stop; ++begin, nextA += stepA, nextB += stepB, nextC += stepC) {
        a = nextA, b = nextB, c = nextC, batch_ = begin;
        each(Run{begin, 0, 0, 1, 1});
      }
      if (begin == end) return;
      next();
    }
  }

  /// Goes on to the next batch index, without a division. A call is rare.
  [[gnu::noinline, clang::minsize]] void next() {
    ++batch_;
    for (int64_t axis = p.batchAxes; axis-- > 0;) {
      const bool wraps = ++at_[axis] == p.batchExtent[axis];
      const int64_t step = wraps ? 1 - p.batchExtent[axis] : 1;
      a += step * p.batchA[axis], b += step * p.batchB[axis];
      if (c) c += step * p.batchC[axis];
      if (!wraps) return;
      at_[axis] = 0;
    }
  }

  uint8_t *epilogueScratch_;
  int64_t batch_ = 0, at_[kMostBatchAxes]; // the index, and along each axis
};

} // namespace
} // namespace tessera::cpu::product
