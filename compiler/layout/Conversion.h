// How a tile in registers gets from one layout to another.
//
// The cheapest of three plans is taken: registers are renamed inside each lane; the lanes of a warp exchange
// registers; warps exchange elements through shared memory. All of them follow from the map that takes each
// place of the destination to the place of the source that holds its element.
#pragma once
#include "compiler/layout/Access.h"
#include "compiler/layout/TileLayout.h"
#include <variant>

namespace tessera::layout {

/// The lanes of a warp exchange registers, in a step for each register of a lane. With registers numbered
/// anew (see below), in step t lane l takes the register `taken(t) ^ offered(s ^ steps(t))` of lane s =
/// lanes(l) ^ steps(t), and puts it into its register t ^ placed(l). All registers of `reg` bits are meant; a
/// tile of several copies of its unit does this for each copy.
struct LaneExchange {
  /// A lane's register number r is the number `source(r)` of the source layout, and `destination(r)` of the
  /// destination's.
  BitsList source, destination;
  BitsList taken;   // register bits -> register bits
  BitsList steps;   // register bits -> lane bits
  BitsList lanes;   // lane bits -> lane bits
  BitsList offered; // lane bits -> register bits
  BitsList placed;  // lane bits -> register bits
  /// The lowest so many bits of register numbers are the same in both layouts: such registers can share
  /// words.
  unsigned packedBits = 0;

  bool isRenaming() const;  // no lane reads another one, nothing depends on the lane
  int64_t shuffles() const; // steps in which a lane reads another one, for one copy; a word counts once
  int64_t sourceCandidates() const; // registers among which a lane selects what it offers
  int64_t placeCandidates() const;  // registers among which it selects where to put the result
};

/// Warps exchange elements through a buffer, in one round or several. Offsets and rounds are numbered by
/// `place`: its input is the offset, in elements, and above the offset's bits the round; its image the packed
/// index. Each round: a barrier, every thread writes what `place` assigns to the round, a barrier, every
/// thread reads.
struct BufferExchange {
  LinearLayout place = LinearLayout::identity(0);
  unsigned offsetBits = 0;    // of the elements in one round
  int64_t copiesPerRound = 1; // of the unit, one after the other
  int64_t rounds = 1;
  unsigned vectorBytes = 0; // of one lane's access
  int64_t bytes = 0;        // of the buffer
  // Of one warp, in all rounds: accesses, and wavefronts of the banks.
  int64_t writes = 0, reads = 0, writeWavefronts = 0, readWavefronts = 0;
  /// Wavefronts beyond the fewest possible, for writes and reads together.
  int64_t conflicts = 0;

  int64_t barriers() const { return 2 * rounds; }
};

using Conversion = std::variant<LaneExchange, BufferExchange>;

struct ConversionLimits {
  BankModel banks;
  int64_t bufferBytes =
      48 << 10; // more rounds are made rather than a larger buffer, where the layouts share bits of registers
  int64_t candidates = 4; // a lane selects among at most so many registers
  bool shuffles = true;   // false: only renamings stay out of memory
};

/// Plans the conversion of a tile of elements of `elementBytes` (a power of two up to 16). Preconditions:
/// both layouts have the same unit, and as many lanes and warps. Always succeeds.
Conversion planConversion(const TileLayout &from, const TileLayout &to, unsigned elementBytes,
                          const ConversionLimits & = {});

/// Returns the exchange inside warps, if there is one whatever it costs.
std::optional<LaneExchange> planLaneExchange(const TileLayout &from, const TileLayout &to,
                                             unsigned elementBytes);
BufferExchange planBufferExchange(const TileLayout &from, const TileLayout &to, unsigned elementBytes,
                                  const ConversionLimits & = {});

/// Returns bases of a subspace S of dimension `count` of the span of `space`, whose cosets can be the rows of
/// all banks: neither `vector` and `a` nor `vector` and `b` have a common vector with it, if that is
/// possible; then no two lanes of a phase whose elements differ by a vector of `a` (or `b`) meet in a bank.
BitsList segmentBases(std::span<const Bits> space, std::span<const Bits> vector, std::span<const Bits> a,
                      std::span<const Bits> b, size_t count);

} // namespace tessera::layout
