#include "compiler/layout/Access.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

namespace {

unsigned log2Exact(uint64_t power) {
  assert(std::has_single_bit(power));
  return std::countr_zero(power);
}

} // namespace

int64_t phases(const WarpAccess &access, const BankModel &model) {
  unsigned together = std::min<unsigned>(model.phaseBits(access.bytes), access.lanes.size());
  return int64_t(1) << (access.lanes.size() - together);
}

int64_t wavefronts(const WarpAccess &access, const BankModel &model) {
  const int64_t count = phases(access, model);
  const size_t together = access.lanes.size() - log2Exact(count);
  // The words of one phase: the lanes' addresses, and the words inside one access.
  BitsList words, banks;
  for (size_t i = 0; i < together; ++i)
    words.push_back(access.lanes[i] >> 2);
  for (unsigned inner = 1; inner * 4 < access.bytes; inner *= 2)
    words.push_back(inner);
  for (Bits w : words)
    banks.push_back(w & ((Bits(1) << model.bankBits) - 1));
  return count << (rank(words) - rank(banks));
}

int64_t vectorElements(std::span<const Bits> offsets, unsigned elementBytes, unsigned maxBytes) {
  const Span span(offsets);
  int64_t elements = 1;
  while (elements * 2 * elementBytes <= maxBytes && span.contains(Bits(elements)))
    elements *= 2;
  return elements;
}

int64_t vectorElements(const TileLayout &layout, size_t contiguous, unsigned elementBytes,
                       unsigned maxBytes) {
  // Registers that move along other axes too do not hold consecutive elements.
  Span span(layout.reg);
  int64_t elements = 1;
  while (elements * 2 * elementBytes <= maxBytes &&
         elements < int64_t(1) << layout.unit.axisBits[contiguous] &&
         span.contains(Bits(elements) << layout.unit.shift(contiguous)))
    elements *= 2;
  return elements;
}

int64_t sectors(const TileLayout &layout, size_t contiguous, unsigned elementBytes, unsigned maxBytes) {
  const unsigned inElement = log2Exact(elementBytes);
  const int64_t vector = vectorElements(layout, contiguous, elementBytes, maxBytes);
  BitsList images;
  const Bits axis = ((Bits(1) << layout.unit.axisBits[contiguous]) - 1) << layout.unit.shift(contiguous);
  auto add = [&](Bits packed) { // rows stay apart, columns count in sectors
    Bits column = (packed & axis) >> layout.unit.shift(contiguous);
    images.push_back((packed & ~axis) | (column << inElement >> 5) << layout.unit.shift(contiguous));
  };
  for (Bits b : layout.lane)
    add(b);
  for (int64_t v = 1; v < vector; v *= 2)
    add(Bits(v) << layout.unit.shift(contiguous));
  return int64_t(1) << rank(images);
}

int64_t registerWords(const TileLayout &layout, unsigned elementBytes) {
  return (layout.registers() * elementBytes + 3) / 4;
}

} // namespace tessera::layout
