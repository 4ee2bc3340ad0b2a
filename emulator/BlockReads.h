// 2D block reads: what the lanes of a sub-group read together from a matrix in global memory.
//
// Which lane gets which byte is written out from cl_intel_subgroup_2d_block_io, apart from the compiler's
// table (compiler/layout/BlockReads.cpp), so that a mistake in one of them shows.
#pragma once
#include <cstdint>
#include <string>
#include <tessera/emulated.hpp>

namespace tessera::emulator {

/// What one lane brings: the matrix, a block's first element in it, and where the lane's words go. The
/// numbers of bytes and rows are one less than those of the matrix, as in the message.
struct BlockRead {
  EmulatedBlockRead read = EmulatedBlockRead::U16M8K16;
  uint64_t address = 0;
  uint32_t lastByte = 0, lastRow = 0, lastPitch = 0;
  int32_t column = 0, row = 0; // a column of elements
  void *words = nullptr;

  /// Is it the same read for both lanes?
  bool isSame(const BlockRead &other) const;
  int32_t elementBytes() const;
};

/// Returns which rule of the device the read breaks, or an empty text, and whether it is about alignment.
std::string breachOf(const BlockRead &, bool &isAlignment);

constexpr int kBlockLanes = 16; // of the sub-groups that read blocks

/// Bytes of a row of memory that are next to each other in a lane's words, too.
struct BlockPiece {
  int64_t row, byte; // in the matrix, where they may be outside of it
  int32_t bytes;
  bool isInside; // all of them; else none is
};
/// The pieces of the lane, in the order of its words.
int piecesOf(EmulatedBlockRead);
BlockPiece pieceOf(const BlockRead &, int lane, int number);

} // namespace tessera::emulator
