// The micro-kernels of matrix products: one register block of C each, as a function of Target IR.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace tessera::cpu::product {

/// An instruction level that micro-kernels exist for.
struct Level {
  const char *name;     // in file names
  const char *cpu;      // LLVM's name
  const char *features; // beyond those of the CPU
  int64_t vectorBytes;
  /// The most rows of blocks of one vector, of two, ...; there is a block for each number of rows up to it.
  llvm::ArrayRef<int64_t> rows;
};

/// One family: the register blocks of one dtype.
struct Family {
  const char *dtype; // "f32", "f64"
  int64_t bytes;     // of an element
  /// Whether A is read as it is stored ([M, K]: neighbours along k) or transposed ([K, M]: neighbours along
  /// the rows).
  bool transposed;
};

llvm::ArrayRef<Level> levels();
llvm::ArrayRef<Family> families();

/// Returns "tsr.mk.f32.n.6x4": the symbol of a block of 6 rows by 4 vectors, A not transposed.
std::string microKernelName(const Family &, int64_t rows, int64_t vectors);

/// Returns the functions of a family in the LLVM dialect; null after an error, which MLIR has reported.
///
/// void f(i64 depth, A, i64 strideA, B, i64 strideB, C, i64 strideC, i64 last, i64 fresh)
///
/// computes C += A * B, or C = A * B if `fresh` is not 0: each element is one chain of fused multiply-adds
/// over rising k. Strides are in elements, between rows of the operands as they are stored. `last` is the
/// number of columns in the last vector; nothing past them is read or written.
mlir::OwningOpRef<mlir::ModuleOp> microKernels(mlir::MLIRContext &, const Level &, const Family &);

} // namespace tessera::cpu::product
