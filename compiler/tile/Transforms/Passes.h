// The passes of Tile IR. Passes.td describes each.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/tile/Transforms/Passes.h.inc"

} // namespace tessera
