// The schedule dialect. See ScheduleOps.td for the conventions.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <string>
#include <vector>

#include "compiler/schedule/IR/ScheduleDialect.h.inc"
#define GET_OP_CLASSES
#include "compiler/schedule/IR/ScheduleOps.h.inc"
