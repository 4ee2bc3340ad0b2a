// The project's own elementary functions, as fixed sequences of arith operations and math.fma.
//
// Every backend expands the same sequence in every profile, so results do not depend on a vendor's library
// (decision D12). The sequences use no fast-math flags, no library calls and no memory. They need IEEE add,
// mul, div, sqrt and fma with round to nearest even and gradual underflow; a code generator that contracts or
// reassociates across the whole module breaks them (flags on the user's own operations do not).
//
// Largest error seen against the exact value, in ulps (../test/math). f32 was measured over all 2^32
// arguments, but sin and cos over every 97th; pow and f64 over random ones and edge values.
//          exp   exp2  log   log2  rsqrt tanh  erf   sin   cos   pow   sigmoid
//   f32    0.92  0.89  0.92  0.98  0.51  0.96  0.85  0.51  0.51  0.51  1.48
//   f64    0.86  0.89  0.84  0.78  0.51  0.97  0.87  0.78  0.77  0.94  1.43
// Special values, denormals and overflow follow IEEE 754 and C Annex F; sin and cos keep to this over their
// whole range.
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

/// Integer power with wrap-around; `x` and `n` are signless integers of one type, scalar or vector. A
/// negative exponent gives the integer part of 1 / x**-n: 0, or +-1 for x = +-1; 0 for x = 0.
mlir::Value emitIntPow(mlir::OpBuilder &, mlir::Location, mlir::Value x, mlir::Value n);

/// tile-expand-math: replaces math.exp, exp2, log, log2, rsqrt, tanh, erf, sin, cos, powf and ipowi on
/// scalars and vectors by the sequences above. f16 and bf16 are computed in f32. math.sqrt, fma, floor, ceil
/// and absf stay: they are instructions. Runs on any operation, after tiles have become vectors and before
/// scf is lowered (sin and cos of f64 hold an scf.if for huge arguments, ipowi a loop).
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace tessera::tile
