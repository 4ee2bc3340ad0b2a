// Predicates on tile values that several passes need.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Operation.h"
#include <optional>
#include <set>
#include <string>

namespace tessera::tile {

/// Is it a tile value: a statically shaped tensor of rank >= 1?
inline bool isTile(mlir::Type t) { return mlir::isa<mlir::RankedTensorType>(t); }
inline bool isTile(mlir::Value v) { return isTile(v.getType()); }
inline mlir::RankedTensorType tileType(mlir::Value v) {
  return mlir::cast<mlir::RankedTensorType>(v.getType());
}

/// Returns the #tile.layout of a tile in registers, or null.
LayoutAttr layoutOf(mlir::Value v);
bool isInRegisters(mlir::Value v);

/// Does it compute each result element from the operand elements at the same index? (Scalars are uniform.)
bool isElementwise(mlir::Operation *op);

/// Is it arithmetic with an fp8, fp6 or fp4 result? Upstream folds its constants with APFloat, whose overflow
/// is NaN or infinity; in the language it saturates.
bool saturates(mlir::Operation *op);

/// Is it nearly free to recompute: a constant, an iota, or a view of another value that changes only the
/// shape?
bool isCheap(mlir::Operation *op);

/// Are its results never computed on the fly inside another op's loop: reductions, products, values of
/// regions, copies?
bool alwaysInMemory(mlir::Value v);

/// Returns the number that a float, or each element of a tile, is; nullopt if it is no such constant.
std::optional<double> constantFloat(mlir::Value v);
/// Is it the constant -inf, or a tile of it?
bool isLowest(mlir::Value v);

/// Does the operation read this operand at other indices than its result's, or need it contiguous? The
/// operand then needs memory of its own.
bool needsMemoryOperand(mlir::OpOperand &use);

/// Do at most four operations compute an element of it from memory?
bool isShort(mlir::Value v);

/// Returns the bytes of the widest element among `more`, `roots` and the tiles that are computed with them,
/// in one loop, after `tile-fuse`. Bools and indices do not count; at least 1.
int64_t widestElement(mlir::ValueRange roots, llvm::ArrayRef<mlir::Type> more = {});

/// Returns how many neighbours along the last axis one thread of a GPU computes at once, with accesses of 16
/// bytes: a power of two that divides the axis, 1 if neighbours have to be computed one by one. `roots` are
/// what is read or stored there; if `computesRoots`, those that will be in memory are computed as well.
int64_t vectorLength(mlir::ValueRange roots, bool computesRoots);

/// Returns how many of `threads` threads combine the `n` elements of each of `results` results: a power of
/// two.
int64_t threadsPerResult(int64_t threads, int64_t results, int64_t n);

/// Adds lines to the kernel's `fallbacks`, each line once.
void addFallbacks(KernelOp kernel, const std::set<std::string> &lines);

/// May the elements of this tile in memory, or of this shared buffer, have another order than row-major: is
/// it a matrix that is written as a whole, and a factor of a product by a matrix instruction? A tile has no
/// other use; a buffer may also be read as a whole.
bool canSwizzle(mlir::Value);
/// Is it a factor in panels (layout::panelBytes): does an instruction read it in shared memory, or do copies
/// of boxes write it?
bool isInPanels(mlir::Value);

/// Returns the loop whose variable only this product reads and replaces, and which does not change the limits
/// of the product's rows and columns; null if there is none.
mlir::scf::ForOp sumOfLoop(MmaOp);

/// A kernel with reports has no variants, nor has a variant.
bool mayHaveVariants(KernelOp kernel);

/// Is it a load that is never executed itself, because the instructions of the product that uses it read the
/// tensor (tile-read-blocks)?
bool isReadByBlocks(mlir::Value factor);

/// Is it a shared buffer whose first axis counts the buffers of a ring?
bool isRing(mlir::Value buffer);

/// How threads divide a reduction of `n` elements with so many `results`: `width` of them share a result, and
/// each has `length` neighbouring lanes of its order.
struct ReduceShares {
  int64_t lanes, width, length, n, results;
};
ReduceShares sharesOf(ReduceOp op, int64_t threads);
/// Do threads share the results of a reduction whose order is one of fixed_reductions? They do if the tile is
/// one block of whole steps of its lanes, and each has few of these.
bool isShared(ReduceOp op, int64_t threads);

/// Sums of a lane up to which a unit has registers for two blocks, so that one multiplies while the other
/// waits: with 128 registers the rest of a product's loop is not spilled.
inline constexpr int64_t kSumsOfTwoBlocks = 64;
/// Registers of a lane beside its sums. For 128 sums of wgmma, ptxas refuses fewer than 26 (C7602).
inline constexpr int64_t kBesideSums = 32;

/// Does it reduce a tile in registers whose rows are in several warps?
bool isAcrossWarps(ReduceOp op);

/// Returns the bytes of shared memory through which the `threads` threads of a program of `kernel` exchange
/// values.
int64_t exchangeBytes(KernelOp kernel, int64_t threads);

/// Words of 8 bytes at the end of the exchange area of kernels with sums in tensor memory: two that count
/// finished products, and the memory's address.
inline constexpr int64_t kTensorWords = 3;
/// Are the sums of the product in tensor memory?
bool hasTensorMemory(MmaOp mma);

/// Is the value in memory of its own after `tile-fuse`? One in registers is not.
bool inMemory(mlir::Value v);

/// Are elements at this distance read faster as vectors that contain them than one by one?
bool isShortStride(int64_t step);

/// The least and the largest distance from an element of a tile of indices to the next one along the last
/// axis, unless their computation wraps.
struct Steps {
  int64_t least, most;
};
/// Returns them if the operations that compute the tile show them.
std::optional<Steps> stepsOf(mlir::Value index);

/// The dim of a gather that is read at a constant distance along the last axis of the tile, at least in most
/// places: where the first and the last index of a vector are as far apart as that makes them, it is so for
/// all indices between them, because none is further from the one before.
struct StridedDim {
  size_t dim;
  int64_t step;
};
/// Returns it if that is the only dim with a tile of indices, and the distance is short.
std::optional<StridedDim> stridedDim(GatherOp);

} // namespace tessera::tile
