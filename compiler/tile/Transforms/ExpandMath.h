// The project's own elementary functions, as fixed sequences of arith operations and math.fma.
//
// Every backend expands the same sequence, so results do not depend on a vendor's library (decision D12). The
// sequences use no fast-math flags, no library calls and no memory. They need IEEE add, mul, div, sqrt and fma with
// round to nearest even and gradual underflow.
//
// Largest error in ulps seen against references of higher precision (test/math; f32 over every 97th bit pattern):
// see the table in ExpandMath.cpp. Special values follow IEEE 754 and C Annex F.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::tile {

// Each takes f32 or f64, scalar or vector of any rank, and returns the same type.
mlir::Value emitExp(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitExp2(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitLog(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitLog2(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitRsqrt(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitTanh(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitSigmoid(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitErf(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitSin(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitCos(mlir::OpBuilder &, mlir::Location, mlir::Value x);
mlir::Value emitPow(mlir::OpBuilder &, mlir::Location, mlir::Value x, mlir::Value y);

/// Integer power with wrap-around; `x` and `n` are signless integers of one type, scalar or vector. A negative
/// exponent gives the integer part of 1 / x**-n: 0, or +-1 for x = +-1; 0 for x = 0.
mlir::Value emitIntPow(mlir::OpBuilder &, mlir::Location, mlir::Value x, mlir::Value n);

/// tile-expand-math: replaces math.exp, exp2, log, log2, rsqrt, tanh, erf, sin, cos, powf and ipowi on scalars and
/// vectors by the sequences above. f16 and bf16 are computed in f32. math.sqrt, fma, floor, ceil and absf stay: they
/// are instructions. Runs on any operation, after tiles have become vectors and before scf is lowered (sin and cos of
/// f64 hold an scf.if for huge arguments, ipowi a loop).
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace tessera::tile
