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

/// An operand of elements of at most 32 bits as a load of 8 x 8 matrices from shared memory, such as
/// ldmatrix: the lane 8 i + r gives the address of row r of matrix i, 16 consecutive bytes. Of each matrix
/// lane l gets one word, the elements 2 (l mod 4) and 2 (l mod 4) + 1 of row l div 4, or of column l div 4 if
/// the load transposes. A row has twice as many 8-bit and half as many 32-bit elements, and a load does not
/// transpose those.
struct MatrixLoad {
  int count; // of matrices: words of a lane
  bool isTransposed;
  BitsList lane; // packed index, in the operand, of the row's first element: images of the bits of the lane
  /// Bytes 0 and 2, or 1 and 3 if `isOdd`, of the words of two matrices.
  struct Bytes {
    int first, second;
    bool isOdd;
  };
  std::vector<Bytes> words{}; // of the registers, if they are not the words of the matrices
};

/// Returns the load that gives each lane the registers of one instruction's operand, which is in memory
/// row-major, or column-major if `isStoredTransposed`; nullopt if there is none.
std::optional<MatrixLoad> matrixLoad(const Fragment &, Operand, unsigned elementBytes = 2,
                                     bool isStoredTransposed = false);

/// A permutation of the 16-byte chunks of each row of a matrix in shared memory: chunk c of row r is at c ^
/// (r / rows % chunks). The same chunk of any eight rows from a multiple of eight on is in eight different
/// groups of banks, so that a load of matrices has no conflicts.
struct Swizzle {
  int64_t chunks = 1, rows = 1; // powers of two; one chunk: nothing moves
  bool isNone() const { return chunks == 1; }
};
Swizzle swizzleOf(int64_t rowBytes);

/// Instructions that read operands in shared memory (Fragment::readsShared) want a matrix as panels: pieces
/// of all rows, of this many bytes each, one panel after the other, and each swizzled as a matrix of such
/// rows (SharedLayout::swizzled). Returns 32, 64 or 128; 0 if rows of `rowBytes` have no such pieces.
int64_t panelBytes(int64_t rowBytes);

} // namespace tessera::layout
