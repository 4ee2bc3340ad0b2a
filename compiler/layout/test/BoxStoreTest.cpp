#include "compiler/layout/BoxStore.h"
#include "compiler/layout/Fragments.h"
#include "compiler/layout/Products.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tessera::layout {
namespace {

TileLayout sums(const char *instruction, WarpGrid grid, int64_t m, int64_t n) {
  return operandLayout(*findFragment(instruction), Operand::C, grid, {m, n});
}

/// PTX ISA, "Tensor swizzling modes": byte bits 4 to 6 are flipped by bits 7 to 9, fewer in shorter rows.
int64_t swizzled(int64_t offset, int64_t rowBytes) { return offset ^ (offset / 128 % (rowBytes / 16)) * 16; }

/// Writes the number of each element where the instructions do, and reads the boxes as the engine does.
void expectStored(const TileLayout &layout, unsigned bytes, int64_t columns, size_t boxes) {
  const auto plan = boxStore(layout, bytes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->columns, columns);
  ASSERT_EQ(plan->boxes.size(), boxes);
  const int64_t rowBytes = plan->columns * bytes;
  std::map<std::pair<int64_t, int64_t>, int> times;
  for (int64_t warp = 0; warp < layout.warps(); ++warp)
    for (const BoxStore::Box &box : plan->boxes) {
      std::map<int64_t, std::vector<int64_t>> memory; // element by the byte it begins at
      for (int64_t lane = 0; lane < 32; ++lane)
        for (size_t i = 0; i < box.registers.size(); ++i) {
          const auto n = static_cast<int64_t>(i);
          // PTX ISA, stmatrix: of each matrix, lane l has elements 2 (l mod 4) and the next one of row l / 4.
          const int64_t row = plan->isOfPairs() ? n / 2 % 2 * 8 + lane / 4 : lane,
                        column = plan->isOfPairs() ? n / 4 * 8 + lane % 4 * 2 + n % 2 : n;
          memory[swizzled(row * rowBytes + column * bytes, rowBytes)] =
              layout.at(box.registers[i], lane, warp);
        }
      const std::vector<int64_t> first = layout.at(0, 0, warp);
      const std::vector<int64_t> ofFirstWarp = layout.at(0, 0, 0);
      for (int64_t row = 0; row < plan->rows; ++row)
        for (int64_t column = 0; column < plan->columns; ++column) {
          const std::vector<int64_t> expected = {first[0] - ofFirstWarp[0] + box.row + row,
                                                 first[1] - ofFirstWarp[1] + box.column + column};
          ASSERT_EQ(memory[swizzled(row * rowBytes + column * bytes, rowBytes)], expected);
          ++times[{expected[0], expected[1]}];
        }
    }
  const std::vector<int64_t> shape = layout.unit.shape();
  EXPECT_EQ(std::ssize(times), shape[0] * shape[1]);
  for (const auto &[at, number] : times)
    ASSERT_EQ(number, 1);
}

TEST(BoxStore, HasEachElementOnce) {
  expectStored(sums("wgmma.m64n8k16", {8, 1}, 128, 256), 2, 64, 4);
  expectStored(sums("wgmma.m64n8k16", {4, 1}, 64, 64), 2, 64, 1);
  expectStored(sums("wgmma.m64n8k16", {4, 1}, 64, 96), 2, 32, 3);
  expectStored(sums("wgmma.m64n8k16", {4, 1}, 192, 176), 2, 16, 33);
  expectStored(sums("mma.m16n8k16", {4, 1}, 64, 128), 2, 64, 2);
  expectStored(sums("wgmma.m64n8k16", {8, 1}, 128, 256), 4, 32, 8);
  expectStored(sums("wgmma.m64n8k16", {4, 1}, 64, 8), 4, 8, 1);
  expectStored(sums("tcgen05.m128n16k16", {4, 1}, 128, 128), 2, 64, 2);
  expectStored(sums("tcgen05.m128n16k16", {4, 1}, 128, 128), 4, 32, 4);
  expectStored(sums("tcgen05.m128n16k16", {4, 1}, 128, 32), 1, 32, 1);
}

/// Lanes that are served together, 8 bytes of each of 16, write each bank once.
TEST(BoxStore, PairsMeetInNoBank) {
  for (int64_t rowBytes : {32, 64, 128}) {
    const PairExchange exchange = pairExchange(rowBytes);
    for (int64_t group = 0; group < rowBytes / 32; ++group)
      for (int64_t half : {0, 16}) {
        std::set<int64_t> words;
        for (int64_t lane = half; lane < half + 16; ++lane) {
          const int64_t other = lane & exchange.lane ? group ^ exchange.columns : group;
          words.insert(swizzled(lane / 4 * rowBytes + other * 32 + lane % 4 * 8, rowBytes) / 8 % 16);
        }
        EXPECT_EQ(words.size(), 16u) << rowBytes << " " << group;
      }
  }
}

TEST(BoxStore, NeedsRowsOfEachWarp) {
  EXPECT_FALSE(boxStore(sums("wgmma.m64n8k16", {4, 1}, 64, 8), 2)); // 16 bytes
  EXPECT_FALSE(boxStore(sums("mma.m16n8k16", {2, 4}, 64, 256), 2)); // 8 columns of each warp in turn
  EXPECT_FALSE(boxStore(sums("mma.m8n8k4", {4, 1}, 64, 64), 8));
  TileLayout copied = sums("wgmma.m64n8k16", {4, 1}, 64, 64);
  copied.warp.push_back(0); // a second group has the same elements
  EXPECT_FALSE(boxStore(copied, 2));
}

} // namespace
} // namespace tessera::layout
