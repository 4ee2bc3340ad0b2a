// Predictions about accesses against counting bytes.
#include "compiler/layout/Access.h"
#include "compiler/layout/Fragments.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

/// Plays one access: in each phase a bank serves one word after the other.
int64_t countWavefronts(const std::vector<int64_t> &addresses, unsigned bytes, int64_t lanesTogether,
                        int64_t banks) {
  int64_t total = 0;
  for (size_t first = 0; first < addresses.size(); first += lanesTogether) {
    std::map<int64_t, std::set<int64_t>> words;
    for (size_t l = first; l < std::min(addresses.size(), first + lanesTogether); ++l)
      for (int64_t byte = addresses[l]; byte < addresses[l] + bytes; ++byte)
        words[byte / 4 % banks].insert(byte / 4);
    size_t most = 0;
    for (auto &[bank, distinct] : words)
      most = std::max(most, distinct.size());
    total += most;
  }
  return total;
}

TEST(Banks, AreCountedByRanks) {
  std::mt19937 random(5);
  std::map<int64_t, int> seen;
  for (int trial = 0; trial < 20'000; ++trial) {
    const unsigned bytes = 1u << random() % 5;
    const BankModel model = random() % 4 ? BankModel() : BankModel{6, 6, 5, 4};
    WarpAccess access = {{}, bytes};
    for (unsigned i = 0, lanes = 3 + random() % 4; i < lanes; ++i)
      access.lanes.push_back(random() % 3 ? random() % (1 << 14) / bytes * bytes
                                          : bytes << (random() % 9)); // random, or regular
    std::vector<int64_t> addresses;
    for (Bits l = 0; l < Bits(1) << access.lanes.size(); ++l)
      addresses.push_back(applyBases(access.lanes, l));
    const int64_t together = bytes <= 4   ? 1 << model.lanes4
                             : bytes == 8 ? 1 << model.lanes8
                                          : 1 << model.lanes16;
    const int64_t counted = countWavefronts(addresses, bytes, together, int64_t(1) << model.bankBits);
    ASSERT_EQ(wavefronts(access, model), counted) << bytes;
    ++seen[counted / phases(access, model)];
  }
  EXPECT_GT(seen[1], 1000);
  EXPECT_GT(seen[2] + seen[4] + seen[8], 1000);
}

/// Eight rows of 16 bytes, as ldmatrix reads them.
TEST(Banks, AreFreeOfConflictsInSwizzledRows) {
  for (unsigned span : {32, 64, 128}) {
    auto rows = [&](const SharedLayout &layout) {
      WarpAccess access = {{}, 16};
      for (int64_t row : {1, 2, 4})
        access.lanes.push_back(layout.offsetOf(At{row, 0}) * 2);
      return wavefronts(access);
    };
    EXPECT_EQ(rows(*SharedLayout::swizzled(At{64, span / 2}, 1, 2, span)), 1) << span;
    EXPECT_EQ(rows(SharedLayout::rowMajor(At{64, span / 2})), span / 16) << span;
  }
}

TEST(Access, IsAsWideAsRunsOfBytes) {
  std::mt19937 random(6);
  std::map<int64_t, int> seen;
  auto check = [&](const TileLayout &tile, size_t contiguous, unsigned bytes) {
    // The elements that lane 5 of warp 1 holds; every aligned run of v of them along the axis.
    std::set<At> held;
    const int64_t lane = 5 % tile.lanes(), warp = 1 % tile.warps();
    for (int64_t r = 0; r < tile.registers(); ++r)
      held.insert(tile.at(r, lane, warp));
    int64_t widest = 1;
    for (int64_t v = 2; v * bytes <= 16 && tile.unit.extent(contiguous) % v == 0; v *= 2) {
      bool whole = true;
      for (At at : held) {
        at[contiguous] = at[contiguous] / v * v;
        for (int64_t i = 0; i < v; ++i, ++at[contiguous])
          whole &= held.contains(at);
      }
      if (!whole) break;
      widest = v;
    }
    const int64_t found = vectorElements(tile, contiguous, bytes);
    ASSERT_EQ(found, widest) << tile.text();
    ++seen[found];
    // The sectors that the warp's lanes touch with the first vector of each.
    std::set<At> touched;
    for (int64_t l = 0; l < tile.lanes(); ++l)
      for (int64_t i = 0; i < found; ++i) {
        At at = tile.at(0, l, warp);
        at[contiguous] = (at[contiguous] / found * found + i) * bytes / 32;
        touched.insert(at);
      }
    ASSERT_EQ(sectors(tile, contiguous, bytes), int64_t(touched.size())) << tile.text();
  };
  for (const Fragment &f : allFragments())
    for (Operand operand : {Operand::A, Operand::B, Operand::C})
      if (f.isInRegisters(operand))
        for (size_t axis : {0, 1})
          for (unsigned bytes : {1, 2, 4})
            check(operandLayout(f, operand, {f.warps(), 2}, {384, 128}), axis, bytes);
  for (int trial = 0; trial < 2000; ++trial) {
    TileLayout tile;
    tile.unit = {{3, 4}, {1, 3}};
    BitsList bases = unitVectors(7);
    std::shuffle(bases.begin(), bases.end(), random);
    if (trial % 3 == 0) // mixed bases
      for (int i = 0; i < 4; ++i) {
        size_t from = random() % 7, to = random() % 7;
        if (from != to) bases[to] ^= bases[from];
      }
    for (Bits b : bases)
      (random() % 2 ? tile.reg : random() % 2 ? tile.lane : tile.warp).push_back(b);
    check(tile, random() % 2, 1u << random() % 4);
  }
  EXPECT_GT(seen[4] + seen[8] + seen[16], 50);
  // A buffer's layout decides the width, not the shape: a row's chunks of 16 bytes stay whole when swizzled.
  const TileLayout tile = blocked(At{64, 64}, 8, 32, 4);
  auto shared = SharedLayout::swizzled(At{64, 64}, 1, 2, 128);
  const LinearLayout offset = *shared->linear().inverse();
  BitsList offsets;
  for (Bits b : tile.reg)
    offsets.push_back(offset(b));
  EXPECT_EQ(vectorElements(offsets, 2), 8);
}

TEST(Access, CountsRegisters) {
  const Fragment &f = *findFragment("mma.m16n8k16");
  EXPECT_EQ(registerWords(operandLayout(f, Operand::C, {2, 4}, {128, 256}), 4), 128);
  EXPECT_EQ(registerWords(operandLayout(f, Operand::A, {2, 4}, {128, 32}), 2), 32);
  EXPECT_EQ(registerWords(operandLayout(f, Operand::C, {4, 1}, {64, 112}), 4), 56);
  EXPECT_EQ(registerWords(blocked(At{1}, 1, 32, 1), 1), 1);
}

} // namespace
} // namespace tessera::layout
