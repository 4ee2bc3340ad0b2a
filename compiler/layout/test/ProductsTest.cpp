#include "compiler/layout/Products.h"
#include "compiler/layout/Access.h"
#include <bit>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

int64_t ofBits(const std::vector<int64_t> &images, int64_t number) {
  int64_t sum = 0;
  for (size_t i = 0; i < images.size(); ++i)
    sum ^= number >> i & 1 ? images[i] : 0;
  return sum;
}

/// Each register of each warp belongs to one instruction, at the place where the tile's layout has it.
TEST(Products, AreDividedAmongInstructions) {
  int products = 0;
  for (const Fragment &f : allFragments()) {
    if (f.warps() != 1) continue;
    const TileLayout own = f.layout(Operand::C);
    for (WarpGrid grid : {WarpGrid{1, 1}, WarpGrid{4, 2}, WarpGrid{2, 4}, WarpGrid{8, 1}})
      for (auto [m, n] : std::initializer_list<std::pair<int64_t, int64_t>>{
               {1, 1}, {128, 256}, {64, 112}, {96, 176}, {192, 64}, {80, 48}}) {
        const auto mnk = paddedProduct(f, grid, {m, n, 1});
        const TileLayout sums = operandLayout(f, Operand::C, grid, {mnk[0], mnk[1]});
        const ProductPlan plan(f, grid, mnk);
        ASSERT_EQ(plan.down * plan.across * own.registers(), sums.registers());
        std::set<int64_t> used;
        for (int64_t w = 0; w < sums.warps(); ++w)
          for (int64_t i = 0; i < plan.down; ++i)
            for (int64_t j = 0; j < plan.across; ++j)
              for (int64_t r = 0; r < own.registers(); ++r)
                for (int64_t l : {int64_t(0), int64_t(5), own.lanes() - 1}) {
                  At at = own.at(r, l, 0);
                  at[0] += ofBits(plan.rowOfWarp, w) + i * plan.rows;
                  at[1] += ofBits(plan.columnOfWarp, w) + j * plan.columns;
                  ASSERT_EQ(sums.at(plan.firstRegister(i, j) + r, l, w), at) << f.name;
                  used.insert(plan.firstRegister(i, j) + r);
                }
        ASSERT_EQ(int64_t(used.size()), sums.registers());
        ++products;
      }
  }
  EXPECT_GT(products, 200);
}

/// Plays the load as the PTX manual describes ldmatrix, with the elements' indices as values.
TEST(Products, LoadMatrices) {
  std::map<std::string, std::string> loads;
  for (const Fragment &f : allFragments())
    for (auto [operand, letter] : {std::pair{Operand::A, 'A'}, {Operand::B, 'B'}, {Operand::C, 'C'}})
      for (unsigned bytes : {1u, 2u, 4u})
        for (bool isStoredTransposed : {false, true}) {
          const std::optional<MatrixLoad> load = matrixLoad(f, operand, bytes, isStoredTransposed);
          if (!load) continue;
          const TileLayout own = f.layout(operand);
          loads[std::string(f.name) + " " + letter + (bytes == 1 ? " 8" : "") +
                (isStoredTransposed ? " t" : "")] =
              "x" + std::to_string(load->count) + (load->isTransposed ? ".trans" : "");
          ASSERT_LE(load->lane.size(), 5u);
          auto row = [&](int64_t matrix, int64_t r) {
            const Bits lane = Bits(8 * matrix + r) & ((Bits(1) << load->lane.size()) - 1);
            return own.unit.index(0, applyBases(load->lane, lane));
          };
          const int64_t perWord = 4 / bytes;
          for (int64_t l = 0; l < 32; ++l)
            for (int64_t word = 0; word < load->count; ++word)
              for (int64_t part = 0; part < perWord; ++part) {
                int64_t r = l / 4, c = l % 4 * perWord + part;
                int64_t matrix = word;
                if (!load->words.empty()) { // pairs of bytes: of rows 2 (l mod 4) and the next, in one column
                                            // of pairs
                  const auto [first, second, isOdd] = load->words[size_t(word)];
                  matrix = part < 2 ? first : second;
                  r = l % 4 * 2 + part % 2, c = l / 4 * 2 + isOdd;
                } else if (load->isTransposed) {
                  std::swap(r, c);
                }
                At at = row(matrix, r); // the row's elements are next to each other
                at[isStoredTransposed ? 0 : 1] += c;
                ASSERT_EQ(own.at(perWord * word + part, l, 0), at) << f.name << letter;
              }
        }
  EXPECT_EQ(loads["mma.m16n8k16 A"], "x4");
  EXPECT_EQ(loads["mma.m16n8k16 B"], "x2.trans");
  EXPECT_EQ(loads["mma.m16n8k8 A"], "x2");
  EXPECT_EQ(loads["mma.m16n8k8 B"], "x1.trans");
  EXPECT_EQ(loads["mma.m16n8k16 A t"], "x4.trans");
  EXPECT_EQ(loads["mma.m16n8k16 B t"], "x2");
  EXPECT_EQ(loads["mma.m16n8k32.i8 A 8"], "x4");
  EXPECT_EQ(loads["mma.m16n8k32.i8 B 8 t"], "x2");
  EXPECT_FALSE(loads.contains("mma.m16n8k32.i8 B 8"));
  for (const char *suffix : {"", ".i8"}) {
    EXPECT_EQ(loads[std::string("mma.m16n16k32") + suffix + ".nn B 8"], "x4.trans");
    EXPECT_EQ(loads[std::string("mma.m16n16k32") + suffix + ".tn B 8"], "x4.trans");
    EXPECT_EQ(loads[std::string("mma.m16n16k32") + suffix + ".tn A 8 t"], "x4.trans");
    EXPECT_EQ(loads[std::string("mma.m16n8k32") + suffix + ".tt A 8 t"], "x4.trans");
    EXPECT_EQ(loads[std::string("mma.m16n8k32") + suffix + ".tt B 8 t"], "x2");
  }
  EXPECT_EQ(loads["mma.m8n8k16.i8.n2 B 8"], "x2.trans");
  EXPECT_EQ(loads["mma.m8n8k16.i8.m2 A 8 t"], "x2.trans");
  EXPECT_EQ(loads["mma.m8n8k16.i8.m2n2 A 8 t"], "x2.trans");
  EXPECT_EQ(loads["mma.m8n8k16.i8.m2n2 B 8"], "x2.trans");
  EXPECT_FALSE(loads.contains("mfma.16x16x16 A"));
  EXPECT_FALSE(loads.contains("dpas.8x16x16 B"));
}

/// Eight rows of one chunk are in eight groups of banks, and a row's chunks stay in the row.
TEST(Products, SwizzledRowsHaveNoConflicts) {
  constexpr int64_t kChunk = 16;
  int64_t permuted = 0;
  for (int64_t chunks = 1; chunks <= 64; ++chunks) {
    const Swizzle s = swizzleOf(chunks * kChunk);
    auto place = [&](int64_t row, int64_t chunk) {
      return row * chunks + (chunk ^ (row / s.rows % s.chunks));
    };
    permuted += !s.isNone();
    for (int64_t first = 0; first < 64; first += 8)
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        std::set<int64_t> groups;
        for (int64_t row = first; row < first + 8; ++row)
          groups.insert(place(row, chunk) % 8);
        ASSERT_EQ(groups.size(), 8u) << chunks << " chunks, row " << first;
        std::set<int64_t> inRow;
        for (int64_t c = 0; c < chunks; ++c)
          inRow.insert(place(first, c) - first * chunks);
        ASSERT_EQ(int64_t(inRow.size()), chunks);
        ASSERT_EQ(*inRow.rbegin(), chunks - 1);
      }
    // What the cost model of layouts says of a phase, where rows are powers of two.
    if (std::has_single_bit(uint64_t(chunks))) {
      WarpAccess access{{}, 16};
      for (int64_t row : {1, 2, 4})
        access.lanes.push_back(Bits(place(row, 0) * kChunk));
      EXPECT_EQ(wavefronts(access), phases(access)) << chunks;
    }
  }
  EXPECT_EQ(permuted, 32); // an odd number of chunks needs none
  EXPECT_TRUE(swizzleOf(40).isNone());
}

} // namespace
} // namespace tessera::layout
