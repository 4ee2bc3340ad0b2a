// Phase 7: reads what the runtime needs to know about a kernel from the attributes that the passes left on
// it.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "core/metadata/KernelMetadata.h"

namespace tessera::target {

/// Returns the metadata document of `kernel` for an image of `target` ("cpu", "ptx:sm_90a", ...). An absent
/// attribute means none of its kind: no shared memory, no matrix fragment, one lane per program. A pure
/// function of the op, to be called after every pass that sets attributes; toYaml() returns the text.
KernelMetadata describeKernel(tile::KernelOp kernel, llvm::StringRef target);

/// Returns "gemm.py:14", where the op comes from; "" if that is unknown.
std::string placeOf(mlir::Operation *op);

/// The same as describeKernel() for a graph function written by a user (it has `params`), without its plan.
KernelMetadata describeFunction(graph::FuncOp function, llvm::StringRef target);

} // namespace tessera::target
