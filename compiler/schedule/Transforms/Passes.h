// The passes of Schedule IR. Passes.td describes each.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/schedule/Transforms/Passes.h.inc"

} // namespace tessera
