// The table against the vendors' formulas, which give row and column of the i-th element that a lane holds:
// PTX ISA, "Matrix Fragments for mma" and "wgmma"; AMD's matrix instruction calculator; the specification of
// cl_intel_subgroup_matrix_multiply_accumulate.
#include "compiler/layout/Fragments.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Products.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;
using Formula = std::function<At(int, int, int)>; // element, lane, warp

At cOfMma(int i, int l, int) { return {l / 4 + (i >= 2 ? 8 : 0), l % 4 * 2 + i % 2}; }
At cOfMma8(int i, int l, int) { return {l / 4, l % 4 * 2 + i}; }
At aOfMma16(int i, int l, int) {
  return {l / 4 + ((i >= 2 && i < 4) || i >= 6 ? 8 : 0), l % 4 * 2 + i % 2 + (i >= 4 ? 8 : 0)};
}
At bOfMma16(int i, int l, int) { return {l % 4 * 2 + i % 2 + (i >= 2 ? 8 : 0), l / 4}; }
At aOfMma32(int i, int l, int) {
  return {l / 4 + ((i >= 4 && i < 8) || i >= 12 ? 8 : 0), l % 4 * 4 + i % 4 + (i >= 8 ? 16 : 0)};
}
At bOfMma32(int i, int l, int) { return {l % 4 * 4 + i % 4 + (i >= 4 ? 16 : 0), l / 4}; }
// Forms of m16n8k32 for bytes in another order, by what the loads of pairs give: one lane has two neighbours
// along m, or along n, of which the first is of the instruction's first half of rows, or of the first of two
// instructions.
At aOfPairs(int i, int l, int) { return {2 * (l / 4) + i / 4 % 2, l % 4 * 4 + i % 4 + 16 * (i / 8)}; }
At bOfPairs(int i, int l, int) { return {l % 4 * 4 + i % 4 + 16 * (i / 4 % 2), 2 * (l / 4) + i / 8}; }
At cOfColumnPairs(int i, int l, int) { return {l / 4 + 8 * (i / 4), l % 4 * 4 + i % 4}; }
At cOfRowPairs(int i, int l, int) { return {2 * (l / 4) + i / 2, l % 4 * 2 + i % 2}; }
At cOfBothPairs(int i, int l, int) { return {2 * (l / 4) + i / 4, l % 4 * 4 + i % 4}; }
At ofWgmma16(int i, int l, int w) {
  return {16 * w + l / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + l % 4 * 2 + i % 2};
}
At ofWgmma32(int i, int l, int w) {
  return {16 * w + l / 4 + 8 * (i / 4 % 2), 16 * (i / 8) + l % 4 * 4 + i % 4};
}
At ofWgmma8(int i, int l, int w) {
  return {16 * w + l / 4 + (i == 1 || i == 3 ? 8 : 0), l % 4 + (i >= 2 ? 4 : 0)};
}
At cOfMfma32(int i, int l, int) { return {8 * (i / 4) + 4 * (l / 32) + i % 4, l % 32}; }
At cOfMfma16(int i, int l, int) { return {4 * (l / 16) + i, l % 16}; }
At rowOfLane16(int i, int l, int) { return {i, l}; }

const std::map<std::string, Formula> &formulas() {
  static const std::map<std::string, Formula> all = {
      {"mma.m16n8k8 A", [](int i, int l, int) { return At{l / 4 + (i >= 2 ? 8 : 0), l % 4 * 2 + i % 2}; }},
      {"mma.m16n8k8 B", [](int i, int l, int) { return At{l % 4 * 2 + i, l / 4}; }},
      {"mma.m16n8k8 C", cOfMma},
      {"mma.m16n8k16 A", aOfMma16},
      {"mma.m16n8k16 B", bOfMma16},
      {"mma.m16n8k16 C", cOfMma},
      {"mma.m16n8k32 A", aOfMma32},
      {"mma.m16n8k32 B", bOfMma32},
      {"mma.m16n8k32 C", cOfMma},
      {"mma.m16n8k32.i8 A", aOfMma32},
      {"mma.m16n8k32.i8 B", bOfMma32},
      {"mma.m16n8k32.i8 C", cOfMma},
      {"mma.m16n16k32.nn A", aOfMma32},
      {"mma.m16n16k32.nn B", bOfPairs},
      {"mma.m16n16k32.nn C", cOfColumnPairs},
      {"mma.m16n8k32.tt A", aOfPairs},
      {"mma.m16n8k32.tt B", bOfMma32},
      {"mma.m16n8k32.tt C", cOfRowPairs},
      {"mma.m16n16k32.tn A", aOfPairs},
      {"mma.m16n16k32.tn B", bOfPairs},
      {"mma.m16n16k32.tn C", cOfBothPairs},
      {"mma.m16n16k32.i8.nn A", aOfMma32},
      {"mma.m16n16k32.i8.nn B", bOfPairs},
      {"mma.m16n16k32.i8.nn C", cOfColumnPairs},
      {"mma.m16n8k32.i8.tt A", aOfPairs},
      {"mma.m16n8k32.i8.tt B", bOfMma32},
      {"mma.m16n8k32.i8.tt C", cOfRowPairs},
      {"mma.m16n16k32.i8.tn A", aOfPairs},
      {"mma.m16n16k32.i8.tn B", bOfPairs},
      {"mma.m16n16k32.i8.tn C", cOfBothPairs},
      // PTX ISA, "Matrix fragments for mma.m8n8k16" and "mma.m8n8k4" (f64).
      {"mma.m8n8k16.i8 A", [](int i, int l, int) { return At{l / 4, l % 4 * 4 + i}; }},
      {"mma.m8n8k16.i8 B", [](int i, int l, int) { return At{l % 4 * 4 + i, l / 4}; }},
      {"mma.m8n8k16.i8 C", cOfMma8},
      {"mma.m8n8k4 A", [](int, int l, int) { return At{l / 4, l % 4}; }},
      {"mma.m8n8k4 B", [](int, int l, int) { return At{l % 4, l / 4}; }},
      {"mma.m8n8k4 C", cOfMma8},
      {"mma.m16n8k8.tf32 A",
       [](int i, int l, int) { return At{l / 4 + (i == 1 || i == 3 ? 8 : 0), l % 4 + (i >= 2 ? 4 : 0)}; }},
      {"mma.m16n8k8.tf32 B", [](int i, int l, int) { return At{l % 4 + (i ? 4 : 0), l / 4}; }},
      {"mma.m16n8k8.tf32 C", cOfMma},
      {"wgmma.m64n8k16 A", ofWgmma16},
      {"wgmma.m64n8k16 C", ofWgmma16},
      {"wgmma.m64n8k32 A", ofWgmma32},
      {"wgmma.m64n8k32 C", ofWgmma16},
      {"wgmma.m64n8k8.tf32 A", ofWgmma8},
      {"wgmma.m64n8k8.tf32 C", ofWgmma16},
      // "Data Movement Shape", 32x32b: a lane of tensor memory belongs to a lane of a warp. And 16x256b.
      {"tcgen05.m64n8k16 C", ofWgmma16},
      {"tcgen05.m64n8k32 C", ofWgmma16},
      {"tcgen05.m64n8k8.tf32 C", ofWgmma16},
      {"tcgen05.m64n16k32.i8 C", ofWgmma16},
      {"tcgen05.m128n16k16 C", [](int i, int l, int w) { return At{32 * w + l, i}; }},
      {"tcgen05.m128n16k32 C", [](int i, int l, int w) { return At{32 * w + l, i}; }},
      {"tcgen05.m128n16k8.tf32 C", [](int i, int l, int w) { return At{32 * w + l, i}; }},
      {"tcgen05.m128n16k32.i8 C", [](int i, int l, int w) { return At{32 * w + l, i}; }},
      {"wmma.16x16x16 A", [](int i, int l, int) { return At{l % 16, i}; }},
      {"wmma.16x16x16 B", [](int i, int l, int) { return At{i, l % 16}; }},
      {"wmma.16x16x16 C", [](int i, int l, int) { return At{2 * i + l / 16, l % 16}; }},
      {"wmma.16x16x16.i8 A", [](int i, int l, int) { return At{l % 16, i}; }},
      {"wmma.16x16x16.i8 B", [](int i, int l, int) { return At{i, l % 16}; }},
      {"wmma.16x16x16.i8 C", [](int i, int l, int) { return At{2 * i + l / 16, l % 16}; }},
      {"mfma.32x32x8.i8 A", [](int i, int l, int) { return At{l % 32, 4 * (l / 32) + i}; }},
      {"mfma.32x32x8.i8 B", [](int i, int l, int) { return At{4 * (l / 32) + i, l % 32}; }},
      {"mfma.32x32x8.i8 C", cOfMfma32},
      {"mfma.16x16x16.i8 A", [](int i, int l, int) { return At{l % 16, 4 * (l / 16) + i}; }},
      {"mfma.16x16x16.i8 B", [](int i, int l, int) { return At{4 * (l / 16) + i, l % 16}; }},
      {"mfma.16x16x16.i8 C", cOfMfma16},
      {"mfma.32x32x16.i8 A", [](int i, int l, int) { return At{l % 32, 8 * (l / 32) + i}; }},
      {"mfma.32x32x16.i8 B", [](int i, int l, int) { return At{8 * (l / 32) + i, l % 32}; }},
      {"mfma.32x32x16.i8 C", cOfMfma32},
      {"mfma.16x16x32.i8 A", [](int i, int l, int) { return At{l % 16, 8 * (l / 16) + i}; }},
      {"mfma.16x16x32.i8 B", [](int i, int l, int) { return At{8 * (l / 16) + i, l % 16}; }},
      {"mfma.16x16x32.i8 C", cOfMfma16},
      // Of f64 a lane holds every fourth row, not four neighbours.
      {"mfma.16x16x4 A", [](int, int l, int) { return At{l % 16, l / 16}; }},
      {"mfma.16x16x4 B", [](int, int l, int) { return At{l / 16, l % 16}; }},
      {"mfma.16x16x4 C", [](int i, int l, int) { return At{4 * i + l / 16, l % 16}; }},
      {"mfma.32x32x8 A", [](int i, int l, int) { return At{l % 32, 4 * (l / 32) + i}; }},
      {"mfma.32x32x8 B", [](int i, int l, int) { return At{4 * (l / 32) + i, l % 32}; }},
      {"mfma.32x32x8 C", cOfMfma32},
      {"mfma.16x16x16 A", [](int i, int l, int) { return At{l % 16, 4 * (l / 16) + i}; }},
      {"mfma.16x16x16 B", [](int i, int l, int) { return At{4 * (l / 16) + i, l % 16}; }},
      {"mfma.16x16x16 C", cOfMfma16},
      {"mfma.16x16x32 A", [](int i, int l, int) { return At{l % 16, 8 * (l / 16) + i}; }},
      {"mfma.16x16x32 B", [](int i, int l, int) { return At{8 * (l / 16) + i, l % 16}; }},
      {"mfma.16x16x32 C", cOfMfma16},
      {"dpas.8x16x16 A", rowOfLane16},
      {"dpas.8x16x16 B", rowOfLane16},
      {"dpas.8x16x16 C", rowOfLane16},
      {"dpas.8x16x8.tf32 A", [](int i, int l, int) { return At{2 * i + l / 8, l % 8}; }},
      {"dpas.8x16x8.tf32 B", rowOfLane16},
      {"dpas.8x16x8.tf32 C", rowOfLane16},
      {"dpas.8x8x16 A", [](int i, int l, int) { return At{i / 2, 2 * l + i % 2}; }},
      {"dpas.8x8x16 B", rowOfLane16},
      {"dpas.8x8x16 C", rowOfLane16},
      {"dpas.8x16x32 A", [](int i, int l, int) { return At{i / 2, 2 * l + i % 2}; }},
      {"dpas.8x16x32 B", rowOfLane16},
      {"dpas.8x16x32 C", rowOfLane16},
      {"dpas.8x8x32 A", [](int i, int l, int) { return At{i / 4, 4 * l + i % 4}; }},
      {"dpas.8x8x32 B", rowOfLane16},
      {"dpas.8x8x32 C", rowOfLane16},
  };
  return all;
}

constexpr std::pair<Operand, const char *> kOperands[] = {
    {Operand::A, "A"}, {Operand::B, "B"}, {Operand::C, "C"}};

TEST(Fragments, EqualTheVendorsFormulas) {
  size_t compared = 0;
  for (const Fragment &f : tableOfFragments())
    for (auto [operand, letter] : kOperands) {
      const std::string name = std::string(f.name) + " " + letter;
      if (!f.isInRegisters(operand)) {
        EXPECT_FALSE(formulas().contains(name));
        continue;
      }
      ASSERT_TRUE(formulas().contains(name)) << name << " has no formula in this test";
      const TileLayout layout = f.layout(operand);
      std::set<At> held;
      for (int w = 0; w < layout.warps(); ++w)
        for (int l = 0; l < layout.lanes(); ++l)
          for (int i = 0; i < layout.registers(); ++i) {
            ASSERT_EQ(layout.at(i, l, w), formulas().at(name)(i, l, w)) << name << i << " " << l << " " << w;
            held.insert(layout.at(i, l, w));
          }
      const auto [rows, columns] = f.shape(operand);
      EXPECT_EQ(int64_t(held.size()), rows * columns) << name << " does not hold every element";
      ++compared;
    }
  EXPECT_EQ(compared, formulas().size()) << "a formula names no operand of the table";
}

TEST(Fragments, KnowTheirDTypes) {
  EXPECT_TRUE(findFragment("mma.m16n8k16")->multiplies(DType::BF16));
  EXPECT_FALSE(findFragment("mma.m16n8k16")->multiplies(DType::F32));
  EXPECT_TRUE(findFragment("mma.m16n8k32")->multiplies(DType::F8E5M2));
  EXPECT_EQ(findFragment("mma.m16n8k17"), nullptr);
  for (const Fragment &f : allFragments()) {
    EXPECT_EQ(findFragment(f.name), &f) << "two rows of one name";
    std::istringstream names(std::string(f.dtypes) + " " + f.accumulator);
    for (std::string name; names >> name;)
      EXPECT_TRUE(parseDType(name)) << f.name << ": " << name;
  }
}

/// What the instruction of interleaved rows i and columns j holds is where the vendor's formula has it, with
/// rows and columns multiplied; its registers are in the instruction's order; each register is of one.
TEST(Fragments, FormsInterleaveRowsAndColumns) {
  size_t forms = 0;
  for (const Fragment &f : allFragments().subspan(tableOfFragments().size())) {
    const auto [rows, columns] = f.times();
    ASSERT_GT(rows * columns, 1) << f.name;
    for (auto [operand, letter] : kOperands) {
      const Formula &formula = formulas().at(std::string(f.executed()) + " " + letter);
      const int64_t down = operand == Operand::B ? 1 : rows, across = operand == Operand::A ? 1 : columns;
      const TileLayout layout = f.layout(operand);
      std::set<int64_t> used;
      for (int64_t i = 0; i < down; ++i)
        for (int64_t j = 0; j < across; ++j) {
          const std::vector<int64_t> registers = f.registersOf(operand, i, j);
          used.insert(registers.begin(), registers.end());
          for (int l = 0; l < layout.lanes(); ++l)
            for (size_t r = 0; r < registers.size(); ++r) {
              At at = formula(int(r), l, 0);
              at = {at[0] * down + i, at[1] * across + j};
              ASSERT_EQ(layout.at(registers[r], l, 0), at) << f.name << letter << i << j << " " << l;
            }
        }
      EXPECT_EQ(int64_t(used.size()), layout.registers()) << f.name << letter;
    }
    ++forms;
  }
  EXPECT_GE(forms, 30u);
}

/// The forms of the table divide registers of the sums among two instructions, or permute rows.
TEST(Fragments, OfOneInstructionHaveAllRegisters) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(findFragment("mma.m16n8k16")->registersOf(Operand::C, 0, 0), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(findFragment("mma.m16n8k32.tt")->registersOf(Operand::C, 0, 0), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(findFragment("mma.m16n16k32.nn")->registersOf(Operand::C, 0, 1), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(findFragment("mma.m16n16k32.tn")->registersOf(Operand::B, 0, 1),
            (Numbers{8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Fragments, OfAnotherOrderNameTheInstruction) {
  int forms = 0;
  for (const Fragment &f : allFragments()) {
    if (!f.isPermuted()) continue;
    const Fragment *own = findFragment(f.executed());
    ASSERT_NE(own, nullptr) << f.name;
    EXPECT_STREQ(f.dtypes, own->dtypes);
    EXPECT_EQ(f.n % own->n, 0) << f.name;
    EXPECT_FALSE(f.readsOrder(false, true)) << "the instruction itself reads factors along k";
    EXPECT_TRUE(f.readsOrder(true, false) || f.readsOrder(false, false) || f.readsOrder(true, true));
    ++forms;
  }
  EXPECT_GE(forms, 36);
  const Fragment &columns = *findFragment("mfma.16x16x32.i8.n4"),
                 &both = *findFragment("mfma.16x16x32.i8.m2n2");
  EXPECT_TRUE(columns.readsOrder(false, false) && columns.readsOrder(true, false));
  EXPECT_FALSE(columns.readsOrder(true, true));
  EXPECT_TRUE(both.readsOrder(true, false));
  EXPECT_FALSE(both.readsOrder(false, false) || both.readsOrder(true, true));
}

/// Of a product of warps: the tile is covered, each instruction's part is the instruction's own layout, and
/// warps have the rows and columns that their numbers say.
TEST(Fragments, TileAProduct) {
  for (const Fragment &f : allFragments())
    for (WarpGrid warps : {WarpGrid{f.warps(), 1}, WarpGrid{2 * f.warps(), 1}, WarpGrid{2 * f.warps(), 2}})
      for (auto [m, n, k] : std::initializer_list<std::array<int64_t, 3>>{
               {1, 1, 1}, {128, 176, 64}, {100, 24, 48}, {65, 7, 33}}) {
        const auto mnk = paddedProduct(f, warps, {m, n, k});
        EXPECT_GE(mnk[0], m);
        EXPECT_GE(mnk[1], n);
        EXPECT_GE(mnk[2], k);
        const std::map<Operand, std::array<int64_t, 2>> shapes = {
            {Operand::A, {mnk[0], mnk[2]}}, {Operand::B, {mnk[2], mnk[1]}}, {Operand::C, {mnk[0], mnk[1]}}};
        for (auto [operand, letter] : kOperands) {
          if (!f.isInRegisters(operand)) continue;
          const auto shape = shapes.at(operand);
          const TileLayout tile = operandLayout(f, operand, warps, shape),
                           one = f.ofColumns(f.columnsOfWarp(warps)).layout(operand);
          ASSERT_EQ(tile.unit.shape(), (At{shape[0], shape[1]})) << f.name << letter;
          ASSERT_EQ(tile.warps(), warps.m * warps.n);
          ASSERT_TRUE(tile.linear().isOnto());
          int64_t copies = tile.registers() * tile.lanes() * tile.warps() / (shape[0] * shape[1]);
          int64_t own =
              one.registers() * one.lanes() * one.warps() / (one.unit.extent(0) * one.unit.extent(1));
          int64_t shared = operand == Operand::A ? warps.n : operand == Operand::B ? warps.m / f.warps() : 1;
          EXPECT_EQ(copies, own * shared) << f.name << letter;
          for (int64_t r = 0; r < one.registers(); ++r)
            for (int64_t l = 0; l < one.lanes(); ++l)
              for (int64_t w = 0; w < one.warps(); ++w)
                EXPECT_EQ(tile.at(r, l, w), one.at(r, l, w));
        }
      }
}

TEST(Fragments, OfWgmmaReachAnyWidth) {
  const Fragment &f = *findFragment("wgmma.m64n8k16");
  for (int n = 8; n <= 256; n += 8) {
    const TileLayout c = operandLayout(f, Operand::C, {4, 1}, {64, n});
    ASSERT_EQ(c.registers(), n / 2);
    for (int w = 0; w < 4; ++w)
      for (int l = 0; l < 32; ++l)
        for (int i = 0; i < n / 2; ++i)
          ASSERT_EQ(c.at(i, l, w), ofWgmma16(i, l, w)) << "n = " << n;
  }
}

/// The widths that a product may choose are the same rows of registers.
TEST(Fragments, OfWgmmaHaveWiderForms) {
  const Fragment &f = *findFragment("wgmma.m64n8k16");
  EXPECT_TRUE(f.readsShared());
  EXPECT_FALSE(findFragment("mma.m16n8k16")->readsShared());
  for (int n = 8; n <= 256; n += 8) {
    const TileLayout c = f.ofColumns(n).layout(Operand::C);
    ASSERT_EQ(c.registers(), n / 2);
    for (int w = 0; w < 4; ++w)
      for (int l = 0; l < 32; ++l)
        for (int i = 0; i < n / 2; ++i)
          ASSERT_EQ(c.at(i, l, w), ofWgmma16(i, l, w)) << "n = " << n;
  }
}

/// A panel is a matrix of its own, swizzled as the hardware swizzles addresses.
TEST(Products, PanelsAreSwizzledByAddress) {
  for (int64_t rowBytes : {32, 64, 96, 128, 192, 256, 352, 512}) {
    const int64_t bytes = panelBytes(rowBytes);
    ASSERT_GE(bytes, 32);
    ASSERT_EQ(rowBytes % bytes, 0);
    const Swizzle swizzle = swizzleOf(bytes);
    for (int64_t row = 0; row < 32; ++row)
      for (int64_t chunk = 0; chunk < bytes / 16; ++chunk) {
        const int64_t address = row * bytes + chunk * 16;
        const int64_t own = row * bytes + (chunk ^ (row / swizzle.rows % swizzle.chunks)) * 16;
        EXPECT_EQ(own, address ^ (address >> 3 & (bytes - 16) & 0x70));
      }
  }
  EXPECT_EQ(panelBytes(48), 0);
  EXPECT_EQ(panelBytes(0), 0);
}

/// A second product takes the first one's result without moving data between lanes.
bool movesNothing(const TileLayout &from, const TileLayout &to) {
  const Conversion plan = planConversion(from, to, 2);
  const LaneExchange *lanes = std::get_if<LaneExchange>(&plan);
  return lanes && lanes->isRenaming();
}
TileLayout transposed(TileLayout layout) {
  const unsigned columns = layout.unit.axisBits[1], rows = layout.unit.axisBits[0];
  for (BitsList *list : {&layout.reg, &layout.lane, &layout.warp})
    for (Bits &b : *list)
      b = b >> columns | (b & ((Bits(1) << columns) - 1)) << rows;
  std::swap(layout.unit.axisBits[0], layout.unit.axisBits[1]);
  std::swap(layout.unit.repeat[0], layout.unit.repeat[1]);
  return layout;
}

TEST(Fragments, ChainWithoutMovingData) {
  auto chain = [](const char *name, Operand to, WarpGrid warps, std::array<int64_t, 2> shape) {
    const Fragment &f = *findFragment(name);
    return movesNothing(operandLayout(f, Operand::C, warps, shape), operandLayout(f, to, warps, shape));
  };
  EXPECT_TRUE(chain("mma.m16n8k16", Operand::A, {4, 1}, {64, 64}));
  EXPECT_TRUE(chain("mma.m16n8k16", Operand::A, {4, 1}, {64, 112}));
  EXPECT_TRUE(chain("wgmma.m64n8k16", Operand::A, {8, 1}, {128, 176}));
  EXPECT_TRUE(chain("dpas.8x16x16", Operand::A, {4, 1}, {32, 64}));
  // The result is S^T = K * Q^T, rows are keys; B of O^T = V^T * P^T has the same rows.
  EXPECT_TRUE(chain("mfma.32x32x8", Operand::B, {1, 4}, {64, 128}));
  EXPECT_TRUE(chain("mfma.16x16x16", Operand::B, {1, 4}, {64, 64}));
  EXPECT_FALSE(chain("mfma.32x32x8", Operand::A, {4, 1}, {128, 64}));
  EXPECT_FALSE(chain("wmma.16x16x16", Operand::A, {4, 1}, {64, 64}));
  EXPECT_FALSE(chain("mma.m16n8k32", Operand::A, {4, 1}, {64, 64}));
  EXPECT_FALSE(
      movesNothing(operandLayout(*findFragment("mma.m16n8k16"), Operand::C, {1, 1}, {16, 16}),
                   transposed(operandLayout(*findFragment("mma.m16n8k16"), Operand::C, {1, 1}, {16, 16}))));
}

} // namespace
} // namespace tessera::layout
