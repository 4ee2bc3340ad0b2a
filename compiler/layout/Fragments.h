// The matrix instructions of GPUs: which lane and register holds which element of each operand.
//
// The table in Fragments.cpp is the compiler's only description of them. Tests compare it with the vendors'
// formulas, which are written out in test/FragmentsTest.cpp.
#pragma once
#include "compiler/layout/TileLayout.h"
#include "numerics/DType.h"
#include <array>
#include <span>
#include <string_view>

namespace tessera::layout {

/// A is m x k, B is k x n, and C, the accumulator and result, is m x n.
enum class Operand { A, B, C };

/// Columns of the tensor memory of a block, in which some instructions have their sums, one column of 32 bits
/// for each of theirs.
inline constexpr int64_t kTensorColumns = 512;

/// How the warps of a block divide the rows and the columns of a product; powers of two. An instruction of
/// several warps counts with its own.
struct WarpGrid {
  int64_t m = 1, n = 1;
};

/// One instruction, C += A * B. Constant, shared by all threads.
struct Fragment {
  const char *name; // "mma.m16n8k16"
  int m, n, k;
  const char *dtypes;      // of A and B: "f16 bf16"
  const char *accumulator; // dtype of C
  // The bits of registers, lanes and (after a second bar) warps, lowest first: "k1 m8 k8 | k2 k4 m1 m2 m4";
  // k8 adds 8 to the index along k, 0 copies. Empty: the operand is read from shared memory.
  const char *a, *b, *c;
  const char *comment = "";
  // How A and B have to be stored: "nt" is A as it is and B transposed, so that neighbours in memory are
  // neighbours along k in both; '*' is either. Empty: in any order.
  const char *order = "";
  // The row of the instruction that this one executes, once or several times, on permuted rows or columns.
  // Empty: itself.
  const char *instruction = "";

  bool multiplies(DType) const;
  bool isInRegisters(Operand operand) const { return *bases(operand) != 0; }
  /// The layout of one instruction's operand; columns past those of the bases are further registers.
  /// Precondition: isInRegisters(operand).
  TileLayout layout(Operand operand) const;
  bool readsOrder(bool transA, bool transB) const {
    auto reads = [](char wanted, bool trans) { return wanted == '*' || (wanted == 't') == trans; };
    return !*order || (reads(order[0], transA) && reads(order[1], transB));
  }
  bool isPermuted() const { return *instruction; }
  /// The name of the instruction that the target executes.
  const char *executed() const { return isPermuted() ? instruction : name; }
  /// How often it executes it, on interleaved rows and on interleaved columns.
  std::array<int64_t, 2> times() const;
  /// The registers of an operand that the instruction of the i-th of interleaved rows and the j-th of
  /// interleaved columns takes, in its own order. Those of A do not depend on j, nor those of B on i.
  std::vector<int64_t> registersOf(Operand operand, int64_t i, int64_t j) const;
  /// Does the instruction read operands where they are in shared memory?
  bool readsShared() const { return !isInRegisters(Operand::B); }
  /// Are its sums in the block's tensor memory? Then one thread starts it, `c` says which of them each lane
  /// loads, and warps along n share its columns. Such an instruction reads both operands in shared memory.
  bool hasTensorMemory() const { return !isInRegisters(Operand::A); }
  /// The part of its columns that one warp of the grid holds of the sums.
  int columnsOfWarp(WarpGrid warps) const { return hasTensorMemory() ? n / int(warps.n) : n; }
  /// The same instruction with another number of columns: a multiple of `n` up to 256, if readsShared().
  Fragment ofColumns(int columns) const {
    Fragment wider = *this;
    wider.n = columns;
    return wider;
  }
  /// Warps that execute the instruction together.
  int64_t warps() const { return layout(Operand::C).warps(); }
  const char *bases(Operand operand) const;
  /// Rows and columns of an operand.
  std::array<int64_t, 2> shape(Operand operand) const;
};

/// The instructions and their forms (Forms.cpp).
std::span<const Fragment> allFragments();
/// The rows of the table, without the forms that interleave rows or columns.
std::span<const Fragment> tableOfFragments();
/// Returns nullptr if no fragment has this name.
const Fragment *findFragment(std::string_view name);

/// The extents that a product of m x n x k has to be padded to, so that instructions and warps divide it.
std::array<int64_t, 3> paddedProduct(const Fragment &, WarpGrid, std::array<int64_t, 3> mnk);

/// Returns the layout of an operand of a product whose extents `paddedProduct` returned: the instruction's
/// own, then the warps, then further instructions in registers, the last axis first. The operand copies its
/// elements to the warps along the axis that it does not have.
TileLayout operandLayout(const Fragment &, Operand, WarpGrid, std::array<int64_t, 2> shape);

} // namespace tessera::layout
