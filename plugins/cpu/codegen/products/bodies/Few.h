// Bodies for products with so few rows or columns that each element of the large operand is used once or a
// few times: it is read in place.
//
//   row      one row, B not transposed: a few rows of B at once, across all columns. The order of panels
//   columns  A transposed, few columns: lanes along the rows of the result, which A has next to each other,
//            and a few steps of k at once. The order of panels
//   dot      at most eight rows or columns, both operands contiguous along k, or few columns of a B that is
//            copied transposed: lanes along k. An order of its own, so only the extents and the layout of the
//            whole product select it
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include "plugins/cpu/codegen/products/bodies/Packing.h"

namespace tessera::cpu::product {
namespace {

/// `Widen` reads elements of In as T: a vector of them, or one.
template <class T, bool TransposedA, class In = T, class Widen = AsTheyAre<T>> class Row {
  static constexpr int kLines = 8;              // rows of B at once
  static constexpr int64_t kMostColumns = 4096; // whose sums stay in the first-level cache

public:
  explicit Row(Context<T, In> &x) : x_(x) {}

  void run(const Run &run) {
    const Problem &p = x_.p;
    const int64_t end = least(p.columns, (run.columnBlock + run.columnBlocks) * p.blockColumns);
    const int64_t width = most(1, kMostColumns / p.blockColumns) * p.blockColumns;
    for (int64_t c = run.columnBlock * p.blockColumns; c < end; c += width) {
      const int64_t columns = least(width, end - c);
      T *sums = x_.c ? x_.c + c : x_.results;
      int64_t k = 0;
      if (p.depth == 0)
        for (int64_t j = 0; j < columns; ++j)
          sums[j] = 0;
      for (; k + kLines <= p.depth; k += kLines)
        lines<kLines>(k, c, columns, sums);
      for (; k < p.depth; ++k)
        lines<1>(k, c, columns, sums);
      if (!x_.c) x_.finish(0, c, ceilDiv(columns, p.blockColumns), x_.results);
    }
  }

private:
  template <int Lines> void lines(int64_t k, int64_t c, int64_t columns, T *sums) {
    constexpr int lanes = kLanes<T>;
    const int64_t strideA = TransposedA ? x_.p.strideA : 1;
    const In *b = x_.b + k * x_.p.strideB + c;
    Vector<T> all[Lines];
    const In *line[Lines];
    for (int i = 0; i < Lines; ++i) {
      all[i] = Widen::one(x_.a[(k + i) * strideA]) - Vector<T>{};
      line[i] = b + i * x_.p.strideB;
    }
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      Vector<T> sum = k == 0 ? Vector<T>{} : load(sums + j);
      for (int i = 0; i < Lines; ++i)
        sum = multiplyAdd(all[i], Widen::all(line[i] + j), sum);
      store(sums + j, sum);
    }
    const int64_t rest = columns - j;
    if (rest == 0) return;
    Vector<T> sum = k == 0 ? Vector<T>{} : loadFirst<Vector<T>>(sums + j, rest);
    for (int i = 0; i < Lines; ++i)
      sum = multiplyAdd(all[i], Widen::first(line[i] + j, rest), sum);
    storeFirst(sums + j, sum, rest);
  }

  Context<T, In> &x_;
};

template <class T, bool TransposedB> class Columns {
  static constexpr int kLines = 8;           // steps of k at once
  static constexpr int64_t kMostSums = 4096; // which stay in the first-level cache
  static constexpr int64_t kFew = 6;         // with more, register blocks are faster
  static constexpr int64_t kLeastRows = 6, kManyRows = 48;

public:
  /// Is a product with a transposed A computed so?
  static bool takes(const Problem &p) {
    if (!canCompute(p)) return false;
    // Panels copy both operands.
    if (TransposedB) return p.rows >= 2 * p.columns - 4;
    // Blocks of all columns multiply each row: a B that they read in place makes them faster for few rows.
    const int64_t vectors = ceilDiv(p.rows, kLanes<T>);
    return p.rows > kManyRows || (p.rows >= kLeastRows && 3 * p.rows > 5 * p.columns * (1 + vectors));
  }
  static bool canCompute(const Problem &p) {
    return p.columns <= least(kFew, p.blockColumns) &&
           pitch(p.blockRows) * p.columns * int64_t(sizeof(T)) <= kPanelBytes;
  }

  explicit Columns(Context<T> &x) : x_(x), p_(x.p), sums_(x.panel) {}

  void run(const Run &run) {
    const int64_t r0 = run.rowBlock * p_.blockRows, r1 = least(p_.rows, r0 + run.rowBlocks * p_.blockRows);
    // As many blocks of rows as the sums and, for the epilogue, the results have room for.
    const int64_t room = least(kMostSums / p_.columns, kResultBytes / (p_.blockColumns * int64_t(sizeof(T))));
    const int64_t height = most(1, room / p_.blockRows) * p_.blockRows;
    for (int64_t r = r0; r < r1; r += height) {
      const int64_t rows = least(height, r1 - r);
      int64_t k = 0;
      for (int64_t i = 0; p_.depth == 0 && i < pitch(rows) * p_.columns; ++i)
        sums_[i] = 0;
      for (; k + kLines <= p_.depth; k += kLines)
        lines<kLines>(k, r, rows);
      for (; k < p_.depth; ++k)
        lines<1>(k, r, rows);
      T *to = x_.c ? x_.c + r * p_.strideC : x_.results;
      const int64_t stride = x_.c ? p_.strideC : p_.blockColumns;
      for (int64_t c = 0; c < p_.columns; ++c)
        for (int64_t i = 0; i < rows; ++i)
          to[i * stride + c] = sums_[c * pitch(rows) + i];
      if (!x_.c) x_.finish(r, 0, ceilDiv(rows, p_.blockRows), x_.results);
    }
  }

private:
  /// The sums of a column are whole vectors.
  static int64_t pitch(int64_t rows) { return roundUp(rows, kLanes<T>); }

  template <int Lines> void lines(int64_t k, int64_t r, int64_t rows) {
    constexpr int lanes = kLanes<T>;
    const T *line[Lines];
    for (int i = 0; i < Lines; ++i)
      line[i] = x_.a + (k + i) * p_.strideA + r;
    for (int64_t c = 0; c < p_.columns; ++c) {
      Vector<T> all[Lines];
      for (int i = 0; i < Lines; ++i)
        all[i] = (TransposedB ? x_.b[c * p_.strideB + k + i] : x_.b[(k + i) * p_.strideB + c]) - Vector<T>{};
      T *sums = sums_ + c * pitch(rows);
      int64_t j = 0;
      for (; j + lanes <= rows; j += lanes) {
        Vector<T> sum = k == 0 ? Vector<T>{} : load(sums + j);
        for (int i = 0; i < Lines; ++i)
          sum = multiplyAdd(all[i], load(line[i] + j), sum);
        store(sums + j, sum);
      }
      const int64_t rest = rows - j;
      if (rest == 0) continue;
      Vector<T> sum = k == 0 ? Vector<T>{} : load(sums + j);
      for (int i = 0; i < Lines; ++i)
        sum = multiplyAdd(all[i], loadFirst<Vector<T>>(line[i] + j, rest), sum);
      store(sums + j, sum);
    }
  }

  Context<T> &x_;
  const Problem &p_;
  T *sums_; // of one column after the other
};

/// How a dot multiplies: vectors of both operands as T, lane by lane. `Group`: the steps of k that other
/// bodies multiply at once in words.
template <class T, class Widen, int Group = 1> struct InLanes {
  using Line = Vector<T>;
  static constexpr int64_t kSteps = kLanes<T>, kLeastDepth = 0; // of k, in a vector and in all
  static constexpr bool kIsInteger = __is_same(T, int32_t);
  /// Words of integers are faster from five rows or columns on.
  static constexpr int64_t kFew = kIsInteger ? 4 : 8;
  static bool isFew(int64_t count, int64_t) { return count <= kFew; }
  /// A dot ends with a sum of its lanes, which takes as long as many steps of k: other bodies, whose lanes
  /// are results, compute many short dots faster. Few columns of B are packed soon, and A takes the more of
  /// their time.
  static bool isWorth(int64_t few, int64_t many, int64_t depth, bool areRows) {
    constexpr int64_t lanes = kLanes<T>;
    if (few == 1 && kIsInteger) return true;
    if (many <= kManyResults) return Group == 1 || few <= 2 || depth >= 16 * Group;
    if (few <= 2) return depth >= (Group > 1 && few == 2 && areRows ? 32 * Group : lanes / 2);
    if (Group == 1) return depth >= (few <= 4 ? 2 : 4) * lanes / (areRows ? 1 : 2);
    if (areRows) return few <= 4 && depth >= 128 * Group;
    return depth >= (few <= 4 ? 16 : 64) * Group;
  }
  static Line all(const auto *from) { return Widen::all(from); }
  static Line first(const auto *from, int64_t count) { return Widen::first(from, count); }
  static Line few(Line line) { return line; }
  static Vector<T> multiplyAdd(Line few, Line many, Vector<T> sum) {
    return product::multiplyAdd(few, many, sum);
  }
};

template <class T, bool TransposedB, class In = T, class Terms = InLanes<T, AsTheyAre<T>>> class Dot {
  /// A B of floats that is not transposed is copied transposed, if it has so few columns that register blocks
  /// would leave half of their lanes empty.
  static constexpr int64_t kMostCopied = __is_same(T, int32_t) ? 0 : kLanes<T> / 2;
  static constexpr int64_t kCopyBytes = int64_t{448} << 10;
  static_assert(kCopyBytes <= kPanelBytes + kRowsOfABytes);
  /// B is one column without gaps. It is the few, whatever the number of rows, so that no others are
  /// compiled.
  static constexpr bool kIsLine = !TransposedB && kMostCopied == 0;

public:
  static constexpr int64_t kAtOnce = 4; // of the few, whose sums are in registers

  /// Is a product of these extents computed as dots? A is not transposed.
  static bool takes(const Problem &p) {
    if (p.depth < Terms::kLeastDepth || isTiny(p)) return false;
    if (TransposedB) return isWorth(p.rows, p.columns, p, true) || isWorth(p.columns, p.rows, p, false);
    return (isLine(p) && isWorth(1, p.rows, p, false)) || (copies(p) && isWorthCopying(p));
  }
  /// Can it be?
  static bool canCompute(const Problem &p) {
    if (p.depth < Terms::kLeastDepth) return false;
    return TransposedB ? Terms::isFew(p.rows, p.depth) || Terms::isFew(p.columns, p.depth)
                       : isLine(p) || copies(p);
  }

  explicit Dot(Context<T, In> &x)
      : x_(x), copies_(!TransposedB && copies(x.p)), strideOfColumns_(copies_            ? x.p.depth
                                                                      : x.p.columns == 1 ? 0
                                                                                         : x.p.strideB) {}

  void run(const Run &run) {
    const Problem &p = x_.p;
    In *copy = reinterpret_cast<In *>(x_.panel);
    for (int64_t k = 0; copies_ && k < p.depth; ++k)
      for (int64_t j = 0; j < p.columns; ++j)
        copy[j * p.depth + k] = x_.b[k * p.strideB + j];
    const In *columnsOfB = copies_ ? copy : x_.b;
    for (int64_t i = 0; i < run.columnBlocks; ++i)
      for (int64_t q = 0; q < run.rowBlocks; ++q) {
        const int64_t r0 = (run.rowBlock + q) * p.blockRows, c0 = (run.columnBlock + i) * p.blockColumns;
        const int64_t rows = least(p.blockRows, p.rows - r0), columns = least(p.blockColumns, p.columns - c0);
        T *to = x_.c ? x_.c + r0 * p.strideC + c0 : x_.results;
        const int64_t stride = x_.c ? p.strideC : p.blockColumns;
        const In *a = x_.a + r0 * p.strideA, *b = columnsOfB + c0 * strideOfColumns_;
        if (!kIsLine && Terms::isFew(p.rows, p.depth))
          block(Side{a, p.strideA, rows, stride}, Side{b, strideOfColumns_, columns, 1}, to);
        else
          block(Side{b, strideOfColumns_, columns, 1}, Side{a, p.strideA, rows, stride}, to);
        if (!x_.c) x_.finish(r0, c0, 1, x_.results);
      }
  }

private:
  /// Is B one column without gaps?
  static bool isLine(const Problem &p) { return p.columns == 1 && p.strideB == 1; }
  static constexpr bool kIsInteger = __is_same(T, int32_t);
  /// One of many products of a column, each of which takes less time than the sum of its lanes.
  static bool isTiny(const Problem &p) {
    return !kIsInteger && p.batchAxes > 0 && p.columns == 1 && p.depth < kLanes<T> / 2;
  }
  static bool isWorth(int64_t few, int64_t many, const Problem &p, bool areRows) {
    return Terms::isFew(few, p.depth) && Terms::isWorth(few, many, p.depth, areRows);
  }
  static bool copies(const Problem &p) {
    return !isLine(p) && p.columns <= kMostCopied && p.columns * p.depth * int64_t(sizeof(In)) <= kCopyBytes;
  }
  /// Are there so many rows and steps of k that the copy and the sums of lanes take little of the time?
  /// Dots of more columns than are computed at once read A twice. Narrow elements would be packed otherwise.
  static bool isWorthCopying(const Problem &p) {
    if (p.columns > kAtOnce) return p.rows >= 24 && p.depth >= 128;
    return sizeof(In) < sizeof(T) ? p.depth >= 16 : p.rows >= 12 && p.depth >= 32;
  }

  struct Side {
    const In *data;
    int64_t stride, count, strideOfResult;
  };

  void block(const Side &few, const Side &many, T *to) {
    int64_t j = 0;
    auto chunk = [&]<int Few, int Many>() {
      for (; j + Many <= many.count; j += Many)
        dots<Few, Many>(few, many, j, to);
    };
    // The rest of the few reads the same many from the first-level cache.
    auto twice = [&]<int Rest, int Many>() {
      const Side rest = {few.data + kAtOnce * few.stride, few.stride, Rest, few.strideOfResult};
      for (; j + Many <= many.count; j += Many) {
        dots<kAtOnce, Many>(few, many, j, to);
        dots<Rest, Many>(rest, many, j, to + kAtOnce * few.strideOfResult);
      }
    };
    auto all = [&]<int Few>() {
      if constexpr (Few == 1) chunk.template operator()<Few, 8>();
      // Their sums of lanes fill a vector.
      if constexpr (Few == 2 && __is_same(T, float) && kLanes<T> == 16) chunk.template operator()<Few, 8>();
      chunk.template operator()<Few, 4>();
      if constexpr (kIsLine) chunk.template operator()<Few, 3>(), chunk.template operator()<Few, 2>();
      chunk.template operator()<Few, 1>();
    };
    auto allTwice = [&]<int Rest>() {
      twice.template operator()<Rest, 4>();
      twice.template operator()<Rest, 1>();
    };
    if constexpr (kIsLine) return all.template operator()<1>();
    switch (few.count) {
    case 1:
      return all.template operator()<1>();
    case 2:
      return all.template operator()<2>();
    case 3:
      return all.template operator()<3>();
    case 4:
      return all.template operator()<4>();
    case 5:
      return allTwice.template operator()<1>();
    case 6:
      return allTwice.template operator()<2>();
    case 7:
      return allTwice.template operator()<3>();
    default:
      return allTwice.template operator()<4>();
    }
  }

  /// Not inlined: `block` calls most of these several times, which doubled its size.
  template <int Few, int Many>
  [[gnu::noinline]] void dots(const Side &few, const Side &many, int64_t j, T *to) {
    constexpr int lanes = kLanes<T>;
    constexpr bool hasExcess =
        requires(typename Terms::Line line, Vector<T> sum) { Terms::excess(line, sum); };
    const int64_t depth = x_.p.depth, whole = depth / Terms::kSteps * Terms::kSteps;
    Vector<T> sums[Few][Many] = {}, excess[hasExcess ? Many : 1] = {};
    const In *lines[Many];
    for (int m = 0; m < Many; ++m)
      lines[m] = many.data + (j + m) * many.stride;
    auto step = [&](auto read, int64_t k) __attribute__((always_inline)) {
      typename Terms::Line line[Many];
      for (int m = 0; m < Many; ++m) {
        line[m] = read(lines[m] + k);
        if constexpr (hasExcess) excess[m] = Terms::excess(line[m], excess[m]);
      }
      for (int f = 0; f < Few; ++f) {
        const auto x = Terms::few(read(few.data + f * few.stride + k));
        for (int m = 0; m < Many; ++m)
          sums[f][m] = Terms::multiplyAdd(x, line[m], sums[f][m]);
      }
    };
    for (int64_t k = 0; k < whole; k += Terms::kSteps)
      step([](const In *from) { return Terms::all(from); }, k);
    if (whole < depth) step([&](const In *from) { return Terms::first(from, depth - whole); }, whole);
    for (int m = 0; hasExcess && m < Many; ++m)
      for (int f = 0; f < Few; ++f)
        sums[f][m] -= excess[m];
    constexpr int count = Few * Many, vectors = (count + lanes - 1) / lanes;
    T folded[vectors * lanes];
    for (int v = 0; v < vectors; ++v) {
      Vector<T> some[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        const int at = v * lanes + i;
        some[i] = at < count ? sums[at / Many][at % Many] : Vector<T>{};
      }
      store(folded + v * lanes, sumsOfLanes<T>(some));
    }
    for (int f = 0; f < Few; ++f)
      for (int m = 0; m < Many; ++m)
        to[f * few.strideOfResult + (j + m) * many.strideOfResult] = folded[f * Many + m];
  }

  Context<T, In> &x_;
  bool copies_;
  int64_t strideOfColumns_;
};

} // namespace
} // namespace tessera::cpu::product
