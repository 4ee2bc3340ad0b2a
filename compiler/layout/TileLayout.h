// Where the elements of a tile are: in the registers of the lanes of the warps of a block, or in a buffer.
//
// The extent of an axis is 2^k * m with m odd: a *unit* of 2^k indices and a *repeat* of m. A linear map goes
// from the bits of (register, lane, warp), or of an offset, to the index inside the unit; the unit is
// repeated m times. So a layout of 128x176 elements is a map onto 128x16 and 11 repeats. A base that is 0
// means that the elements are copied: two lanes, say, hold the same ones.
//
// An index inside the unit is packed row-major: the last axis has the lowest bits.
//
// Values; constant functions are thread-safe.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include "core/support/Expected.h"
#include <map>
#include <string>

namespace tessera::layout {

/// What the layouts of registers and of memory share: the shape, cut into units.
class Unit {
public:
  Unit() = default;
  Unit(std::vector<unsigned> axisBits, std::vector<int64_t> repeat)
      : axisBits(std::move(axisBits)), repeat(std::move(repeat)) {}
  /// Cuts each extent of `shape`, which is positive, into a power of two and an odd number.
  static Unit ofShape(std::span<const int64_t> shape);

  std::vector<unsigned> axisBits; // by axis: the unit has 2^axisBits indices
  std::vector<int64_t> repeat;    // by axis: odd

  size_t rank() const { return axisBits.size(); }
  unsigned bits() const;
  /// The number of copies of the unit.
  int64_t copies() const;
  int64_t extent(size_t axis) const { return repeat[axis] << axisBits[axis]; }
  std::vector<int64_t> shape() const;
  /// The position of the axis' lowest bit in a packed index.
  unsigned shift(size_t axis) const;
  Bits pack(std::span<const int64_t> index) const;
  int64_t onAxis(Bits packed, size_t axis) const;
  /// Returns the index in the tile of the element `packed` of a copy; copies are counted row-major.
  std::vector<int64_t> index(int64_t copy, Bits packed) const;

  bool operator==(const Unit &) const = default;
};

/// Coordinates of bases: one list for each base, with one index for each axis.
using Coordinates = std::vector<std::vector<int64_t>>;

/// A tile in registers. Register number = copy * 2^reg.size() + r.
class TileLayout {
public:
  Unit unit;
  BitsList reg, lane, warp; // packed images of the bits of r, of the lane and of the warp

  /// Makes a layout from what its text holds. Fails (E_LAYOUT) unless repeats are odd and positive, all lists
  /// have one rank, and the bases span the unit that they touch.
  static Expected<TileLayout> fromCoordinates(const Coordinates &reg, const Coordinates &lane,
                                              const Coordinates &warp, std::vector<int64_t> repeat);

  int64_t registers() const { return unit.copies() << reg.size(); }
  int64_t lanes() const { return int64_t(1) << lane.size(); }
  int64_t warps() const { return int64_t(1) << warp.size(); }
  /// The map from (r, lane, warp), r lowest, to the packed index.
  LinearLayout linear() const;
  std::vector<int64_t> at(int64_t registerNumber, int64_t lane, int64_t warp) const;
  /// "reg = [[0,1]], lane = [[1,0]], warp = [], repeat = [1, 3]"
  std::string text() const;

  bool operator==(const TileLayout &) const = default;
};

/// A tile in a buffer. Offset in elements = copy * 2^offset.size() + the offset inside the unit.
class SharedLayout {
public:
  Unit unit;
  BitsList offset; // packed images of the bits of the offset: a bijection

  /// As TileLayout::fromCoordinates; besides, no element may have two offsets.
  static Expected<SharedLayout> fromCoordinates(const Coordinates &offset, std::vector<int64_t> repeat);
  static SharedLayout rowMajor(std::span<const int64_t> shape);
  /// Rows of the axis `contiguous` of a matrix in pieces of `span` bytes (32, 64 or 128), all pieces of one
  /// column before the next column's, with the pieces' 16-byte chunks permuted by the row as TMA and wgmma
  /// do: byte bits 4, 5, 6 of an address are flipped by bits 7, 8, 9 (the first of them for shorter spans).
  /// Fails (E_LAYOUT) if a row is no whole number of spans.
  static Expected<SharedLayout> swizzled(std::span<const int64_t> shape, size_t contiguous,
                                         unsigned elementBytes, unsigned span);

  LinearLayout linear() const { return {offset, unit.bits()}; }
  int64_t offsetOf(std::span<const int64_t> index) const;
  std::string text() const;

  bool operator==(const SharedLayout &) const = default;
};

/// The registers of a layout by the index of the element that each has in the first lane of the first warp.
class RegisterNumbers {
public:
  explicit RegisterNumbers(const TileLayout &);
  /// Precondition: a register has it.
  int64_t at(const std::vector<int64_t> &index) const { return numbers_.at(index); }

private:
  std::map<std::vector<int64_t>, int64_t> numbers_;
};

/// The layout of a tile without the axis, each of whose elements is where elements with its other indices
/// were. Lanes and warps that differed along the axis alone hold the same elements; registers of a lane do
/// not.
TileLayout withoutAxis(const TileLayout &, size_t axis);
/// The layout with an axis of extent 1 inserted.
TileLayout withUnitAxis(const TileLayout &, size_t axis);
/// Do the lanes and warps of both, whose shapes are equal, hold the same elements, in whatever registers?
bool haveSameThreads(const TileLayout &, const TileLayout &);

/// Returns the smallest multiple of `multiple` that is at least `extent`.
int64_t padded(int64_t extent, int64_t multiple);

/// Is what a register holds inside a tensor whose axis has `extent` indices, in every thread, in none, or
/// does each thread have to compare?
enum class Inside { Always, Never, Compare };
Inside inside(const TileLayout &, int64_t registerNumber, size_t axis, int64_t extent);

/// Spreads a tile whose last axis is contiguous in memory for wide accesses: `vector` consecutive elements a
/// lane, then lanes along the last axis, then along those before it. Warps are spread along the axes before
/// the last first, so that a row is in as few warps as possible. Registers hold what is left. Lanes and warps
/// that find no elements of the unit copy those of others. All but the shape are powers of two.
TileLayout blocked(std::span<const int64_t> shape, int64_t vector, int64_t lanes, int64_t warps);

/// Where the lanes of a warp would store less than a sector of 32 bytes of a row at once: returns the layout
/// in which each lane has up to 16 bytes that are next to each other. Lanes of the same warp hold those
/// elements in `from`. Returns nothing if sectors are whole, or registers along rows are missing.
std::optional<TileLayout> wideRows(const TileLayout &from, unsigned elementBytes);

} // namespace tessera::layout
