// Copies of boxes of a tensor by the device's engine (tile.copy_box): which tiles can be copied so, and when.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/Transforms/LaunchConditions.h"
#include <string>
#include <vector>

namespace tessera::tile {

/// Returns why tiles of `view` with these extents that begin at `column` of the last axis cannot be copied
/// into buffers of this type by boxes, or an empty text. Rows are cut into panels (layout::panelBytes), each
/// of which is one box. Where it has to be a multiple of 16 bytes and that depends on dims (N / 2), the
/// conditions on these are added to `columns`; null: the column may not depend on them.
std::string whyNoBoxes(KernelOp kernel, mlir::Value view, llvm::ArrayRef<int64_t> extents, mlir::Value column,
                       BufferType buffer, LaunchConditions *columns = nullptr);

/// Returns the conditions of a launch under which these views can be copied by boxes, as
/// core/metadata/Guard.h reads them. The views have passed whyNoBoxes.
std::vector<std::string> boxConditions(KernelOp kernel, llvm::ArrayRef<mlir::Value> views);

} // namespace tessera::tile
