// The casts of the language as arith and vector operations, for code generators that have no better
// instruction.
//
// A value has two forms:
//   memory form    an element in a buffer: integer bits for bf16 (i16), fp8, fp6, fp4 and bool (i8);
//                  the builtin type otherwise; u8 is i8
//   register form  the same, but bool is i1
// bf16 and narrower floats are carried as bits on purpose: arithmetic, selects or shuffles on them can then
// not be lowered to a conversion routine of the compiler's run-time library. To compute, cast to f32 and
// back.
//
// Values may be scalars or vectors of any rank. The results equal tessera::castBits (numerics/Casts.h) bit
// for bit, except that a signalling NaN widened from f16, bf16 or fp8_e5m2 may stay signalling. f16 converts
// through arith.extf and arith.truncf, one instruction each with F16C; without F16C tile-expand-half replaces
// them.
#pragma once
#include "mlir/IR/Builders.h"
#include "numerics/DType.h"

namespace tessera::tile {

/// Returns the element type of a value of dtype `t` in registers.
mlir::Type registerType(mlir::MLIRContext *, DType t);

/// Returns the element type of a value of dtype `t` in memory; it is storageBytes(t) bytes wide.
mlir::Type memoryType(mlir::MLIRContext *, DType t);

/// Returns the dtype in which arithmetic on `t` is computed: f64 for f64, f32 for every other float, else
/// `t`.
DType computeDType(DType t);

/// Returns `v`, in register form of `from`, converted to register form of `to` with the language's semantics
/// (Casts.h). The shape is kept. If the dtypes are equal, returns `v`.
mlir::Value emitCast(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType from, DType to);

/// Converts memory form to register form and back (only bool differs).
mlir::Value emitLoadForm(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType t);
mlir::Value emitStoreForm(mlir::OpBuilder &, mlir::Location, mlir::Value v, DType t);

} // namespace tessera::tile
