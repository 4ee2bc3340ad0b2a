// The passes of Target IR. Passes.td describes each.
#pragma once
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/target/Transforms/Passes.h.inc"

} // namespace tessera
