// 2D block reads: the lanes of a sub-group get a block of a matrix in global memory in their registers, in
// the order in which a matrix instruction takes it. The device reads zeros outside of the matrix.
#pragma once
#include "compiler/layout/Fragments.h"

namespace tessera::layout {

/// One kind of read. Constant, shared by all threads.
struct BlockRead {
  const char *name; // "transform_u16_k16"
  int elementBytes;
  int rows, columns; // of the block in memory, in elements
  // The bits of registers and lanes as in Fragment: "r1 c8" adds 1 to the row, 8 to the column.
  const char *bases;
  int unit = 1; // elements of a row that its column coordinate counts as one

  /// The block's layout; axis 0 counts the rows of memory.
  TileLayout layout() const;
};

/// All kinds.
std::span<const BlockRead> allBlockReads();

/// Returns the read that gives each lane the registers of one instruction's operand, which is in memory
/// row-major, or column-major if `isStoredTransposed`; nullptr if there is none.
const BlockRead *blockRead(const Fragment &, Operand, int elementBytes, bool isStoredTransposed);

/// What the device demands of the matrix (oneAPI Level Zero and IGC, "LSC 2D block messages"): the address of
/// its first element, the bytes between rows, the bytes of a row, and a block's first byte in a row.
struct BlockReadRules {
  int64_t addressAlign = 64;
  int64_t pitchAlign = 16, leastPitch = 64;
  int64_t widthAlign = 4, leastWidth = 64;
  int64_t columnAlign = 4;
  int64_t most = int64_t{1} << 24; // bytes of a row, bytes between rows, and rows
};
inline constexpr BlockReadRules kBlockReadRules;

} // namespace tessera::layout
