// Matrix instructions: what the lanes of one warp compute together.
//
// Which lane holds which element is written out from the vendors' documents, apart from the compiler's table
// (compiler/layout/Fragments.cpp), so that a mistake in one of them shows.
#pragma once
#include <cstdint>
#include <span>
#include <tessera/emulated.hpp>

namespace tessera::emulator {

/// What one lane brings to an instruction: pointers into its stack or to shared memory.
struct MatrixOperands {
  const void *a = nullptr, *b = nullptr; // a product's; of a load `a` is the address of a row
  void *result = nullptr;                // of a product, its sums before and after; of a load, its words
};

/// The lanes of a warp that executes the instruction.
size_t lanesOf(MatrixInstruction);

/// Adds the product to the sums of the lanes. Products of dtypes below 64 bits are exact, they are summed in
/// double, and the result is rounded once; hardware rounds more often. Sums of i32 wrap; f64 adds by fma, one
/// k after the other. Returns the number of multiply-adds; 0, with the
/// sums as they were, if lanes that must hold the same elements of A or B do not.
int64_t multiply(MatrixInstruction, std::span<const MatrixOperands> lanes);

/// Returns how many more steps than one the banks of shared memory, 32 of four bytes, need for the rows of 16
/// bytes of one matrix.
int64_t conflictsOf(std::span<const MatrixOperands> rows);

/// The elements of `count` matrices of 8 x 8 elements of 16 bits that are loaded or stored (PTX ISA, ldmatrix
/// and stmatrix): calls `visit(lane, in memory, of the lane)` for each element that a lane has. Lane 8 i + r
/// has the address of row r of matrix i. Of each matrix lane l gets the elements 2 (l mod 4) and the next one
/// of row l / 4; if it transposes, of column l / 4.
template <typename Visit>
void forEachOfMatrices(std::span<const MatrixOperands> lanes, int count, bool isTransposed, Visit visit) {
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (size_t matrix = 0; matrix < static_cast<size_t>(count); ++matrix)
      for (size_t half = 0; half < 2; ++half) {
        const size_t outer = lane / 4, inner = lane % 4 * 2 + half;
        const size_t row = isTransposed ? inner : outer, column = isTransposed ? outer : inner;
        visit(lane, static_cast<const char *>(lanes[matrix * 8 + row].a) + column * 2,
              static_cast<char *>(lanes[lane].result) + matrix * 4 + half * 2);
      }
}

} // namespace tessera::emulator
