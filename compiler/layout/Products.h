// How the warps of a block compute a product by matrix instructions of one kind.
#pragma once
#include "compiler/layout/Fragments.h"

namespace tessera::layout {

/// The instructions of each warp, (i, j) of `down` x `across`, and where they are in the tile. The sums are
/// in the layout that operandLayout() gives C. Constant.
class ProductPlan {
public:
  /// Preconditions: paddedProduct() returns `mnk` as it is, and one warp executes the instruction.
  ProductPlan(const Fragment &, WarpGrid, std::array<int64_t, 3> mnk);

  int64_t down, across;  // instructions of a warp along m and n
  int64_t rows, columns; // between the instructions of one warp
  std::vector<int64_t>
      rowOfWarp; // what the bits of the warp's number add to the row of its first instruction
  std::vector<int64_t> columnOfWarp; // and to the column

  /// Returns the number of the first register that instruction (i, j) adds to; its registers are consecutive.
  int64_t firstRegister(int64_t i, int64_t j) const;

private:
  size_t ownBits_, unitBits_; // of registers: of one instruction, of the tile's unit
  int64_t downInUnit_, acrossInUnit_, repeatAcross_;
};

/// An operand of 16-bit elements as a load of 8 x 8 matrices from shared memory, such as ldmatrix: the lane 8
/// i + r gives the address of row r of matrix i, eight consecutive elements. Of each matrix lane l gets one
/// word with the elements 2 (l mod 4) and 2 (l mod 4) + 1 of row l div 4, or of column l div 4 if the load
/// transposes.
struct MatrixLoad {
  int count; // of matrices: words of a lane
  bool isTransposed;
  BitsList lane; // packed index, in the operand, of the row's first element: images of the bits of the lane
};

/// Returns the load that gives each lane the registers of one instruction's operand, which is in memory
/// row-major; nullopt if there is none.
std::optional<MatrixLoad> matrixLoad(const Fragment &, Operand);

} // namespace tessera::layout
