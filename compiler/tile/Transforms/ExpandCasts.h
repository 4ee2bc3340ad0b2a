// The language's casts as arith and vector operations, for code generators that have no better instruction.
//
// Two forms of a value:
//   memory form    what one element is in a buffer: integer bits for bf16 (i16), fp8, fp6, fp4 and bool (i8);
//                  the builtin type otherwise; u8 is i8
//   register form  the same, but bool is i1
// bf16 and narrower floats are carried as bits on purpose: no arithmetic, select or shuffle on them can then
// be lowered to a conversion routine of the compiler's run-time library. Compute on them by casting to f32
// and back.
//
// Values may be scalars or vectors of any rank. The results equal tessera::castBits (numerics/Casts.h) bit
// for bit, except that a signalling NaN widened from f16, bf16 or fp8_e5m2 may stay signalling. f16 converts
// through arith.extf and arith.truncf, one instruction each with F16C; without it tile-expand-half stands for
// them.
#pragma once
#include "mlir/IR/Builders.h"
#include "numerics/DType.h"

namespace tessera::tile {

/// Element type of a value of dtype `t` in registers.
mlir::Type registerType(mlir::MLIRContext *, DType t);

/// Element type of a value of dtype `t` in memory; storageBytes(t) bytes wide.
mlir::Type memoryType(mlir::MLIRContext *, DType t);

/// The dtype arithmetic on `t` is carried out in: f64 for f64, f32 for every other float, else `t` itself.
DType computeDType(DType t);

/// `v`, in register form of `from`, converted to register form of `to` with the language's semantics
/// (Casts.h). The shape is kept. Equal dtypes return `v`.
mlir::Value emitCast(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType from, DType to);

/// Memory form to register form and back (only bool differs).
mlir::Value emitLoadForm(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType t);
mlir::Value emitStoreForm(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType t);

} // namespace tessera::tile
