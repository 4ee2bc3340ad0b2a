// Reference arithmetic on single values, on the host: what generated code computes for an operator, and
// therefore what folding a constant has to give. One place for both, dtype by dtype.
//
//   integers   wrap; x // 0 and x % 0 are 0, the smallest integer by -1 wraps; `//` and `%` floor; a shift by
//   the
//              width or more, or by a negative amount, gives 0 (-1 for a negative signed x >> n); x ** -n is
//              1 for x = 1, +-1 for x = -1, else 0
//   floats     IEEE operations, rounded once, to nearest even; f16, bf16, fp8, fp6 and fp4 are computed in
//   f32 and
//              rounded to the dtype as Casts.h casts, after every operation; tf32 is computed as f32
//   // and %   of floats are Python's: the remainder has the divisor's sign, and 1.0 // 0.1 is 9
//   min, max   a NaN makes the result NaN, -0 is less than +0
//
// The payload and the sign of a NaN are unspecified. All functions are pure and thread-safe, whatever the
// floating-point modes of the calling thread are.
#pragma once
#include "numerics/DType.h"

namespace tessera {

enum class ArithOp : uint8_t {
  Neg,
  Invert,
  Abs,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Minimum,
  Maximum,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
};

/// Whether the operator is defined on the dtype: the bitwise ones on integers and bool, `/` on floats, the
/// shifts on integers, and of bool only the bitwise ones, == and != besides. `**` of floats is an elementary
/// function (compiler/tile/Transforms/ExpandMathPow.cpp), not an operator of this table.
bool isDefined(ArithOp, DType);

/// The operator applied to `a`, and to `b` where it takes two; operands and result are storage as in Casts.h.
/// Comparisons give a bool, everything else a `t`. The operator is defined on `t`.
uint64_t evaluate(ArithOp, DType t, uint64_t a, uint64_t b = 0);

} // namespace tessera
