// The passes of Graph IR. Passes.td describes each.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/graph/Transforms/Passes.h.inc"

} // namespace tessera
