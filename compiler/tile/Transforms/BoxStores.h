// Stores that the device's engine executes (tile.store_box), from registers through shared memory.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include <string>

namespace tessera::tile {

/// Returns the stores of the kernel that can become tile.store_box: of whole tiles in registers whose warps
/// have boxes of rows, limited by nothing but the tensor's extents, to a tensor that the kernel does not
/// access afterwards. Call it before the kernel's operations get roles.
llvm::SmallVector<StoreOp> findBoxStores(KernelOp kernel);

/// Replaces those of the stores whose buffers fit into `room` bytes of shared memory; a store has two boxes
/// of each warp if they fit. Returns the tensors that they store to.
llvm::SmallVector<mlir::Value> storeBoxes(KernelOp kernel, llvm::ArrayRef<StoreOp> stores, int64_t room);

/// Are there launches that fulfil the conditions `some` of BoxCopies.h and whose extents or strides, apart
/// from being too large or 0, do not fulfil `all`?
bool areStricter(llvm::ArrayRef<std::string> all, llvm::ArrayRef<std::string> some);

} // namespace tessera::tile
