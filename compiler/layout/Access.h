// What an access of a warp costs, computed from a layout: vector widths, sectors of global memory, conflicts
// between banks of shared memory, registers.
#pragma once
#include "compiler/layout/TileLayout.h"

namespace tessera::layout {

/// Shared memory: banks of four bytes, and which lanes are served together. Which lanes share a phase of a
/// 16-byte access is irregular on AMD's CDNA; consecutive ones are assumed until somebody measures it.
struct BankModel {
  unsigned bankBits = 5;                        // 32 banks
  unsigned lanes4 = 5, lanes8 = 4, lanes16 = 3; // lane bits of a phase, by the bytes of one lane's access

  /// Bytes of a lane's access: a power of two up to 16.
  unsigned phaseBits(unsigned bytes) const { return bytes <= 4 ? lanes4 : bytes == 8 ? lanes8 : lanes16; }
};

/// One access of a warp: each lane reads or writes `bytes` consecutive bytes at an address that is linear in
/// the bits of its number.
struct WarpAccess {
  BitsList lanes; // byte offsets of the lane bits, multiples of `bytes`
  unsigned bytes; // a power of two up to 16
};

/// Returns how often the banks are used one after the other to serve the whole warp; 1 for each phase if
/// there are no conflicts.
int64_t wavefronts(const WarpAccess &, const BankModel & = {});
/// Returns the phases of a warp's access, the fewest wavefronts.
int64_t phases(const WarpAccess &, const BankModel & = {});

/// Returns how many consecutive elements of memory a lane can access at once: `offsets` are the offsets of
/// its register bits in elements of memory. Registers may have to be renumbered for it.
int64_t vectorElements(std::span<const Bits> offsets, unsigned elementBytes, unsigned maxBytes = 16);
/// The same for a tile whose axis `contiguous` is contiguous in memory.
int64_t vectorElements(const TileLayout &, size_t contiguous, unsigned elementBytes, unsigned maxBytes = 16);

/// Returns the sectors of 32 bytes that a warp touches when each lane accesses vectorElements() elements of
/// global memory, rows being aligned to sectors.
int64_t sectors(const TileLayout &, size_t contiguous, unsigned elementBytes, unsigned maxBytes = 16);

/// Returns the 32-bit registers that one lane needs for the tile.
int64_t registerWords(const TileLayout &, unsigned elementBytes);

} // namespace tessera::layout
