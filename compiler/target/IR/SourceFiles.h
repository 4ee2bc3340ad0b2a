// The files of a source that was put together from several, as Python's are: what a pass needs that writes a
// place of the program into code. Locations in the IR are those of the source, also while such a file is
// known.
#pragma once
#include "core/service/CompilerService.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace tessera::target {

/// Records the pieces in the module; none removes the record.
void setSourceFiles(mlir::ModuleOp module, const std::vector<SourcePiece> &pieces);
/// Returns those of the module that contains `op`.
std::vector<SourcePiece> sourceFilesOf(mlir::Operation *op);

} // namespace tessera::target
