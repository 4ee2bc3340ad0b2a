// Numbered snapshots of the IR after every pass, for `--print-ir-after-all`.
#pragma once
#include "mlir/Pass/PassInstrumentation.h"
#include <memory>
#include <string>

namespace tessera {

/// Writes DIR/NNN-pass.mlir after each pass that ran; `count` is the last number used. The directory must
/// exist. A file that cannot be written is reported as a warning on the pass's op.
std::unique_ptr<mlir::PassInstrumentation> makeSnapshots(std::string directory, int &count);

} // namespace tessera
