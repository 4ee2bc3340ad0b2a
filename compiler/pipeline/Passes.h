// The project's passes; what each does is written in Passes.td.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/target/IR/TargetDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#include "compiler/pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/pipeline/Passes.h.inc"

} // namespace tessera
