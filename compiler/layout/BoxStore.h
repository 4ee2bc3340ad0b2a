// How the warps of a tile in registers write it to shared memory, from where an engine of the device stores
// it in boxes: each warp its own elements, so that warps do not wait for each other.
#pragma once
#include "compiler/layout/TileLayout.h"
#include <optional>
#include <vector>

namespace tessera::layout {

struct BoxStore {
  /// A warp has these rows and columns in one box. Its rows in shared memory are 32, 64 or 128 bytes long and
  /// swizzled (SharedLayout::swizzled).
  int64_t rows, columns;
  enum class Form : uint8_t {
    Rows,     // a lane has a row
    Matrices, // a lane has pairs of columns of two rows 8 apart, as the sums of most instructions, of 16
              // bits: the warp stores matrices of 8 x 8 elements, lanes 8 i to 8 i + 7 give the rows of
              // matrix i
    Pairs,    // the same of 32 bits: a lane stores pairs
  } form;
  bool isOfPairs() const { return form != Form::Rows; }
  struct Box {
    int64_t row, column; // of the first element that the first warp has in it
    /// In the order of columns: pairs of rows 0 to 7, then of 8 to 15, for each 8 columns; of rows, one by
    /// one.
    std::vector<int64_t> registers;
  };
  std::vector<Box> boxes;
};

/// Pairs of 32 bits of one warp meet in banks of shared memory unless lanes with the bit `lane` of their
/// number exchange what they have of 8 columns for that of the 8 columns whose number differs in the bit
/// `columns`.
struct PairExchange {
  int64_t lane = 0, columns = 0; // 0: there is nothing to exchange
};
PairExchange pairExchange(int64_t rowBytes);

/// Returns how a tile of two axes is stored, in as long rows as possible; nullopt if its lanes or warps hold
/// elements otherwise, or lanes the same ones.
std::optional<BoxStore> boxStore(const TileLayout &, unsigned elementBytes);

} // namespace tessera::layout
