// The schedule dialect. See ScheduleOps.td for the conventions.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/IR/ScheduleDialect.h.inc"
#include "compiler/schedule/IR/ScheduleEnums.h.inc"
#define GET_OP_CLASSES
#include "compiler/schedule/IR/ScheduleOps.h.inc"
