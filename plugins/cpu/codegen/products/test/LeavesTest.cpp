// Products in leaves that are joined pairwise, the order of the profile strict, bit by bit (docs/strict.md).
#include "plugins/cpu/codegen/products/Leaves.h"
#include "plugins/cpu/codegen/products/test/BodyTest.h"

using namespace tessera::cpu::product;
using namespace tessera::cpu::product::test;

namespace {

using LeavesBody = void (*)(const Problem *, const Leaves *, int64_t, int64_t, uint8_t *);

/// A product in the order of fixed_reductions. `offset`: elements from an aligned address to B.
template <class Kind>
void checkLeaves(LeavesBody leavesBody, Body body, const Case &x, int64_t steps, bool transA, bool transB,
                 int64_t offset) {
  using T = typename Kind::T;
  const int64_t rowsA = transA ? x.depth : x.rows, rowsB = transB ? x.columns : x.depth;
  const int64_t strideA = (transA ? x.rows : x.depth) + x.extraA,
                strideB = (transB ? x.depth : x.columns) + x.extraB, strideC = x.columns;
  const int64_t countA = rowsA * strideA - x.extraA, countB = offset + rowsB * strideB - x.extraB;
  T *a = guarded<T>('a', countA, true), *b = guarded<T>('b', countB, offset == 0) + offset;
  T *c = guarded<T>('c', x.rows * x.columns, true);
  std::minstd_rand random(static_cast<unsigned>(x.rows * 131 + x.columns * 17 + x.depth));
  std::generate_n(a, countA, [&] { return Kind::draw(static_cast<unsigned>(random()), false); });
  std::generate_n(b, countB - offset, [&] { return Kind::draw(static_cast<unsigned>(random()), false); });
  std::fill_n(c, x.rows * x.columns, std::numeric_limits<T>::signaling_NaN());
  Problem p{};
  p.a = a, p.b = b, p.rows = x.rows, p.columns = x.columns, p.depth = x.depth;
  p.strideA = strideA, p.strideB = strideB, p.strideC = strideC;
  p.blockRows = x.blockRows, p.blockColumns = x.blockColumns, p.isChain = 1;
  Sink sink{&p, c};
  uint64_t values[2] = {0, reinterpret_cast<uint64_t>(&sink)};
  p.epilogue = copyBlocks<T>, p.values = values, p.epilogueScratch = 64;
  const int64_t digits =
      64 + kPanelBytes + kRowsOfABytes + resultBytes(x.blockRows, x.blockColumns, sizeof(T));
  const Leaves leaves = {body, steps, steps * int64_t(sizeof(T)) * (transA ? strideA : 1),
                         steps * int64_t(sizeof(T)) * (transB ? 1 : strideB), digits};
  auto *scratch = guarded<uint8_t>('s', digits + kDigitBytes, true);
  const int64_t programs =
      ((x.rows + x.blockRows - 1) / x.blockRows) * ((x.columns + x.blockColumns - 1) / x.blockColumns);
  for (int64_t i = 0; i < 3; ++i) // in ranges, as threads would
    leavesBody(&p, &leaves, programs * i / 3, programs * (i + 1) / 3, scratch);
  std::vector<std::vector<T>> tree; // the results of leaves, then of pairs of them
  for (int64_t k = 0; k < x.depth; k += steps) {
    std::vector<T> ofA, ofB;
    const int64_t end = std::min(x.depth, k + steps);
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t i = k; i < end; ++i)
        ofA.push_back(a[transA ? i * strideA + r : r * strideA + i]);
    for (int64_t i = k; i < end; ++i)
      for (int64_t j = 0; j < x.columns; ++j)
        ofB.push_back(b[transB ? j * strideB + i : i * strideB + j]);
    tree.push_back(referenceOf(ofA, ofB, x.rows, x.columns, end - k, false, 1));
  }
  if (tree.empty()) tree.emplace_back(static_cast<size_t>(x.rows * x.columns), T(0));
  while (tree.size() > 1) {
    std::vector<std::vector<T>> joined;
    for (size_t i = 0; i < tree.size(); i += 2) {
      joined.push_back(tree[i]);
      for (size_t e = 0; i + 1 < tree.size() && e < tree[i].size(); ++e)
        joined.back()[e] = tree[i][e] + tree[i + 1][e];
    }
    tree = std::move(joined);
  }
  for (int64_t i = 0; i < x.rows * x.columns; ++i)
    ASSERT_EQ(std::memcmp(&c[i], &tree[0][static_cast<size_t>(i)], sizeof(T)), 0)
        << x.rows << "x" << x.columns << "x" << x.depth << " leaves of " << steps << (transA ? " At" : "")
        << (transB ? " Bt" : "") << " offset " << offset << " at " << i / x.columns << ", " << i % x.columns
        << ": " << c[i] << " instead of " << tree[0][static_cast<size_t>(i)];
}

/// Every row up to one past those that have a way of their own, and edges of vectors, leaves and blocks.
template <class Kind> void checkLeavesOf(const std::string &dtype) {
  for (const std::string &entry : levels) {
    const std::string level = entry.substr(0, 2);
    if (!runs(level, dtype)) continue;
    void *library = dlopen(entry.substr(3).c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    for (const char *form : {"nn", "nt", "tn", "tt"}) {
      SCOPED_TRACE(level + " " + dtype + "." + form);
      auto body = reinterpret_cast<Body>(dlsym(library, ("tsr.p." + dtype + "." + form).c_str()));
      ASSERT_TRUE(body);
      const char *join = std::string_view(form) == "nt" ? ".transposed" : ".leaves";
      auto leaves = reinterpret_cast<LeavesBody>(dlsym(library, ("tsr.p." + dtype + join).c_str()));
      ASSERT_TRUE(leaves);
      for (int64_t rows = 1; rows <= 17; ++rows)
        for (int64_t columns : {1, 7, 16, 33, 65, 128})
          for (int64_t depth : {0, 1, 16, 31, 64, 65, 200, 449})
            for (int64_t extra : {0, 1, 64 - int(depth % 16)})
              for (int64_t offset : {0, 1, 4, 15}) {
                checkLeaves<Kind>(leaves, body, {rows, columns, depth, extra, extra}, 64, form[0] == 't',
                                  form[1] == 't', offset);
                if (testing::Test::HasFatalFailure()) return;
              }
      for (const Case &x : {Case{1, 150, 2100}, Case{8, 70, 1793, 3, 1}, Case{49, 66, 1025, 0, 2},
                            Case{100, 70, 513}, Case{12, 33, 1024}, Case{13, 33, 1024}, Case{16, 33, 1000},
                            Case{5, 40, 700, 1, 1, 0, 1, 4, 16}}) {
        checkLeaves<Kind>(leaves, body, x, 256, form[0] == 't', form[1] == 't', 0);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

} // namespace

TEST(Body, LeavesOfF32) { checkLeavesOf<F32>("f32"); }
TEST(Body, LeavesOfF64) { checkLeavesOf<F64>("f64"); }
