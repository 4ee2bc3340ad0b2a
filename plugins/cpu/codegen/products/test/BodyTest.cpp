// Bodies against a chain of fused multiply-adds per element, bit by bit: every extent near an edge, operands
// between guard pages, results that are poisoned first, with and without an epilogue. Products of bf16 by AMX
// are compared with the order of its instruction, and with double. argv: one shared object per level.
#include "plugins/cpu/codegen/products/test/BodyTest.h"
#include <array>
#include <cstdlib>
#include <optional>

using namespace tessera::cpu::product;
using namespace tessera::cpu::product::test;

namespace {

/// Are products of these extents computed in tiles?
bool fillsTiles(int64_t rows, int64_t columns, int64_t depth, int64_t group) {
  return rows > 8 && columns > 8 && depth >= 8 * group;
}

/// The order of tdpbf16ps: of each 32 steps of k the even ones and the odd ones are chains of their own,
/// which are added to each other and then to the sum. Subnormal operands and results are 0.
[[gnu::target("avx2,fma")]] std::vector<float> tiledReferenceOf(const std::vector<float> &a,
                                                                const std::vector<float> &b, int64_t rows,
                                                                int64_t columns, int64_t depth) {
  std::vector<float> out(static_cast<size_t>(rows * columns));
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x8040);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t first = 0; first < depth; first += 32) {
        float chains[2] = {};
        for (int64_t k = first; k < std::min(depth, first + 32); ++k)
          chains[k % 2] = std::fma(a[static_cast<size_t>(r * depth + k)],
                                   b[static_cast<size_t>(k * columns + j)], chains[k % 2]);
        sum += chains[0] + chains[1];
      }
      out[static_cast<size_t>(r * columns + j)] = sum;
    }
  _mm_setcsr(before);
  return out;
}

/// The bound of docs/numerics.md for products of bf16 by AMX, against sums of double.
void checkBound(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &product,
                int64_t rows, int64_t columns, int64_t depth) {
  const double u = 0x1p-24, least = 0x1p-126;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) {
      double exact = 0, magnitude = 0, lost = 2 * least * static_cast<double>(depth);
      for (int64_t k = 0; k < depth; ++k) {
        const double x = a[static_cast<size_t>(r * depth + k)], y = b[static_cast<size_t>(k * columns + j)];
        exact += x * y, magnitude += std::abs(x * y), lost += least * (std::abs(x) + std::abs(y));
      }
      const double bound = static_cast<double>(depth / 32 + 18) * u * magnitude + lost;
      ASSERT_LE(std::abs(product[static_cast<size_t>(r * columns + j)] - exact), bound)
          << rows << "x" << columns << "x" << depth << " at " << r << ", " << j;
    }
}

/// The order of a product by `way`, which its name in Schedule IR declares. Any: extents choose between a dot
/// and a chain, by which panels compute what the way cannot.
enum class Order { Chain, Dot, Any };
Order orderOf(Way way, const Case &x, bool transA, bool transB, bool isFloat, int64_t lanes) {
  const int64_t few = isFloat ? 8 : 4; // of integers of any depth
  const bool isFew = transB && (x.rows <= few || x.columns <= few);
  const bool isNarrow = !transB && isFloat && x.columns <= lanes / 2;
  if (way == Way::Dot && !transA && (isFew || isNarrow)) return Order::Dot;
  return way == Way::ByExtents || way == Way::Dot ? Order::Any : Order::Chain;
}

/// Whether panels have to report that they replaced `way`; nullopt: its conditions are not repeated here.
std::optional<bool> isReplaced(Way way, const Case &x, bool transA, bool transB) {
  if (x.rows == 0 || x.columns == 0 || x.batch == 0) return false; // nothing runs
  if (way == Way::Panels) return false;
  if (way == Way::Row) return transB || x.rows != 1;
  if (way == Way::Skinny && (transB || x.rows > 48 || x.rows > x.blockRows || x.depth == 0)) return true;
  if (way == Way::Dot && (transA || (transB && x.rows > 64 && x.columns > 64))) return true;
  if (way == Way::TwoByTwo && (x.rows != 2 || x.columns != 2 || x.depth != 2)) return true;
  return std::nullopt;
}

/// `group`: the steps of k of a word.
template <class Kind>
void check(Body body, int64_t lanes, int64_t group, const Case &x, bool transA, bool transB, bool hasEpilogue,
           bool atEnd, Way way = Way::ByExtents) {
  using In = typename Kind::In;
  using T = typename Kind::T;
  const int64_t strideA = (transA ? x.rows : x.depth) + x.extraA,
                strideB = (transB ? x.depth : x.columns) + x.extraB;
  const int64_t rowsA = transA ? x.depth : x.rows, rowsB = transB ? x.columns : x.depth;
  auto extent = [](int64_t rows, int64_t stride, int64_t extra) {
    return rows ? std::max<int64_t>(0, rows * stride - extra) : 0;
  };
  const int64_t eachA = rowsA * strideA, eachB = rowsB * strideB, strideC = x.columns + x.extraC;
  const int64_t countA = extent(rowsA * x.batch, strideA, x.extraA),
                countB = extent(rowsB * x.batch, strideB, x.extraB),
                countC = extent(x.rows * x.batch, strideC, x.extraC);
  In *a = guarded<In>('a', countA, atEnd), *b = guarded<In>('b', countB, atEnd);
  T *c = guarded<T>('c', countC, atEnd);
  std::minstd_rand random(static_cast<unsigned>(x.rows * 131 + x.columns * 17 + x.depth));
  const bool isTiny = (x.rows + x.columns + x.depth) % 3 == 0;
  for (int64_t i = 0; i < countA; ++i)
    a[i] = Kind::draw(static_cast<unsigned>(random()), isTiny);
  for (int64_t i = 0; i < countB; ++i)
    b[i] = Kind::draw(static_cast<unsigned>(random()), isTiny);
  const T poison =
      std::is_integral_v<T> ? std::numeric_limits<T>::min() + 5 : std::numeric_limits<T>::signaling_NaN();
  for (int64_t i = 0; i < countC; ++i)
    c[i] = poison;

  Problem p{};
  p.a = a, p.b = b, p.c = hasEpilogue ? nullptr : c;
  p.rows = x.rows, p.columns = x.columns, p.depth = x.depth;
  p.strideA = strideA, p.strideB = strideB, p.strideC = strideC;
  p.blockRows = x.blockRows, p.blockColumns = x.blockColumns;
  p.way = way;
  int64_t replaced = 0;
  p.isReplaced = way == Way::ByExtents ? nullptr : &replaced;
  // The same batch along two axes where it has a divisor.
  const int64_t inner = x.batch % 4 == 0 ? 4 : x.batch % 3 == 0 ? 3 : 1;
  const int64_t eachC = x.rows * strideC;
  p.batchAxes = 2, p.batchExtent[0] = x.batch / inner, p.batchExtent[1] = inner;
  p.batchA[0] = inner * eachA, p.batchB[0] = inner * eachB, p.batchC[0] = inner * eachC;
  p.batchA[1] = eachA, p.batchB[1] = eachB, p.batchC[1] = eachC;
  if (x.batch == 1) p.batchAxes = 0; // as products without a batch
  Sink sink{&p, c};
  uint64_t values[2] = {0, reinterpret_cast<uint64_t>(&sink)};
  p.epilogue = copyBlocks<T>, p.values = values, p.slot = 0, p.epilogueScratch = 64;
  const int64_t scratchBytes =
      64 + kPanelBytes + kRowsOfABytes + resultBytes(x.blockRows, x.blockColumns, sizeof(T));
  auto *scratch = guarded<uint8_t>('s', scratchBytes, true);
  // What fills up tiles is multiplied, and must not be NaN.
  if (std::is_same_v<Kind, Bf16Tiles>) std::memset(scratch, 0xff, static_cast<size_t>(scratchBytes));
  const int64_t programs = x.batch * ((x.rows + x.blockRows - 1) / x.blockRows) *
                           ((x.columns + x.blockColumns - 1) / x.blockColumns);
  // In three ranges, as several threads would.
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t before = TileEmulator::counts().configurations;
    body(&p, programs * i / 3, programs * (i + 1) / 3, scratch);
    ASSERT_LE(TileEmulator::counts().configurations - before, 1) << "tiles are configured once for a call";
    ASSERT_FALSE(TileEmulator::isConfigured());
  }

  if (const std::optional<bool> expected = isReplaced(way, x, transA, transB))
    if (way != Way::ByExtents)
      ASSERT_EQ(replaced, *expected) << kWayNames[static_cast<size_t>(way)] << " of " << x.rows << "x"
                                     << x.columns << "x" << x.depth;

  // Few columns of a B that is not transposed are copied.
  const bool isNarrow = sizeof(In) < sizeof(T);
  const bool copiesB = !std::is_integral_v<T> && x.columns <= lanes / 2 &&
                       (x.columns > 4 ? x.rows >= 24 && x.depth >= 128
                        : isNarrow    ? x.depth >= 16
                                      : x.rows >= 12 && x.depth >= 32);
  // Short dots of many results are for other bodies.
  auto areDots = [&](int64_t few, int64_t many, bool areRows) {
    if (few > 8 || std::is_integral_v<T>) return few <= 8;
    if (many <= 16) return group == 1 || few <= 2 || x.depth >= 16 * group;
    if (few <= 2) return x.depth >= (group > 1 && few == 2 && areRows ? 32 * group : lanes / 2);
    if (group == 1) return x.depth >= (few <= 4 ? 2 : 4) * lanes / (areRows ? 1 : 2);
    if (areRows) return few <= 4 && x.depth >= 128 * group;
    return x.depth >= (few <= 4 ? 16 : 64) * group;
  };
  const bool areTiny = !std::is_integral_v<T> && x.batch > 1 && x.columns == 1 && x.depth < lanes / 2;
  const bool isDotByExtents =
      !transA && !areTiny &&
      (transB ? areDots(x.rows, x.columns, true) || areDots(x.columns, x.rows, false)
              : (x.columns == 1 && strideB == 1 && areDots(1, x.rows, false)) || copiesB);
  const Order order = orderOf(way, x, transA, transB, !std::is_integral_v<T>, lanes);
  const bool isDot = order == Order::Any ? isDotByExtents : order == Order::Dot;
  const bool mayBeEither = way != Way::ByExtents && order == Order::Any && isDotByExtents;
  // Of those that do not fill tiles, the ones that are read where they are have the order of other bodies.
  const bool isTiled =
      std::is_same_v<Kind, Bf16Tiles> &&
      (way == Way::ByExtents ? fillsTiles(x.rows, x.columns, x.depth, 2) : way == Way::Panels);
  const bool mayBeTiled = std::is_same_v<Kind, Bf16Tiles> && !isTiled;
  // The operands are the same in all checks of a case.
  using Results = std::vector<std::vector<T>>;
  static std::map<std::array<int64_t, 9>, std::array<Results, 3>> known;
  auto &[right, inTiles, chains] =
      known[{x.rows, x.columns, x.depth, x.extraA, x.extraB, x.batch, transA, transB,
             isTiled ? -1
             : isDot ? lanes
                     : 0}];
  for (auto q = static_cast<int64_t>(right.size()); q < x.batch; ++q) {
    std::vector<T> ofA, ofB; // as [M, K] and [K, N], without gaps
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t k = 0; k < x.depth; ++k)
        ofA.push_back(Kind::wide(a[q * eachA + (transA ? k * strideA + r : r * strideA + k)]));
    for (int64_t k = 0; k < x.depth; ++k)
      for (int64_t j = 0; j < x.columns; ++j)
        ofB.push_back(Kind::wide(b[q * eachB + (transB ? j * strideB + k : k * strideB + j)]));
    if constexpr (std::is_same_v<Kind, Bf16Tiles>) {
      inTiles.push_back(tiledReferenceOf(ofA, ofB, x.rows, x.columns, x.depth));
      checkBound(ofA, ofB, inTiles.back(), x.rows, x.columns, x.depth);
      if (isTiled) {
        right.push_back(inTiles.back());
        continue;
      }
    }
    right.push_back(referenceOf(ofA, ofB, x.rows, x.columns, x.depth, isDot, lanes));
    chains.push_back(referenceOf(ofA, ofB, x.rows, x.columns, x.depth, false, lanes));
  }
  for (int64_t q = 0; q < x.batch; ++q) {
    const T *results = c + q * x.rows * strideC;
    // Returns the number of the first element that differs, or -1.
    auto difference = [&](const std::vector<T> &expected) {
      for (int64_t i = 0; i < x.rows * x.columns; ++i)
        if (std::memcmp(&results[i / x.columns * strideC + i % x.columns], &expected[static_cast<size_t>(i)],
                        sizeof(T)) != 0)
          return i;
      return int64_t{-1};
    };
    const std::vector<T> &expected = right[static_cast<size_t>(q)];
    const int64_t i = difference(expected);
    if (i < 0 || (mayBeEither && difference(chains[static_cast<size_t>(q)]) < 0) ||
        (mayBeTiled && difference(inTiles[static_cast<size_t>(q)]) < 0))
      continue;
    FAIL() << x.rows << "x" << x.columns << "x" << x.depth << " batch " << x.batch << (transA ? " At" : "")
           << (transB ? " Bt" : "") << " " << kWayNames[static_cast<size_t>(way)]
           << (hasEpilogue ? " epilogue" : "") << " at " << q << ", " << i / x.columns << ", "
           << i % x.columns << ": " << results[i / x.columns * strideC + i % x.columns] << " instead of "
           << expected[static_cast<size_t>(i)];
  }
  // Padding between rows is not written.
  for (int64_t r = 0; r + 1 < x.rows * x.batch; ++r)
    for (int64_t j = x.columns; j < strideC; ++j)
      if (std::memcmp(&c[r * strideC + j], &poison, sizeof poison) != 0)
        FAIL() << "padding is written at " << r << ", " << j;
}

/// `isForced`: by each way in turn, else by the one that the body chooses.
template <class Kind>
void checkAll(const char *dtype, const std::vector<Case> &cases, bool isForced = false) {
  for (const std::string &entry : levels) {
    const std::string level = entry.substr(0, 2);
    if (level == "v3" && std::strchr(dtype, '.')) continue;
    if (!runs(level, dtype)) {
      std::printf("not executed: this processor lacks what %s of %s needs\n", dtype, level.c_str());
      continue;
    }
    void *library = dlopen(entry.substr(3).c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    for (bool transA : {false, true})
      for (bool transB : {false, true}) {
        const std::string name =
            std::string("tsr.p.") + dtype + "." + (transA ? "t" : "n") + (transB ? "t" : "n");
        auto body = reinterpret_cast<Body>(dlsym(library, name.c_str()));
        ASSERT_TRUE(body) << name;
        const int64_t lanes = (level == "v4" ? 64 : 32) / int64_t(sizeof(typename Kind::T));
        const int64_t group = std::strchr(dtype, '.') ? 4 / int64_t(sizeof(typename Kind::In)) : 1;
        for (size_t i = 0; i < cases.size() && isForced; ++i)
          for (size_t way = 1; way < std::size(kWayNames); ++way) {
            SCOPED_TRACE(level + " " + name);
            check<Kind>(body, lanes, group, cases[i], transA, transB, (i / 2 + way) % 2, (i + way) % 2,
                        static_cast<Way>(way));
            if (testing::Test::HasFatalFailure()) return;
          }
        for (const Case &x : isForced ? std::vector<Case>() : cases)
          for (bool hasEpilogue : {false, true})
            for (bool atEnd : {false, true}) {
              SCOPED_TRACE(level + " " + name);
              check<Kind>(body, lanes, group, x, transA, transB, hasEpilogue, atEnd);
              if (testing::Test::HasFatalFailure()) return;
            }
      }
  }
}

std::vector<Case> edges() {
  std::vector<Case> cases;
  for (int64_t rows : {1, 2, 5, 7, 49})
    for (int64_t columns : {1, 4, 17, 33, 64, 65})
      for (int64_t depth : {0, 1, 19, 64})
        cases.push_back({rows, columns, depth, 1, 3, 2});
  for (int64_t rows : {0, 1, 3, 8, 12, 31, 48, 97})
    cases.push_back({rows, 129, 67, 0, 0, 0, 2});
  cases.push_back({5, 0, 3}), cases.push_back({0, 5, 3}), cases.push_back({5, 6, 3, 0, 0, 0, 0});
  for (int64_t n : {2, 4, 8, 16, 32}) // rows that share vectors, of a C with gaps
    cases.push_back({n, n, n, 0, 0, 1}), cases.push_back({3 * n, n, n, 0, 0, 1});
  for (int64_t n : {1, 3, 4, 5}) // vectors and few columns, without gaps
    cases.push_back({n, 131, 77}), cases.push_back({131, n, 77, 0, 0, 0, 2});
  for (int64_t n : {1, 2, 6, 7}) // few columns, rows up to one past those of a vector and of a block
    for (int64_t rows : {8, 15, 16, 17, 48, 97})
      cases.push_back({rows, n, 9, 1, 2, 3, 2});
  for (int64_t n : {1, 2, 3, 4, 5, 8, 9}) // few columns that are copied, and one row or step less than that
    for (auto [rows, depth] :
         n <= 4 ? std::array<std::pair<int64_t, int64_t>, 4>{{{12, 32}, {11, 32}, {12, 31}, {5, 15}}}
                : std::array<std::pair<int64_t, int64_t>, 4>{{{24, 128}, {23, 128}, {24, 127}, {67, 139}}})
      cases.push_back({rows, n, depth, 1, n % 3, 2, 2});
  for (auto [few, depth] :
       {std::pair<int64_t, int64_t>{2, 64}, {3, 16}, {3, 32}, {4, 256}, {5, 64}, {8, 128}})
    for (int64_t less : {0, 1}) // the least depth of a dot of few rows or columns, and one step less
      cases.push_back({few, 18, depth - less, 1, 0, 1}), cases.push_back({18, few, depth - less, 1, 0, 1});
  for (int64_t n : {1, 4, 8, 15, 16, 32}) // batches
    cases.push_back({n, n, n, 0, 0, 0, 7});
  cases.push_back({2, 2, 2, 0, 0, 0, 33}),
      cases.push_back({2, 2, 2, 0, 0, 1, 33}); // products that share vectors
  for (int64_t n : {4, 8, 16, 32}) {           // rows that share vectors, and one row, column or step more
    cases.push_back({n, n, n, 0, 0, 0, 9, n, n}), cases.push_back({3 * n, n, n, 0, 0, 0, 3, n, n});
    cases.push_back({6 * n, n, n}), cases.push_back({n, n, n, 0, 1, 0, 2}),
        cases.push_back({n, n, n, 1, 0, 0, 2});
    cases.push_back({n, n, n, 0, 0, 1, 2}), cases.push_back({2 * n + 1, n, n, 0, 0, 0, 2});
    cases.push_back({n, n, n + 1, 0, 0, 0, 2}), cases.push_back({n, n + 1, n, 0, 0, 0, 2});
    cases.push_back({n, n, n, 0, 0, 0, 2, 8, n}); // blocks of fewer rows
  }
  for (int64_t n : {7, 8, 9, 17}) // two rows or columns, by as many as are added in one vector and one more
    cases.push_back({2, n, 70, 0, 0, 0, 2}), cases.push_back({n, 2, 70, 1, 0, 1, 2});
  for (int64_t n = 2; n <= 6; ++n) // so many that a table for tiny ones pays, up to one past its extents
    cases.push_back({n, n, n, 0, 0, 0, 200});
  cases.push_back({3, 5, 4, 0, 0, 0, 200}), cases.push_back({3, 5, 4, 1, 0, 1, 200});
  cases.push_back({2003, 3, 3}), cases.push_back({2003, 2, 5}), cases.push_back({2003, 4, 4, 0, 0, 0, 2});
  for (int64_t rows = 1; rows <= 34; ++rows) // every height of a micro-kernel, of one to four vectors
    cases.push_back({rows, 5 + rows * 11 % 60, 7, 1, 2, 3, 3});
  return cases;
}
std::vector<Case> large() {
  return {{70, 70, 1031},
          {1, 1000, 1029},
          {9, 200, 2051, 1, 1, 1},
          {33, 150, 1100},
          {4, 37, 1100}, // one block in registers
          {1, 4200, 37},
          {129, 65, 530, 0, 5},
          {600, 66, 20, 0, 0, 0, 1},
          {100, 300, 80, 0, 0, 0, 1, 96, 256},
          {50, 260, 300},
          {2, 4200, 35},
          {12, 1000, 301, 1, 7, 3},
          {48, 330, 401},
          {40, 1500, 130},
          {33, 700, 390, 1, 7},
          {100, 70, 1000}, // a depth that packed rows of a transposed A do not hold
          {17, 200, 150, 2, 3, 1, 2},
          {16, 200, 150, 2, 3, 1, 2}, // rows for which B is packed, and one less
          {5000, 1, 21},
          {900, 6, 40, 3, 1},
          {48, 64, 130}, // a narrow B that is read in place by AVX2, and one row, column or batch more
          {49, 64, 130},
          {48, 65, 130},
          {48, 64, 130, 0, 0, 0, 2},
          {100, 600, 300}, // panels of several blocks of columns
          {150, 330, 1100, 1, 0, 1},
          {40, 100, 50, 1, 0, 1, 2, 32, 16}, // blocks of other extents than register blocks
          {70, 200, 90, 0, 0, 0, 1, 64, 48}};
}
/// Edges, and depths past those that a packed operand has room for.
std::vector<Case> narrow() {
  std::vector<Case> cases = edges();
  for (int64_t depth : {2, 3, 5, 63, 65, 127, 130})
    cases.push_back({13, 70, depth, 1, 1, 1, 2});
  for (int64_t rows :
       {2, 3, 4, 5, 8, 9}) // rows and steps for which AVX2 reads B in place, and one more or less
    for (int64_t columns : {31, 32, 63, 64})
      for (int64_t depth : {63, 64})
        cases.push_back({rows, columns, depth, 1, 2, 1});
  for (int64_t rows : {9, 12, 13}) // the same of a B that is not in a near cache
    cases.push_back({rows, 1030, 270, 1, 2, 1});
  const std::vector<Case> more = {{70, 70, 1031},
                                  {50, 65, 2061, 1, 0, 2},
                                  {9, 130, 4107},
                                  {7, 20, 8200},
                                  {197, 130, 70},
                                  {100, 300, 80, 0, 0, 0, 1, 96, 256},
                                  {1, 300, 515, 1},
                                  {33, 700, 390, 1, 7},
                                  {100, 70, 1000}, // a depth that packed rows of a transposed A do not hold
                                  {17, 200, 150, 2, 3, 1, 2},
                                  {16, 200, 150, 2, 3, 1, 2}, // rows for which B is packed, and one less
                                  {40, 8, 300, 1},
                                  {100, 600, 130}, // panels of several blocks of columns
                                  {250, 200, 2100},
                                  {150, 140, 4100, 1, 0, 1}, // whose sums wait for an epilogue
                                  {40, 100, 50, 1, 0, 1, 2, 32, 16},
                                  {70, 200, 90, 0, 0, 0, 1, 64, 48}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

} // namespace

TEST(Body, F32AtEdges) { checkAll<F32>("f32", edges()); }
TEST(Body, F64AtEdges) { checkAll<F64>("f64", edges()); }
TEST(Body, F32InBlocks) { checkAll<F32>("f32", large()); }
TEST(Body, F64InBlocks) { checkAll<F64>("f64", large()); }
TEST(Body, F16) { checkAll<F16>("f16", narrow()); }
TEST(Body, Bf16) { checkAll<Bf16>("bf16", narrow()); }
TEST(Body, Bf16Dots) { checkAll<Bf16>("bf16.dot", narrow()); }
TEST(Body, I8) { checkAll<I8>("i8", narrow()); }
TEST(Body, I8Quads) { checkAll<I8>("i8.dot", narrow()); }
TEST(Body, F32ByEachWay) { checkAll<F32>("f32", edges(), true); }
TEST(Body, F64ByEachWay) { checkAll<F64>("f64", edges(), true); }
TEST(Body, F16ByEachWay) { checkAll<F16>("f16", edges(), true); }
TEST(Body, Bf16ByEachWay) { checkAll<Bf16>("bf16", edges(), true); }
TEST(Body, Bf16DotsByEachWay) { checkAll<Bf16>("bf16.dot", edges(), true); }
TEST(Body, I8ByEachWay) { checkAll<I8>("i8", edges(), true); }
TEST(Body, I8QuadsByEachWay) { checkAll<I8>("i8.dot", edges(), true); }
/// Products in tiles, one row, column and step of k around a tile, a block of tiles and a panel.
std::vector<Case> tiled() {
  std::vector<Case> cases = narrow();
  for (int64_t rows : {9, 15, 16, 17, 31, 32, 33, 48})
    for (int64_t columns : {15, 16, 17, 31, 32, 33, 67})
      cases.push_back({rows, columns, 61 + rows, 1, 3, 2, 2});
  for (int64_t depth : {31, 32, 33, 47, 61, 96, 509, 511, 512, 513, 1023, 1024, 1025})
    cases.push_back({37, 41, depth, 1, 1, 1});
  return cases;
}
void checkTiles(const char *body, auto checkBody) {
  const int64_t before = TileEmulator::counts().multiplies;
  checkBody(body);
  if (!hasTiles() && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16"))
    EXPECT_GT(TileEmulator::counts().multiplies, before);
  EXPECT_EQ(TileEmulator::counts().configurations, TileEmulator::counts().releases);
}
TEST(Body, I8Tiles) {
  checkTiles("i8.amx", [](const char *body) { checkAll<I8>(body, tiled()); });
}
TEST(Body, U8Tiles) {
  checkTiles("u8.amx", [](const char *body) { checkAll<U8>(body, tiled()); });
}
TEST(Body, I8TilesByEachWay) {
  checkTiles("i8.amx", [](const char *body) { checkAll<I8>(body, edges(), true); });
}
TEST(Body, Bf16TilesByEachWay) {
  checkTiles("bf16.amx", [](const char *body) { checkAll<Bf16Tiles>(body, edges(), true); });
}
TEST(Body, Bf16Tiles) {
  checkTiles("bf16.amx", [](const char *body) { checkAll<Bf16Tiles>(body, tiled()); });
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    levels.emplace_back(argv[i]);
  return levels.empty() ? 2 : RUN_ALL_TESTS();
}
