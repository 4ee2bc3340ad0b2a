// Phase 7: what the runtime has to know of a kernel, read from the attributes that the passes left on it.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "core/metadata/KernelMetadata.h"

namespace tessera::target {

/// The metadata document of `kernel` for an image of `target` ("cpu", "ptx:sm_90a", ...). Absent attributes
/// mean nothing of their kind: no shared memory, no matrix fragment, one lane per program. A pure function of
/// the op, to be called when every pass that fills attributes has run; toYaml() gives its text.
KernelMetadata describeKernel(tile::KernelOp kernel, llvm::StringRef target);

/// The same of a graph function written by a user (it has `params`), but for its plan.
KernelMetadata describeFunction(graph::FuncOp function, llvm::StringRef target);

} // namespace tessera::target
