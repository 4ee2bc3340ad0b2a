// The micro-kernels of matrix products: one register block of C each, as a function of Target IR.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace tessera::cpu::product {

/// An instruction level that micro-kernels exist for.
struct Level {
  const char *name; // in file names
  const char *cpu;  // LLVM's name
  int64_t vectorBytes;
  /// The most rows of blocks of one vector, of two, ...; there is a block for each number of rows up to it.
  llvm::ArrayRef<int64_t> rows;
};

/// What multiplies. Narrow elements are packed in words of 32 bits: a word has two or four steps of k.
enum class Multiply {
  Fma,          // an element of f32 or f64
  DotsOfBf16,   // into f32, by vdpbf16ps, which adds the product of the upper halves first
  PairsOfI16,   // into i32, by vpmaddwd
  QuadsOfBytes, // u8 of A by i8 of B into i32, by vpdpbusd
  TilesOfI8,    // quads of i8 into i32, by tdpbssd of AMX
  TilesOfU8,    // quads of u8 into i32, by tdpbuud
  TilesOfBf16,  // pairs of bf16 into f32, by tdpbf16ps, which adds the first and the second products apart
};
/// Is a block a number of tile registers of AMX, instead of rows and vectors?
bool isTiled(Multiply);

/// One family: the register blocks of one dtype and instruction.
struct Family {
  const char *name; // "f32", "bf16"
  Multiply multiply;
  int64_t bytes; // of an element or word
  /// Whether A is read as it is stored ([M, K]: neighbours along k) or transposed ([K, M]: neighbours along
  /// the rows). Tiles are read as they are stored.
  bool transposed;
  const char *features; // beyond those of the level
};

llvm::ArrayRef<Level> levels();
/// Returns the families of a level.
llvm::SmallVector<Family> families(const Level &);

/// Returns "tsr.mk.f32.n.6x4": the symbol of a block of 6 rows by 4 vectors, A not transposed. Tiles:
/// "tsr.mk.i8.amx.n.2x1", a block of 2 by 1 tiles.
std::string microKernelName(const Family &, int64_t rows, int64_t vectors);

/// Returns the functions of a family in the LLVM dialect; null after an error, which MLIR has reported.
///
/// void f(i64 depth, A, i64 strideA, B, i64 strideB, C, i64 strideC, i64 last, i64 fresh)
///
/// computes C += A * B, or C = A * B if `fresh` is not 0: each element is one chain of fused multiply-adds
/// over rising k. Strides are in elements, between rows of the operands as they are stored. `last` is the
/// number of columns in the last vector; nothing past them is read or written. If elements are narrow, all
/// counts and strides are in words. Of quads, `fresh` is the address of a row of whole vectors that is added
/// to C = A * B. Tiles are 16 rows of 16 words: all rows and columns of the block are read and written,
/// `depth` is a multiple of 16, and `last` has no meaning. The caller has configured all eight tiles as such.
mlir::OwningOpRef<mlir::ModuleOp> microKernels(mlir::MLIRContext &, const Level &, const Family &);

} // namespace tessera::cpu::product
