#include "compiler/layout/Products.h"
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

std::optional<MatrixLoad> matrixLoad(const Fragment &f, Operand operand) {
  if (!f.isInRegisters(operand)) return std::nullopt;
  const TileLayout own = f.layout(operand);
  auto at = [&](size_t axis, int64_t value) {
    std::array<int64_t, 2> index = {0, 0};
    index[axis] = value;
    return own.unit.pack(index);
  };
  if (own.reg.empty() || own.reg.size() > 3) return std::nullopt; // one to four matrices
  for (size_t inWord : {1, 0}) {                                  // the axis of a word's two elements
    const BitsList lanes = {at(inWord, 2), at(inWord, 4), at(1 - inWord, 1), at(1 - inWord, 2),
                            at(1 - inWord, 4)};
    if (own.lane != lanes || own.reg.front() != at(inWord, 1)) continue;
    // Further registers are further matrices.
    MatrixLoad load = {1 << (own.reg.size() - 1), inWord == 0, {at(0, 1), at(0, 2), at(0, 4)}};
    load.lane.insert(load.lane.end(), own.reg.begin() + 1, own.reg.end());
    return load;
  }
  return std::nullopt;
}

} // namespace tessera::layout
