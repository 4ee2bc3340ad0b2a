// Copies of boxes of a tensor into shared memory by an engine of the device (TMA of PTX).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <tessera/emulated.hpp>
#include <vector>

namespace tessera::emulator {

/// 16 bytes of the destination: `copied` bytes from `from`, then zeros.
struct BoxChunk {
  uint32_t offset; // in shared memory
  const uint8_t *from;
  uint32_t copied;
};

/// Returns what of a tensor map breaks the rules of the hardware, or an empty text.
std::string whyNoMap(const EmulatedTensorMap &);

/// Returns the bytes that a copy writes.
uint32_t bytesOf(const EmulatedTensorMap &);

/// Whether the box at `coordinates`, innermost first, begins at a multiple of 16 bytes of a row. Anything
/// else is an illegal instruction to an H200 (driver 580.159), although the PTX ISA does not say so.
bool isBoxAligned(const EmulatedTensorMap &, const int32_t *coordinates);

/// The chunks of the copy of the aligned box at `coordinates`, innermost first, to `offset` in shared memory.
std::vector<BoxChunk> chunksOf(const EmulatedTensorMap &, const int32_t *coordinates, uint32_t offset);

void copyChunk(const BoxChunk &, uint8_t *shared);

/// A word in shared memory that counts arrivals, an mbarrier. A phase ends when no arrivals and no bytes are
/// missing.
struct Arrivals {
  uint32_t count = 1, missing = 1; // of each phase; arrivals of this one
  int64_t bytes = 0;               // that are expected and have not arrived
  uint64_t phase = 0;              // its number

  /// Has the phase with this number modulo 2 ended? Only the current one and the one before are asked for.
  bool hasEnded(uint32_t parity) const { return (phase & 1) != parity; }
  /// Begins the next phase if nothing is missing.
  bool endPhase() {
    if (missing || bytes) return false;
    missing = count, ++phase;
    return true;
  }
};

} // namespace tessera::emulator
