#include "compiler/layout/BoxStore.h"
#include <algorithm>
#include <map>

namespace tessera::layout {
namespace {

/// The boxes of `columns` columns; none if the layout has other parts.
std::vector<BoxStore::Box> boxesOf(const TileLayout &layout, bool isOfPairs, int64_t rows, int64_t columns) {
  // By the box, then by the order of stores.
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, int64_t>> found;
  for (int64_t r = 0; r < layout.registers(); ++r) {
    const std::vector<int64_t> at = layout.at(r, 0, 0);
    const int64_t row = at[0] % rows, column = at[1] % columns;
    if (isOfPairs ? row % 8 || column % 8 > 1 : row != 0) return {};
    const int64_t order = isOfPairs ? column / 8 * 4 + row / 8 * 2 + column % 8 : column;
    if (!found[{at[0] - row, at[1] - column}].emplace(order, r).second) return {};
  }
  std::vector<BoxStore::Box> boxes;
  for (const auto &[at, registers] : found) {
    if (std::ssize(registers) != rows * columns / 32) return {};
    BoxStore::Box &box = boxes.emplace_back(at.first, at.second);
    for (const auto &[order, number] : registers)
      box.registers.push_back(number);
  }
  return boxes;
}

} // namespace

PairExchange pairExchange(int64_t rowBytes) {
  // Sixteen lanes store the pairs of four rows at once: half of the 128 bytes of all banks, twice, unless
  // they are of other columns.
  return rowBytes == 128 ? PairExchange{4, 2} : rowBytes == 64 ? PairExchange{8, 1} : PairExchange{};
}

std::optional<BoxStore> boxStore(const TileLayout &layout, unsigned elementBytes) {
  if (layout.unit.rank() != 2) return std::nullopt;
  auto is = [&](std::initializer_list<std::pair<int64_t, int64_t>> lanes) {
    return std::ranges::equal(layout.lane, lanes, [&](Bits image, std::pair<int64_t, int64_t> at) {
      return image && layout.unit.onAxis(image, 0) == at.first && layout.unit.onAxis(image, 1) == at.second;
    });
  };
  using Form = BoxStore::Form;
  const bool isOfPairs = is({{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}});
  if (isOfPairs ? elementBytes != 2 && elementBytes != 4 : !is({{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}))
    return std::nullopt;
  const Form form = !isOfPairs ? Form::Rows : elementBytes == 2 ? Form::Matrices : Form::Pairs;
  const int64_t rows = isOfPairs ? 16 : 32;
  for (int64_t bytes : {128, 64, 32}) {
    const int64_t columns = bytes / elementBytes;
    const bool fits = std::ranges::all_of(layout.warp, [&](Bits image) {
      return image && layout.unit.onAxis(image, 0) % rows == 0 && layout.unit.onAxis(image, 1) % columns == 0;
    });
    if (!fits) continue;
    if (auto boxes = boxesOf(layout, isOfPairs, rows, columns); !boxes.empty())
      return BoxStore{rows, columns, form, std::move(boxes)};
  }
  return std::nullopt;
}

} // namespace tessera::layout
