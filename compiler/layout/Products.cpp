#include "compiler/layout/Products.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

ProductPlan::ProductPlan(const Fragment &f, WarpGrid warps, std::array<int64_t, 3> mnk)
    : rows(f.m * warps.m), columns(f.n * warps.n) {
  assert(f.warps() == 1 && paddedProduct(f, warps, mnk) == mnk);
  down = mnk[0] / rows;
  across = mnk[1] / columns;
  for (int64_t w = 1; w < warps.m; w *= 2)
    rowOfWarp.push_back(f.m * w), columnOfWarp.push_back(0);
  for (int64_t w = 1; w < warps.n; w *= 2)
    rowOfWarp.push_back(0), columnOfWarp.push_back(f.n * w);
  const TileLayout sums = operandLayout(f, Operand::C, warps, {mnk[0], mnk[1]});
  ownBits_ = f.layout(Operand::C).reg.size();
  unitBits_ = sums.reg.size();
  downInUnit_ = (int64_t(1) << sums.unit.axisBits[0]) / rows;
  acrossInUnit_ = (int64_t(1) << sums.unit.axisBits[1]) / columns;
  repeatAcross_ = sums.unit.repeat[1];
}

/// Registers count the columns of the unit first, then its rows, then the copies.
int64_t ProductPlan::firstRegister(int64_t i, int64_t j) const {
  const int64_t copy = i / downInUnit_ * repeatAcross_ + j / acrossInUnit_;
  const int64_t inUnit = i % downInUnit_ * acrossInUnit_ + j % acrossInUnit_;
  return (copy << unitBits_) + (inUnit << ownBits_);
}

/// A load that transposes pairs of bytes: a lane gets the elements of two rows in two columns of an operand
/// whose rows are along k. Which rows of the operand are those of a matrix is free, so that two matrices have
/// the four elements along k that make a register of one column.
static std::optional<MatrixLoad> loadOfPairs(const TileLayout &own, size_t contiguous) {
  auto at = [&](size_t axis, int64_t value) {
    std::array<int64_t, 2> index = {0, 0};
    index[axis] = value;
    return own.unit.pack(index);
  };
  const size_t k = 1 - contiguous;
  const BitsList lanes = {at(k, 4), at(k, 8), at(contiguous, 2), at(contiguous, 4), at(contiguous, 8)};
  if (own.lane != lanes || own.reg.size() < 3 || own.reg[0] != at(k, 1) || own.reg[1] != at(k, 2))
    return std::nullopt;
  if (own.reg == BitsList{at(k, 1), at(k, 2), at(contiguous, 1)}) // of 16 elements along k
    return MatrixLoad{
        2, true, {at(k, 1), at(k, 4), at(k, 8), at(k, 2)}, {{0, 1, /*isOdd=*/false}, {0, 1, /*isOdd=*/true}}};
  if (own.reg.size() != 4) return std::nullopt;
  const bool isOddFirst = own.reg[2] == at(contiguous, 1);
  if (own.reg[isOddFirst ? 3 : 2] != at(k, 16) || own.reg[isOddFirst ? 2 : 3] != at(contiguous, 1))
    return std::nullopt;
  MatrixLoad load = {4, true, {at(k, 1), at(k, 4), at(k, 8), at(k, 2), at(k, 16)}};
  for (int word = 0; word < 4; ++word) {
    const int low = word % 2, high = word / 2, deep = isOddFirst ? high : low, odd = isOddFirst ? low : high;
    load.words.push_back({2 * deep, 2 * deep + 1, odd != 0});
  }
  return load;
}

std::optional<MatrixLoad> matrixLoad(const Fragment &f, Operand operand, unsigned elementBytes,
                                     bool isStoredTransposed) {
  if (!f.isInRegisters(operand) || elementBytes == 0 || elementBytes > 4) return std::nullopt;
  const TileLayout own = f.layout(operand);
  auto at = [&](size_t axis, int64_t value) {
    std::array<int64_t, 2> index = {0, 0};
    index[axis] = value;
    return own.unit.pack(index);
  };
  const size_t perWord =
      static_cast<size_t>(std::bit_width(4 / elementBytes)) - 1; // bits of an element's number in a word
  if (own.reg.size() < perWord || own.reg.size() > perWord + 2) return std::nullopt; // one to four matrices
  const size_t contiguous = isStoredTransposed ? 0 : 1;                              // in memory
  for (size_t inWord : {size_t(1), size_t(0)}) { // the axis of a word's elements
    const bool isTransposed = inWord != contiguous;
    if (isTransposed && elementBytes != 2) continue; // the load exchanges elements of 16 bits
    BitsList word, lanes;
    for (size_t i = 0; i < perWord; ++i)
      word.push_back(at(inWord, 1 << i));
    for (size_t i = 0; i < 2; ++i)
      lanes.push_back(at(inWord, 1 << (perWord + i)));
    for (size_t i = 0; i < 3; ++i)
      lanes.push_back(at(1 - inWord, 1 << i));
    if (own.lane != lanes || !std::equal(word.begin(), word.end(), own.reg.begin())) continue;
    // Further registers are further matrices. Rows are numbered along the axis that is not contiguous.
    const size_t rows = 1 - contiguous;
    MatrixLoad load = {
        1 << (own.reg.size() - perWord), isTransposed, {at(rows, 1), at(rows, 2), at(rows, 4)}};
    load.lane.insert(load.lane.end(), own.reg.begin() + static_cast<ptrdiff_t>(perWord), own.reg.end());
    return load;
  }
  if (elementBytes == 1) return loadOfPairs(own, contiguous);
  return std::nullopt;
}

Swizzle swizzleOf(int64_t rowBytes) {
  constexpr int64_t kChunk = 16, kPhase = 8; // bytes of a lane's access; lanes that are served together
  if (rowBytes <= 0 || rowBytes % kChunk) return {};
  // Chunks of consecutive rows meet in as few of the eight groups of banks as a power of two divides a row.
  const int64_t chunks = rowBytes / kChunk, even = std::min(chunks & -chunks, kPhase);
  if (even == 1) return {};
  return {even, kPhase / even};
}

int64_t panelBytes(int64_t rowBytes) {
  constexpr int64_t kLeast = 32, kMost = 128;
  const int64_t even = rowBytes & -rowBytes;
  return rowBytes <= 0 || even < kLeast ? 0 : std::min(even, kMost);
}

} // namespace tessera::layout
