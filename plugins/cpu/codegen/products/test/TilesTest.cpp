// Functions for products of tiles of bf16 by vdpbf16ps, which `mma` of tile kernels calls, against a chain
// per element, bit by bit.
#include "plugins/cpu/codegen/products/test/BodyTest.h"

using namespace tessera::cpu::product;
using namespace tessera::cpu::product::test;

namespace {

using TileProduct = void (*)(const uint16_t *a, int64_t rowStride, int64_t columnStride, const uint32_t *b,
                             int64_t strideB, float *c, int64_t strideC, int64_t rows, int64_t columns,
                             int64_t depth);

/// A product of tiles, of an A that is adjacent along k, along its rows or nowhere.
void checkTile(TileProduct product, int64_t rows, int64_t columns, int64_t depth, int64_t rowStride,
               int64_t columnStride, bool isTiny) {
  const int64_t extent = rows && depth ? (rows - 1) * rowStride + (depth - 1) * columnStride + 1 : 0;
  const int64_t words = (depth + 1) / 2, width = (columns + 15) / 16 * 16;
  uint16_t *a = guarded<uint16_t>('a', extent, true);
  uint32_t *b = guarded<uint32_t>('b', words * width, true);
  float *c = guarded<float>('c', rows * width, true);
  std::minstd_rand random(static_cast<unsigned>(rows * 131 + columns * 17 + depth));
  auto draw = [&] { return Bf16::draw(static_cast<unsigned>(random()), isTiny); };
  std::generate_n(a, extent, draw);
  std::vector<float> ofA, ofB;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < depth; ++k)
      ofA.push_back(Bf16::wide(a[r * rowStride + k * columnStride]));
  std::fill_n(b, words * width, 0x7fc07fc0u); // what is no part of B is NaN
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      const uint32_t x = draw();
      uint32_t &word = b[k / 2 * width + j];
      word = k % 2 ? (word & 0xffff0000u) | x : x << 16 | (word & 0xffffu);
      ofB.push_back(Bf16::wide(static_cast<uint16_t>(x)));
    }
  const float poison = std::numeric_limits<float>::signaling_NaN();
  std::fill_n(c, rows * width, poison);
  product(a, rowStride, columnStride, b, width, c, width, rows, columns, depth);
  const std::vector<float> right = referenceOf(ofA, ofB, rows, columns, depth, false, 16);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < width; ++j) {
      const float expected = j < columns ? right[static_cast<size_t>(r * columns + j)] : poison;
      ASSERT_EQ(std::bit_cast<uint32_t>(c[r * width + j]), std::bit_cast<uint32_t>(expected))
          << rows << "x" << columns << "x" << depth << " strides " << rowStride << ", " << columnStride
          << " at " << r << ", " << j;
    }
}

} // namespace

TEST(Body, TilesOfBf16) {
  for (const std::string &entry : levels) {
    const std::string level = entry.substr(0, 2);
    if (level == "v3") continue;
    if (!runs(level, "bf16.dot")) {
      std::printf("not executed: this processor lacks what tiles of bf16 need\n");
      continue;
    }
    void *library = dlopen(entry.substr(3).c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    auto product = reinterpret_cast<TileProduct>(dlsym(library, "tsr.p.bf16.dot.tile"));
    ASSERT_TRUE(product);
    // One past a group of rows, a register block, a vector, a pair and the words that are packed at a time.
    for (int64_t rows : {0, 1, 8, 31, 33, 64})
      for (int64_t columns : {0, 1, 16, 17, 47, 48, 65, 128})
        for (int64_t depth : {0, 1, 2, 33, 64, 257})
          for (bool isTiny : {false, true})
            for (auto [rowStride, columnStride] :
                 {std::pair<int64_t, int64_t>{depth + 3, 1}, {1, rows + 1}, {2, 2 * rows + 1}}) {
              checkTile(product, rows, columns, depth, rowStride, columnStride, isTiny);
              if (HasFatalFailure()) return;
            }
  }
}

namespace {

using RowsProduct = void (*)(const void *a, int64_t rowStrideA, int64_t columnStrideA, int64_t isWide,
                             const uint16_t *b, int64_t rowStrideB, int64_t columnStrideB, float *c,
                             int64_t strideC, int64_t rows, int64_t columns, int64_t depth);

/// How far the elements of [rows, columns] are apart.
struct Strides {
  int64_t row, column;
  int64_t extent(int64_t rows, int64_t columns) const {
    return rows && columns ? (rows - 1) * row + (columns - 1) * column + 1 : 0;
  }
};

/// A product of rows, of an A that is bf16 or f32 and of a B in any order. C begins with NaN.
void checkRows(RowsProduct product, int64_t rows, int64_t columns, int64_t depth, Strides ofA, Strides ofB,
               bool isWide, bool isTiny) {
  const int64_t extentA = ofA.extent(rows, depth), extentB = ofB.extent(depth, columns), width = columns + 3;
  auto *narrow = guarded<uint16_t>('a', isWide ? 0 : extentA, true);
  auto *wide = guarded<float>('w', isWide ? extentA : 0, true);
  auto *b = guarded<uint16_t>('b', extentB, true);
  auto *c = guarded<float>('c', rows * width, true);
  std::minstd_rand random(static_cast<unsigned>(rows * 131 + columns * 17 + depth));
  auto draw = [&] { return Bf16::draw(static_cast<unsigned>(random()), isTiny); };
  if (isWide)
    std::generate_n(wide, extentA, [&] { return Bf16::wide(draw()); });
  else
    std::generate_n(narrow, extentA, draw);
  std::generate_n(b, extentB, draw);
  std::vector<float> left, right;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = r * ofA.row + k * ofA.column;
      left.push_back(isWide ? wide[at] : Bf16::wide(narrow[at]));
    }
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t j = 0; j < columns; ++j)
      right.push_back(Bf16::wide(b[k * ofB.row + j * ofB.column]));
  const float poison = std::numeric_limits<float>::signaling_NaN();
  std::fill_n(c, rows * width, poison);
  product(isWide ? static_cast<void *>(wide) : narrow, ofA.row, ofA.column, isWide, b, ofB.row, ofB.column, c,
          width, rows, columns, depth);
  const std::vector<float> sums = referenceOf(left, right, rows, columns, depth, false, 16);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < width; ++j) {
      const float expected = j < columns ? sums[static_cast<size_t>(r * columns + j)] : poison;
      ASSERT_EQ(std::bit_cast<uint32_t>(c[r * width + j]), std::bit_cast<uint32_t>(expected))
          << rows << "x" << columns << "x" << depth << (isWide ? " f32" : "") << (isTiny ? " tiny" : "")
          << " strides " << ofA.row << ", " << ofA.column << "; " << ofB.row << ", " << ofB.column << " at "
          << r << ", " << j;
    }
}

} // namespace

TEST(Body, RowsOfBf16) {
  for (const std::string &entry : levels) {
    const std::string level = entry.substr(0, 2);
    if (level == "v3") continue;
    if (!runs(level, "bf16.dot")) {
      std::printf("not executed: this processor lacks what rows of bf16 need\n");
      continue;
    }
    void *library = dlopen(entry.substr(3).c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    auto product = reinterpret_cast<RowsProduct>(dlsym(library, "tsr.p.bf16.dot.rows"));
    ASSERT_TRUE(product);
    // One past a register block, a vector, a pair, and what is packed at a time.
    for (int64_t rows : {0, 1, 2, 7, 12, 65})
      for (int64_t columns : {0, 1, 16, 17, 33, 64, 65, 131})
        for (int64_t depth : {0, 1, 2, 33, 64, 129, 257})
          for (bool isTiny : {false, true})
            for (bool isWide : {false, true})
              for (Strides ofA : {Strides{depth + 3, 1}, {1, rows + 1}})
                for (Strides ofB : {Strides{columns + 3, 1}, {1, depth + 1}, {2 * columns + 1, 2}}) {
                  checkRows(product, rows, columns, depth, ofA, ofB, isWide, isTiny);
                  if (HasFatalFailure()) return;
                }
  }
}
