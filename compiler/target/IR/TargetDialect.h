// The target dialect. See TargetOps.td for the conventions.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "compiler/target/IR/TargetDialect.h.inc"
#define GET_OP_CLASSES
#include "compiler/target/IR/TargetOps.h.inc"
