#include "compiler/layout/TileLayout.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Fragments.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

Coordinates coordinates(const Unit &unit, const BitsList &bases) {
  Coordinates all;
  for (Bits b : bases) {
    At at(unit.rank());
    for (size_t d = 0; d < unit.rank(); ++d)
      at[d] = unit.onAxis(b, d);
    all.push_back(at);
  }
  return all;
}

TEST(TileLayout, OfTheDocumentation) {
  auto acc = TileLayout::fromCoordinates({{0, 1}, {8, 0}, {0, 8}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}},
                                         {{16, 0}, {32, 0}, {64, 0}}, {1, 11});
  ASSERT_TRUE(acc);
  EXPECT_EQ(acc->unit.shape(), (At{128, 176}));
  EXPECT_EQ(*acc, operandLayout(*findFragment("wgmma.m64n8k16"), Operand::C, {8, 1}, {128, 176}));
  EXPECT_EQ(acc->text(), "reg = [[0,1], [8,0], [0,8]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], "
                         "warp = [[16,0], [32,0], [64,0]], repeat = [1, 11]");
  EXPECT_EQ(acc->registers(), 88);
  EXPECT_EQ(acc->at(8 * 10 + 3, 9, 5), (At{16 * 5 + 2 + 8, 160 + 1 + 2}));

  const Coordinates swizzle = {{0, 1},  {0, 2}, {0, 4},  {0, 8},  {0, 16},
                               {0, 32}, {1, 8}, {2, 16}, {4, 32}, {8, 0}};
  auto keys = SharedLayout::fromCoordinates(swizzle, {11, 1});
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->unit.shape(), (At{176, 64}));
  EXPECT_EQ(*keys, *SharedLayout::swizzled(At{176, 64}, 1, 2, 128));
  EXPECT_EQ(keys->text(),
            "offset = [[0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [1,8], [2,16], [4,32], [8,0]], "
            "repeat = [11, 1]");
}

TEST(TileLayout, IsReadFromItsCoordinates) {
  for (const Fragment &f : allFragments())
    for (Operand operand : {Operand::A, Operand::B, Operand::C}) {
      if (!f.isInRegisters(operand)) continue;
      TileLayout tile = operandLayout(f, operand, {f.warps(), 2}, {384, 256});
      const Unit &u = tile.unit;
      auto read = TileLayout::fromCoordinates(coordinates(u, tile.reg), coordinates(u, tile.lane),
                                              coordinates(u, tile.warp), u.repeat);
      ASSERT_TRUE(read);
      EXPECT_EQ(*read, tile);
    }
}

TEST(TileLayout, IsRefusedWithAReason) {
  auto message = [](const Coordinates &reg, const Coordinates &lane, At repeat) {
    auto layout = TileLayout::fromCoordinates(reg, lane, {}, std::move(repeat));
    return layout ? "" : layout.error().message;
  };
  EXPECT_EQ(message({{1}}, {}, {1}), "");
  EXPECT_EQ(message({}, {}, {1}), "") << "one element";
  EXPECT_EQ(message({{1}}, {}, {}), "a layout needs 'repeat', one odd number for each axis");
  EXPECT_EQ(message({{1}}, {}, {2}), "repeat 2 is not odd and positive; powers of two belong to the bases");
  EXPECT_EQ(message({{1}}, {}, {-1}), "repeat -1 is not odd and positive; powers of two belong to the bases");
  EXPECT_EQ(message({{1, 2}}, {}, {1}), "base [1, 2] has 2 coordinates, 'repeat' has 1 axes");
  EXPECT_EQ(message({{-4}}, {}, {1}), "coordinate -4 is not between 0 and 1048575");
  EXPECT_EQ(message({{1}}, {{4}}, {1}), "the bases reach 4 of the 8 elements of the unit");
  EXPECT_EQ(message({{3, 1}}, {{1, 1}}, {1, 1}), "the bases reach 4 of the 8 elements of the unit");
  auto twice = SharedLayout::fromCoordinates({{1}, {2}, {0}}, {1});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "3 offset bits of rank 2 do not number the 4 elements of the unit");
  auto narrow = SharedLayout::swizzled(At{8, 32}, 1, 2, 128);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().message,
            "32 elements of 2 bytes are no whole number of swizzled spans of 128 bytes");
  EXPECT_FALSE(SharedLayout::swizzled(At{12, 64}, 1, 2, 128)) << "four rows are half a pattern";
  EXPECT_FALSE(SharedLayout::swizzled(At{24, 128}, 1, 2, 128)) << "rows of two spans";
  EXPECT_TRUE(SharedLayout::swizzled(At{24, 64}, 1, 2, 128));
  EXPECT_FALSE(SharedLayout::swizzled(At{4, 128}, 1, 2, 128)) << "the second span begins within a pattern";
  EXPECT_FALSE(SharedLayout::swizzled(At{2, 96}, 1, 2, 64)) << "so does the copy of a span";
  EXPECT_TRUE(SharedLayout::swizzled(At{4, 64}, 1, 2, 128));
}

/// What is not refused is what the hardware does to the bits of an address: 7, 8 and 9 flip 4, 5 and 6.
TEST(TileLayout, SwizzlesAddressesAsTheHardware) {
  int accepted = 0;
  for (int span : {32, 64, 128})
    for (int64_t rows : {1, 2, 3, 4, 6, 8, 12, 16, 24, 40})
      for (int64_t spans : {1, 2, 3, 4, 6})
        for (int bytes : {1, 2, 4}) {
          auto layout = SharedLayout::swizzled(At{rows, spans * span / bytes}, 1, bytes, span);
          if (!layout) continue;
          ++accepted;
          const int64_t mask = (span / 16 - 1) << 4; // of the bits that are flipped
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t at = 0; at < spans * span; at += bytes) {
              const int64_t address = (at / span * rows + row) * span + at % span;
              ASSERT_EQ(layout->offsetOf(At{row, at / bytes}) * bytes, address ^ (address >> 3 & mask))
                  << span << ", " << rows << " x " << spans << ": " << row << ", " << at;
            }
        }
  EXPECT_GT(accepted, 100);
}

/// Copies of a unit are ordered row-major, in registers and in memory.
TEST(TileLayout, RepeatsItsUnit) {
  const At shape = {6, 20};
  const SharedLayout memory = SharedLayout::rowMajor(shape);
  EXPECT_EQ(memory.unit.repeat, (At{3, 5}));
  EXPECT_EQ(memory.offsetOf(At{0, 3}), 3);
  EXPECT_EQ(memory.offsetOf(At{1, 0}), 4);
  EXPECT_EQ(memory.offsetOf(At{0, 4}), 8);
  EXPECT_EQ(memory.offsetOf(At{2, 0}), 40);
  std::map<int64_t, int> used;
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 20; ++j)
      ++used[memory.offsetOf(At{i, j})];
  EXPECT_EQ(used.size(), 120u);
  EXPECT_EQ(used.rbegin()->first, 119);
  const TileLayout tile = blocked(shape, 4, 2, 1);
  EXPECT_EQ(tile.registers(), 60);
  EXPECT_EQ(tile.at(0, 1, 0), (At{1, 0}));
  EXPECT_EQ(tile.at(4, 0, 0), (At{0, 4}));
  EXPECT_EQ(tile.at(20, 0, 0), (At{2, 0}));
}

/// The permutation as the PTX manual describes it: 16-byte chunks of an address are flipped by its row.
TEST(SharedLayout, SwizzlesAsTensorCopiesDo) {
  for (unsigned bytes : {1, 2, 4, 8})
    for (unsigned span : {32, 64, 128})
      for (int64_t columns : {int64_t(span / bytes), int64_t(2 * span / bytes)})
        for (size_t contiguous : {0, 1}) {
          const int64_t rows = 64, piece = span / bytes;
          At shape = {rows, columns};
          if (contiguous == 0) std::swap(shape[0], shape[1]);
          auto layout = SharedLayout::swizzled(shape, contiguous, bytes, span);
          ASSERT_TRUE(layout);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
              int64_t address = (c / piece * rows + r) * span + c % piece * bytes;
              int64_t mask = span == 128 ? 0x70 : span == 64 ? 0x30 : 0x10;
              address ^= address >> 3 & mask;
              At at = {r, c};
              if (contiguous == 0) std::swap(at[0], at[1]);
              ASSERT_EQ(layout->offsetOf(at) * bytes, address)
                  << bytes << " " << span << " " << r << " " << c;
            }
        }
}

/// wgmma's operands: the canonical layouts of the PTX manual, "Strides", with T = 16 bytes of elements.
TEST(SharedLayout, IsReadByMatrixDescriptors) {
  for (unsigned bytes : {1, 2, 4})
    for (unsigned span : {32, 64, 128}) {
      const int64_t T = 16 / bytes, chunks = span / 16, rows = 64, k = 2 * T;
      const int64_t mask = span == 128 ? 0x70 : span == 64 ? 0x30 : 0x10;
      auto swizzle = [&](int64_t element) {
        int64_t address = element * bytes;
        return (address ^ (address >> 3 & mask)) / bytes;
      };
      // K-major: ((8,m),(T,2)) : ((chunks T, SBO), (1, T)); the first k step of rows of one span.
      auto kMajor = SharedLayout::swizzled(At{rows, chunks * T}, 1, bytes, span);
      ASSERT_TRUE(kMajor);
      const int64_t sbo = 8 * chunks * T;
      for (int64_t m = 0; m < rows; ++m)
        for (int64_t i = 0; i < std::min(k, chunks * T); ++i)
          ASSERT_EQ(kMajor->offsetOf(At{m, i}),
                    swizzle(m % 8 * chunks * T + m / 8 * sbo + i % T + i / T * T));
      // MN-major: ((T,chunks,m),(8,k)) : ((1,T,LBO),(chunks T, SBO)).
      const int64_t depth = 16;
      auto mnMajor = SharedLayout::swizzled(At{rows * 2, depth}, 0, bytes, span);
      if (rows * 2 % (chunks * T)) continue;
      ASSERT_TRUE(mnMajor);
      const int64_t lbo = depth * chunks * T, down = 8 * chunks * T;
      for (int64_t m = 0; m < rows * 2; ++m)
        for (int64_t i = 0; i < depth; ++i)
          ASSERT_EQ(mnMajor->offsetOf(At{m, i}), swizzle(m % T + m / T % chunks * T + m / (chunks * T) * lbo +
                                                         i % 8 * chunks * T + i / 8 * down));
    }
}

TEST(TileLayout, KnowsWhatIsInside) {
  std::mt19937 random(4);
  int counts[3] = {};
  for (int trial = 0; trial < 3000; ++trial) {
    TileLayout tile;
    tile.unit = {{3, 2}, {3, 1}};
    auto some = [&](BitsList &list, unsigned count) {
      for (unsigned i = 0; i < count; ++i)
        list.push_back(random() % 32);
    };
    some(tile.reg, 2), some(tile.lane, 2), some(tile.warp, 1);
    const size_t axis = random() % 2;
    const int64_t number = random() % tile.registers(), extent = random() % (tile.unit.extent(axis) + 2);
    bool all = true, none = true;
    for (int64_t l = 0; l < tile.lanes(); ++l)
      for (int64_t w = 0; w < tile.warps(); ++w)
        (tile.at(number, l, w)[axis] < extent ? none : all) = false;
    const Inside expected = all ? Inside::Always : none ? Inside::Never : Inside::Compare;
    EXPECT_EQ(int(inside(tile, number, axis, extent)), int(expected));
    ++counts[int(expected)];
  }
  for (int count : counts)
    EXPECT_GT(count, 100);
}

TEST(TileLayout, PadsExtents) {
  EXPECT_EQ(padded(1, 16), 16);
  EXPECT_EQ(padded(33, 32), 64);
  EXPECT_EQ(padded(48, 16), 48);
  EXPECT_EQ(paddedProduct(*findFragment("mma.m16n8k16"), {4, 2}, {33, 14, 1}),
            (std::array<int64_t, 3>{64, 16, 16}));
  EXPECT_EQ(paddedProduct(*findFragment("wgmma.m64n8k16"), {8, 1}, {96, 176, 64}),
            (std::array<int64_t, 3>{128, 176, 64}));
}

TEST(TileLayout, SpreadsForWideAccesses) {
  for (At shape : {At{128, 64}, At{7}, At{1, 1}, At{33, 14}, At{4, 96, 8}})
    for (int64_t vector : {1, 4, 8})
      for (int64_t warps : {1, 8}) {
        const TileLayout tile = blocked(shape, vector, 32, warps);
        EXPECT_EQ(tile.unit.shape(), shape);
        EXPECT_TRUE(tile.linear().isOnto());
        std::map<At, int> held;
        for (int64_t r = 0; r < tile.registers(); ++r)
          for (int64_t l = 0; l < 32; ++l)
            for (int64_t w = 0; w < warps; ++w)
              ++held[tile.at(r, l, w)];
        int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
        EXPECT_EQ(int64_t(held.size()), elements);
        for (auto &[at, count] : held)
          EXPECT_EQ(count, tile.registers() * 32 * warps / elements);
      }
  const TileLayout wide = blocked(At{128, 64}, 8, 32, 8);
  EXPECT_EQ(wide.at(7, 0, 0), (At{0, 7}));
  EXPECT_EQ(wide.at(0, 1, 0), (At{0, 8}));
  EXPECT_EQ(wide.at(0, 8, 0), (At{1, 0}));
  EXPECT_EQ(wide.at(0, 0, 1), (At{4, 0}));
  EXPECT_EQ(wide.at(8, 0, 0), (At{32, 0}));
}

/// A row's value is where its elements are: in every lane and warp that has some of them, in one register.
TEST(TileLayout, WithoutAnAxisItsElementsAreWhereTheyWere) {
  for (const Fragment &f : allFragments()) {
    const WarpGrid grid = {f.warps() * 2, 2};
    const auto [m, n, k] = paddedProduct(f, grid, {96, 48, 32});
    const TileLayout sums = operandLayout(f, Operand::C, grid, {m, n});
    for (size_t axis : {size_t(0), size_t(1)}) {
      const TileLayout rows = withoutAxis(sums, axis), columns = withUnitAxis(rows, axis);
      EXPECT_EQ(rows.unit.shape(), At{sums.unit.extent(1 - axis)});
      std::map<At, int> distinct;
      const RegisterNumbers numbers(rows);
      for (int64_t r = 0; r < rows.registers(); ++r)
        ++distinct[rows.at(r, 0, 0)];
      EXPECT_EQ(int64_t(distinct.size()), rows.registers()) << f.name;
      for (int64_t r = 0; r < sums.registers(); ++r)
        for (int64_t lane = 0; lane < sums.lanes(); ++lane)
          for (int64_t warp = 0; warp < sums.warps(); ++warp) {
            const int64_t own = numbers.at({sums.at(r, 0, 0)[1 - axis]});
            const At index = sums.at(r, lane, warp);
            ASSERT_EQ(rows.at(own, lane, warp), At{index[1 - axis]}) << f.name;
            At column = index;
            column[axis] = 0;
            ASSERT_EQ(columns.at(own, lane, warp), column) << f.name;
          }
    }
  }
}

/// Four lanes hold a row of eight sums. As bf16 they fill half a sector together; then each gets 16 bytes, by
/// exchanges in its warp. As f32 they fill it.
TEST(TileLayout, RowsAreWideEnoughForSectors) {
  const Fragment &f = *findFragment("mma.m16n8k16");
  for (int64_t width : {64, 96, 32}) {
    const TileLayout sums = operandLayout(f, Operand::C, {4, 1}, {64, width});
    const std::optional<TileLayout> wide = wideRows(sums, 2);
    ASSERT_TRUE(wide);
    for (int64_t r = 0; r < wide->registers(); ++r)
      for (int64_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(wide->at(r, lane, 1)[1] % 8, r % 8);
        EXPECT_EQ(wide->at(r, lane, 1)[0] / 16, 1);
      }
    EXPECT_TRUE(planLaneExchange(sums, *wide, 2));
    EXPECT_FALSE(wideRows(*wide, 2));
    EXPECT_FALSE(wideRows(sums, 4));
  }
  // 8 columns are all there are; 16 have registers for half of it.
  EXPECT_FALSE(wideRows(operandLayout(f, Operand::C, {4, 1}, {64, 8}), 2));
  const std::optional<TileLayout> half = wideRows(operandLayout(f, Operand::C, {4, 1}, {64, 16}), 2);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->at(3, 0, 0)[1], 3);
  EXPECT_NE(half->at(4, 0, 0)[1], 4);
  // Rows of lanes that are next to each other are as they should be.
  EXPECT_FALSE(wideRows(operandLayout(*findFragment("mfma.32x32x8"), Operand::C, {1, 4}, {64, 128}), 2));
}

/// PTX ISA: the lanes of C of mma.m16n8k16 have what those of A need, in other registers; those of B do not.
TEST(TileLayout, SumsAreTheNextLeftFactor) {
  const Fragment &f = *findFragment("mma.m16n8k16");
  const TileLayout sums = operandLayout(f, Operand::C, {4, 1}, {64, 64});
  EXPECT_TRUE(haveSameThreads(sums, operandLayout(f, Operand::A, {4, 1}, {64, 64})));
  EXPECT_FALSE(haveSameThreads(sums, operandLayout(f, Operand::B, {4, 1}, {64, 64})));
  EXPECT_FALSE(haveSameThreads(operandLayout(f, Operand::C, {2, 2}, {64, 64}),
                               operandLayout(f, Operand::A, {2, 2}, {64, 64})));
}

} // namespace
} // namespace tessera::layout
