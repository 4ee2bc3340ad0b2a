// Emits index expressions as arith operations.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"

namespace tessera::schedule {

/// Returns the index value of a bound expression whose slots are index values. Division rounds down, as in
/// the expression language, and a division by zero gives 0.
mlir::Value emitIndexExpr(mlir::OpBuilder &, mlir::Location, const IndexExpr &bound,
                          llvm::function_ref<mlir::Value(int64_t slot)> valueOf);

/// Returns the index value of `expr`, which the verifier accepted, over the dims and integer scalars of a
/// kernel with these `params`. `args` are the values of its arguments; those that are not integers may be
/// null.
mlir::Value emitIndexExpr(mlir::OpBuilder &, mlir::Location, mlir::ArrayAttr params, mlir::ValueRange args,
                          const IndexExpr &expr);

} // namespace tessera::schedule
