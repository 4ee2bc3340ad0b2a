// Which matrix instruction computes a product, and how the warps of a block share it (tile-assign-layouts).
#pragma once
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/TileDialect.h"
#include "numerics/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <optional>
#include <string>

namespace tessera::tile {

/// A matrix instruction of the target.
struct InstructionRow {
  const layout::Fragment *fragment;
  llvm::SmallVector<DType> dtypes; // that the target multiplies with it
  bool addsShort = false;          // MatrixProduct::addsShort
};

/// Parses "INSTRUCTION", "INSTRUCTION:DTYPE ..." and "...:short", which a pass gets as options. Without
/// dtypes they are all that the instruction multiplies. Fails with a diagnostic that names the pass.
mlir::FailureOr<llvm::SmallVector<InstructionRow>>
parseInstructions(mlir::MLIRContext *, llvm::StringRef pass, llvm::ArrayRef<std::string> texts);

/// The dtype of a product's factors.
std::optional<DType> dtypeOfFactors(MmaOp);
/// The dtype that instructions multiply factors in memory as.
inline DType inInstruction(DType factor) { return factor == DType::F32 ? DType::TF32 : factor; }
/// Rows, columns and depth of a product.
std::array<int64_t, 3> extentsOf(MmaOp);

/// Chooses for the products of one kernel, one after the other. Not thread-safe.
class InstructionChoice {
public:
  struct Limits {
    int64_t warps = 0;            // of a program, where the kernel does not say
    int64_t registers = 0;        // of a unit, of 32 bits, if they limit a block's sums; 0: not known
    bool reducesMultiply = false; // sums may keep fewer bits
  };
  /// `rows`, preferred first, outlive the object.
  InstructionChoice(KernelOp kernel, llvm::ArrayRef<InstructionRow> rows, Limits limits)
      : kernel_(kernel), rows_(rows), limits_(limits) {}

  /// Returns null if no instruction for factors of this dtype fits, of all or of those that have their
  /// factors in registers.
  FragmentAttr choose(MmaOp, DType, bool mayReadShared = true);
  /// Returns ", because ..." if an instruction of the factors' dtype reads them in shared memory, but in
  /// another order, or has no room for the sums of this product; else an empty text.
  std::string whyNotShared(MmaOp, DType own) const;
  /// The warps of a block of the kernel, if they have as many lanes as the instruction needs.
  int64_t warpsFor(const layout::Fragment &) const;

private:
  /// Registers of 32 bits that the sums of a product take in all lanes together.
  int64_t sumRegisters(const InstructionRow &, MmaOp) const;
  /// Are the sums there twice: those since the last addition to them, and all?
  bool promotes(const InstructionRow &) const;
  bool hasRoom(const InstructionRow &, MmaOp, int64_t lanes) const;
  bool fitsTensorMemory(const layout::Fragment &, std::array<int64_t, 3> mnk) const;
  bool canReadShared(MmaOp, FragmentAttr, DType);

  KernelOp kernel_;
  llvm::ArrayRef<InstructionRow> rows_;
  const Limits limits_;
  int64_t tensorColumns_ = 0; // of tensor memory, that products of the kernel take
};

} // namespace tessera::tile
