// The attribute tile.product of a kernel: a matrix product that the target computes by a body of its own.
//
//   tile.kernel @f(%product: !tile.view<?x?xf32>, %A, %B, %C, ...) attributes {tile.product = {a = 1, b = 2,
//   ...}}
//
// The kernel is then the product's epilogue: its first argument is the product, of which one program reads
// one block. No launch passes that argument, and the metadata does not have it.
#pragma once
#include "compiler/tile/IR/TileDialect.h"

namespace tessera::tile {

inline constexpr llvm::StringLiteral kProduct = TileDialect::ProductAttrHelper::getNameStr();

inline constexpr llvm::StringLiteral kProductWay = TileDialect::ProductWayAttrHelper::getNameStr();

/// Elements of a program's block up to which a body computes a product: results wait for the epilogue in
/// scratch.
inline constexpr int64_t kMostProductElements = 1 << 16;

/// Returns how many of the kernel's first arguments no launch passes.
inline unsigned unpassedArguments(mlir::Operation *kernel) { return kernel->hasAttr(kProduct) ? 1 : 0; }

/// A product over two tensors whose last two axes are the operands' rows and columns.
struct Product {
  int64_t a = 0, b = 0; // arguments of the kernel
  bool transA = false, transB = false;
  /// The argument that the product is stored to, if that is all the kernel does; -1: the kernel stores.
  int64_t c = -1;
  int64_t blockRows = 1, blockColumns = 1; // of a program
  /// The grid's axes are: those of a batch, the blocks of columns, the blocks of rows. The last two may be
  /// missing if there is one block.
  bool hasColumns = true, hasRows = true;
  int64_t leaf = 0; // steps of k of a leaf, whose sums are joined pairwise; 0: a sum has all steps
  /// For each axis of the batch the operand's axis that it counts; -1: every index reads the same elements.
  llvm::SmallVector<int64_t> batchA, batchB, batchC;

  mlir::DictionaryAttr toAttr(mlir::MLIRContext *) const;
  /// Returns the kernel's product; nothing if it has none, or an attribute that does not fit the kernel.
  static std::optional<Product> of(KernelOp);
};

/// Returns what `kernel` needs to have instead of its attribute `tile.product`; empty if that is right.
std::string whyNoProduct(KernelOp kernel);

} // namespace tessera::tile
