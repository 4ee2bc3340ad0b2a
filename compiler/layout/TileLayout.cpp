#include "compiler/layout/TileLayout.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace tessera::layout {

namespace {

constexpr int64_t kMaxCoordinate = 1 << 20;

Error refuse(std::string message) { return {"E_LAYOUT", std::move(message), ""}; }

std::string number(int64_t value) { return std::to_string(value); }

template <class List> std::string joined(const List &list, const char *separator) {
  std::string out;
  for (const auto &item : list) {
    if (!out.empty()) out += separator;
    if constexpr (std::is_convertible_v<decltype(item), std::string>)
      out += item;
    else
      out += number(item);
  }
  return out;
}

/// The unit that all bases touch.
Expected<Unit> unitOf(std::initializer_list<const Coordinates *> lists, std::vector<int64_t> repeat) {
  const size_t rank = repeat.size();
  if (!rank) return refuse("a layout needs 'repeat', one odd number for each axis");
  for (int64_t m : repeat)
    if (m < 1 || m % 2 == 0 || m > kMaxCoordinate)
      return refuse("repeat " + number(m) + " is not odd and positive; powers of two belong to the bases");
  std::vector<unsigned> axisBits(rank, 0);
  size_t bases = 0;
  for (const Coordinates *list : lists)
    for (const std::vector<int64_t> &base : *list) {
      if (base.size() != rank)
        return refuse("base [" + joined(base, ", ") + "] has " + number(base.size()) +
                      " coordinates, 'repeat' has " + number(rank) + " axes");
      if (++bases > 40) return refuse("a layout has at most 40 bases");
      for (size_t d = 0; d < rank; ++d) {
        if (base[d] < 0 || base[d] >= kMaxCoordinate)
          return refuse("coordinate " + number(base[d]) + " is not between 0 and " +
                        number(kMaxCoordinate - 1));
        axisBits[d] = std::max(axisBits[d], unsigned(std::bit_width(uint64_t(base[d]))));
      }
    }
  Unit unit(std::move(axisBits), std::move(repeat));
  if (unit.bits() > 40) return refuse("the unit has more than 2^40 elements");
  return unit;
}

BitsList packAll(const Unit &unit, const Coordinates &bases) {
  BitsList packed;
  for (const std::vector<int64_t> &base : bases)
    packed.push_back(unit.pack(base));
  return packed;
}

std::string textOf(const Unit &unit, const BitsList &bases) {
  std::vector<std::string> all;
  for (Bits b : bases) {
    std::vector<int64_t> base(unit.rank());
    for (size_t d = 0; d < unit.rank(); ++d)
      base[d] = unit.onAxis(b, d);
    all.push_back("[" + joined(base, ",") + "]");
  }
  return "[" + joined(all, ", ") + "]";
}

} // namespace

Unit Unit::ofShape(std::span<const int64_t> shape) {
  Unit unit;
  for (int64_t extent : shape) {
    assert(extent > 0);
    unit.axisBits.push_back(std::countr_zero(uint64_t(extent)));
    unit.repeat.push_back(extent >> unit.axisBits.back());
  }
  return unit;
}

unsigned Unit::bits() const { return std::accumulate(axisBits.begin(), axisBits.end(), 0u); }

int64_t Unit::copies() const {
  return std::accumulate(repeat.begin(), repeat.end(), int64_t(1), std::multiplies<>());
}

std::vector<int64_t> Unit::shape() const {
  std::vector<int64_t> shape(rank());
  for (size_t d = 0; d < rank(); ++d)
    shape[d] = extent(d);
  return shape;
}

unsigned Unit::shift(size_t axis) const {
  return std::accumulate(axisBits.begin() + axis + 1, axisBits.end(), 0u);
}

Bits Unit::pack(std::span<const int64_t> index) const {
  Bits packed = 0;
  for (size_t d = 0; d < rank(); ++d)
    packed |= Bits(index[d] & ((int64_t(1) << axisBits[d]) - 1)) << shift(d);
  return packed;
}

int64_t Unit::onAxis(Bits packed, size_t axis) const {
  return int64_t(packed >> shift(axis) & ((Bits(1) << axisBits[axis]) - 1));
}

std::vector<int64_t> Unit::index(int64_t copy, Bits packed) const {
  std::vector<int64_t> index(rank());
  for (size_t d = rank(); d-- > 0; copy /= repeat[d])
    index[d] = (copy % repeat[d] << axisBits[d]) + onAxis(packed, d);
  return index;
}

Expected<TileLayout> TileLayout::fromCoordinates(const Coordinates &reg, const Coordinates &lane,
                                                 const Coordinates &warp, std::vector<int64_t> repeat) {
  auto unit = unitOf({&reg, &lane, &warp}, std::move(repeat));
  if (!unit) return unit.error();
  TileLayout layout;
  layout.unit = *unit;
  layout.reg = packAll(*unit, reg);
  layout.lane = packAll(*unit, lane);
  layout.warp = packAll(*unit, warp);
  if (!layout.linear().isOnto())
    return refuse("the bases reach " + number(int64_t(1) << layout.linear().rank()) + " of the " +
                  number(int64_t(1) << unit->bits()) + " elements of the unit");
  return layout;
}

LinearLayout TileLayout::linear() const { return {concat(concat(reg, lane), warp), unit.bits()}; }

std::vector<int64_t> TileLayout::at(int64_t number, int64_t l, int64_t w) const {
  Bits r = Bits(number) & ((Bits(1) << reg.size()) - 1);
  return unit.index(number >> reg.size(), applyBases(reg, r) ^ applyBases(lane, l) ^ applyBases(warp, w));
}

std::string TileLayout::text() const {
  return "reg = " + textOf(unit, reg) + ", lane = " + textOf(unit, lane) + ", warp = " + textOf(unit, warp) +
         ", repeat = [" + joined(unit.repeat, ", ") + "]";
}

Expected<SharedLayout> SharedLayout::fromCoordinates(const Coordinates &offset, std::vector<int64_t> repeat) {
  auto unit = unitOf({&offset}, std::move(repeat));
  if (!unit) return unit.error();
  SharedLayout layout;
  layout.unit = *unit;
  layout.offset = packAll(*unit, offset);
  if (layout.offset.size() != unit->bits() || !layout.linear().isOnto())
    return refuse(number(layout.offset.size()) + " offset bits of rank " + number(layout.linear().rank()) +
                  " do not number the " + number(int64_t(1) << unit->bits()) + " elements of the unit");
  return layout;
}

SharedLayout SharedLayout::rowMajor(std::span<const int64_t> shape) {
  SharedLayout layout;
  layout.unit = Unit::ofShape(shape);
  layout.offset = unitVectors(layout.unit.bits());
  return layout;
}

Expected<SharedLayout> SharedLayout::swizzled(std::span<const int64_t> shape, size_t contiguous,
                                              unsigned elementBytes, unsigned span) {
  assert(shape.size() == 2 && contiguous < 2 && std::has_single_bit(elementBytes) && elementBytes <= 16);
  assert(span == 32 || span == 64 || span == 128);
  SharedLayout layout;
  Unit &unit = layout.unit = Unit::ofShape(shape);
  const unsigned piece = std::countr_zero(span / elementBytes), chunk = std::countr_zero(16 / elementBytes);
  const unsigned column = unit.shift(contiguous), row = unit.shift(1 - contiguous);
  const unsigned columns = unit.axisBits[contiguous], rows = unit.axisBits[1 - contiguous];
  if (columns < piece)
    return refuse(number(shape[contiguous]) + " elements of " + number(elementBytes) +
                  " bytes are no whole number of swizzled spans of " + number(span) + " bytes");
  // Row bit i is byte bit log2(span) + i; bit 7 + j flips chunk bit j.
  const unsigned first = 7 - std::countr_zero(span), flips = piece - chunk;
  // Pieces of further columns and copies of the unit follow in memory, so that each has to begin where the
  // permutation does; and a copy of rows must not come after the pieces of other columns.
  const bool hasMoreColumns = columns > piece || unit.repeat[contiguous] > 1;
  const bool hasMoreRows = unit.repeat[1 - contiguous] > 1;
  if ((hasMoreRows && hasMoreColumns) || ((hasMoreRows || hasMoreColumns) && rows < first + flips))
    return refuse(number(shape[1 - contiguous]) + " rows of " +
                  number(shape[contiguous] * elementBytes / span) + " swizzled spans of " + number(span) +
                  " bytes are not implemented (TSR_UNIMPLEMENTED)");
  layout.offset = unitVectors(piece, column);
  for (unsigned i = 0; i < rows; ++i) {
    bool flipping = i >= first && i < first + flips;
    Bits flip = flipping ? Bits(1) << (column + chunk + i - first) : 0;
    layout.offset.push_back(Bits(1) << (row + i) | flip);
  }
  for (Bits b : unitVectors(columns - piece, column + piece))
    layout.offset.push_back(b);
  return layout;
}

int64_t SharedLayout::offsetOf(std::span<const int64_t> index) const {
  int64_t copy = 0;
  for (size_t d = 0; d < unit.rank(); ++d)
    copy = copy * unit.repeat[d] + (index[d] >> unit.axisBits[d]);
  return (copy << offset.size()) + int64_t((*linear().inverse())(unit.pack(index)));
}

std::string SharedLayout::text() const {
  return "offset = " + textOf(unit, offset) + ", repeat = [" + joined(unit.repeat, ", ") + "]";
}

namespace {
/// Moves the images of a layout to another unit; `axes[d]` is the old axis of axis d, or none.
TileLayout withAxes(const TileLayout &from, const std::vector<std::optional<size_t>> &axes) {
  TileLayout to;
  for (std::optional<size_t> axis : axes) {
    to.unit.axisBits.push_back(axis ? from.unit.axisBits[*axis] : 0);
    to.unit.repeat.push_back(axis ? from.unit.repeat[*axis] : 1);
  }
  auto repack = [&](const BitsList &images, BitsList &out, bool keepsCopies) {
    for (Bits image : images) {
      std::vector<int64_t> index;
      for (std::optional<size_t> axis : axes)
        index.push_back(axis ? from.unit.onAxis(image, *axis) : 0);
      const Bits packed = to.unit.pack(index);
      if (packed || keepsCopies) out.push_back(packed);
    }
  };
  repack(from.reg, to.reg, false);
  repack(from.lane, to.lane, true);
  repack(from.warp, to.warp, true);
  return to;
}
} // namespace

RegisterNumbers::RegisterNumbers(const TileLayout &layout) {
  for (int64_t r = 0; r < layout.registers(); ++r)
    numbers_.emplace(layout.at(r, 0, 0), r);
}

TileLayout withoutAxis(const TileLayout &layout, size_t axis) {
  std::vector<std::optional<size_t>> axes;
  for (size_t d = 0; d < layout.unit.rank(); ++d)
    if (d != axis) axes.push_back(d);
  return withAxes(layout, axes);
}

TileLayout withUnitAxis(const TileLayout &layout, size_t axis) {
  std::vector<std::optional<size_t>> axes;
  for (size_t d = 0; d < layout.unit.rank(); ++d)
    axes.push_back(d);
  axes.insert(axes.begin() + static_cast<ptrdiff_t>(axis), std::nullopt);
  return withAxes(layout, axes);
}

bool haveSameThreads(const TileLayout &a, const TileLayout &b) {
  return a.unit == b.unit && a.lane == b.lane && a.warp == b.warp;
}

int64_t padded(int64_t extent, int64_t multiple) { return (extent + multiple - 1) / multiple * multiple; }

Inside inside(const TileLayout &layout, int64_t number, size_t axis, int64_t extent) {
  const Unit &unit = layout.unit;
  const int64_t own = layout.at(number, 0, 0)[axis];
  BitsList threads;
  for (Bits b : concat(layout.lane, layout.warp))
    threads.push_back(Bits(unit.onAxis(b, axis)));
  // The least own ^ t, t in the span of the threads' part, is the remainder; the greatest is the complement
  // of the least of the complements.
  const Span span(threads);
  const Bits all = (Bits(1) << unit.axisBits[axis]) - 1, copy = Bits(own) & ~all;
  const Bits least = copy | span.reduce(Bits(own) & all), most = copy | (all ^ span.reduce(~Bits(own) & all));
  if (int64_t(most) < extent) return Inside::Always;
  return int64_t(least) >= extent ? Inside::Never : Inside::Compare;
}

TileLayout blocked(std::span<const int64_t> shape, int64_t vector, int64_t lanes, int64_t warps) {
  TileLayout layout;
  layout.unit = Unit::ofShape(shape);
  // Packed bits are already in the order of memory: the last axis first.
  const unsigned bits = layout.unit.bits(), lastBits = shape.empty() ? 0 : layout.unit.axisBits.back();
  const unsigned inVector = std::min<unsigned>(std::countr_zero(uint64_t(vector)), lastBits);
  BitsList free;
  for (unsigned bit = inVector; bit < bits; ++bit)
    free.push_back(Bits(1) << bit);
  auto take = [&](BitsList &list, int64_t count) {
    list.resize(std::countr_zero(uint64_t(count)));
    const auto taken = free.begin() + std::min(free.size(), list.size());
    std::copy(free.begin(), taken, list.begin());
    free.erase(free.begin(), taken);
  };
  layout.reg = unitVectors(inVector);
  take(layout.lane, lanes);
  std::ranges::rotate(free, std::ranges::lower_bound(free, Bits(1) << lastBits));
  take(layout.warp, warps);
  std::ranges::sort(free);
  layout.reg.insert(layout.reg.end(), free.begin(), free.end());
  return layout;
}

std::optional<TileLayout> wideRows(const TileLayout &from, unsigned elementBytes) {
  constexpr size_t kSector = 32, kVector = 16;
  const size_t rowBits = from.unit.rank() ? from.unit.axisBits.back() : 0;
  auto has = [](const BitsList &list, Bits image) { return std::ranges::find(list, image) != list.end(); };
  size_t together = 0; // bits of the row that one store of a warp covers
  while (together < std::min(rowBits, from.reg.size()) && from.reg[together] == Bits(1) << together)
    ++together;
  while (together < rowBits && has(from.lane, Bits(1) << together))
    ++together;
  if (elementBytes << together >= kSector || elementBytes > kVector) return std::nullopt;
  TileLayout to = from;
  const size_t inVector = std::min<size_t>(std::countr_zero(kVector / elementBytes), rowBits);
  auto isFurther = [&](Bits image) {
    return std::has_single_bit(image) && image >> inVector && !(image >> rowBits);
  };
  for (size_t bit = 0; bit < inVector; ++bit) {
    if (has(to.reg, Bits(1) << bit)) continue;
    const auto lane = std::ranges::find(to.lane, Bits(1) << bit),
               reg = std::ranges::find_if(to.reg, isFurther);
    if (lane == to.lane.end() || reg == to.reg.end()) break;
    std::swap(*lane, *reg);
  }
  BitsList further; // after neighbours
  for (Bits image : to.reg)
    if (!image || image >> inVector) further.push_back(image);
  std::erase_if(to.reg, [&](Bits image) { return !image || image >> inVector; });
  std::ranges::sort(to.reg);
  to.reg.insert(to.reg.end(), further.begin(), further.end());
  if (to == from) return std::nullopt;
  return to;
}

} // namespace tessera::layout
