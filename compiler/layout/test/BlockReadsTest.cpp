// The table of block reads against what cl_intel_subgroup_2d_block_io says each lane gets, and against the
// operands of the instructions that they are for.
#include "compiler/layout/BlockReads.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

/// Row and column in memory of the i-th element of lane l, by name and bytes of the elements.
const std::map<std::string, std::function<At(int, int)>> &formulas() {
  static const std::map<std::string, std::function<At(int, int)>> all = {
      // One row after the other; a lane has 16 bits of each.
      {"u16_m8k16v1 2", [](int i, int l) { return At{i, l}; }},
      {"u8_m8k32v1 1", [](int i, int l) { return At{i / 2, 2 * l + i % 2}; }},
      // A lane has a column, in words of two or four rows.
      {"transform_u16_k16 2", [](int i, int l) { return At{2 * (i / 2) + i % 2, l}; }},
      {"transform_u8_k32 1", [](int i, int l) { return At{4 * (i / 4) + i % 4, l}; }},
      // A lane has a row, in words of two or four columns.
      {"transpose_u32_k8 2", [](int i, int l) { return At{l, 2 * (i / 2) + i % 2}; }},
      {"transpose_u32_k8 1", [](int i, int l) { return At{l, 4 * (i / 4) + i % 4}; }},
  };
  return all;
}

TEST(BlockReads, EqualTheFormulas) {
  for (const BlockRead &read : allBlockReads()) {
    const std::string name = std::string(read.name) + " " + std::to_string(read.elementBytes);
    ASSERT_TRUE(formulas().contains(name)) << name << " has no formula in this test";
    const TileLayout layout = read.layout();
    EXPECT_EQ(layout.lanes(), 16) << name;
    EXPECT_EQ(layout.registers() * 16, read.rows * read.columns) << name;
    for (int l = 0; l < 16; ++l)
      for (int i = 0; i < layout.registers(); ++i)
        ASSERT_EQ(layout.at(i, l, 0), formulas().at(name)(i, l)) << name << " " << i << " " << l;
    EXPECT_EQ(read.columns % read.unit, 0);
  }
  EXPECT_EQ(formulas().size(), allBlockReads().size());
}

TEST(BlockReads, GiveTheOperandsOfInstructions) {
  auto nameOf = [](const char *instruction, Operand operand, int bytes, bool transposed) -> std::string {
    const BlockRead *read = blockRead(*findFragment(instruction), operand, bytes, transposed);
    return read ? read->name : "";
  };
  EXPECT_EQ(nameOf("dpas.8x16x16", Operand::A, 2, false), "u16_m8k16v1");
  EXPECT_EQ(nameOf("dpas.8x16x32", Operand::A, 1, false), "u8_m8k32v1");
  EXPECT_EQ(nameOf("dpas.8x16x16", Operand::B, 2, false), "transform_u16_k16");
  EXPECT_EQ(nameOf("dpas.8x16x32", Operand::B, 1, false), "transform_u8_k32");
  EXPECT_EQ(nameOf("dpas.8x16x16", Operand::B, 2, true), "transpose_u32_k8");
  EXPECT_EQ(nameOf("dpas.8x16x32", Operand::B, 1, true), "transpose_u32_k8");
  // No read exchanges single elements of A, and none is for other instructions, lanes or bytes.
  EXPECT_EQ(nameOf("dpas.8x16x16", Operand::A, 2, true), "");
  EXPECT_EQ(nameOf("dpas.8x16x32", Operand::A, 1, true), "");
  EXPECT_EQ(nameOf("dpas.8x16x16", Operand::A, 4, false), "");
  EXPECT_EQ(nameOf("dpas.8x16x16.n2", Operand::B, 2, false), "");
  EXPECT_EQ(nameOf("dpas.8x8x16", Operand::A, 2, false), "");
  EXPECT_EQ(nameOf("dpas.8x8x16", Operand::B, 2, false), "");
  EXPECT_EQ(nameOf("mma.m16n8k16", Operand::A, 2, false), "");
  EXPECT_EQ(nameOf("tcgen05.m128n16k16", Operand::A, 2, false), "");
}

/// What a lane gets is what the instruction takes, through the positions of both in the operand.
TEST(BlockReads, HaveTheElementsOfTheirOperands) {
  for (const Fragment &f : allFragments())
    for (Operand operand : {Operand::A, Operand::B})
      for (int bytes : {1, 2, 4})
        for (bool transposed : {false, true}) {
          const BlockRead *read = blockRead(f, operand, bytes, transposed);
          if (!read) continue;
          const TileLayout own = f.layout(operand), block = read->layout();
          ASSERT_EQ(own.registers(), block.registers()) << f.name;
          for (int l = 0; l < own.lanes(); ++l)
            for (int i = 0; i < own.registers(); ++i) {
              At at = own.at(i, l, 0);
              if (transposed) std::swap(at[0], at[1]);
              ASSERT_EQ(block.at(i, l, 0), at) << f.name << " " << read->name;
            }
        }
}

} // namespace
} // namespace tessera::layout
