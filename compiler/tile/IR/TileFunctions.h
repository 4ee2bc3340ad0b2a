// The elementary functions among the operations of the tile dialect.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#define GET_OP_CLASSES
#include "compiler/tile/IR/TileFunctionOps.h.inc"

namespace tessera::tile {

/// Is `op` an elementary function, which tile-expand-math replaces by its sequence?
inline bool isFunction(mlir::Operation *op) {
#define TSR_FLOAT_FUNCTION(id, name, text) id##Op,
#define TSR_FLOAT_FUNCTION2(id, name, parameters, text) id##Op,
  return mlir::isa<
#include "compiler/ops/Functions.def"
      PowOp>(op);
}

/// Can instructions of GPUs approximate it? They do so for f32, in which narrower floats are computed.
inline bool hasApproximation(mlir::Operation *op) {
  return mlir::isa<ExpOp, Exp2Op, LogOp, Log2Op, RsqrtOp, TanhOp, SigmoidOp, ErfOp, mlir::math::SqrtOp>(op) &&
         !mlir::getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

} // namespace tessera::tile
