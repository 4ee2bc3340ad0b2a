// Lowers thread programs of a GPU to Target IR.
#pragma once
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Pass/PassManager.h"

namespace tessera::gpu {

/// Adds, to a pass manager over builtin.module, the passes that lower `gpu.module`s of `gpu.func`s to one
/// target.module in the LLVM dialect, with a target.kernel_info for each function that has `target.metadata`.
///
/// A kernel is `gpu.func @k(...) kernel attributes {known_block_size = array<i32: x, y, z>}`. Its pointers
/// are `!llvm.ptr<1>` (global memory, kGlobalSpace) and `!llvm.ptr<3>` (the address of an `llvm.mlir.global`
/// of the block, kSharedSpace). Its body consists of arith, math, scf, vector, the LLVM dialect,
/// gpu.thread_id, block_id, block_dim, grid_dim and barrier. Functions of math must have been expanded,
/// because there is no library to call.
void addLlvmPasses(mlir::OpPassManager &, const GpuTarget &target);

} // namespace tessera::gpu
