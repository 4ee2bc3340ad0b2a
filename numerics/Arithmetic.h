// Reference arithmetic on single values, on the host: the result that generated code computes for an
// operator, and therefore the result of folding a constant. It is defined once, for every dtype.
//
//   integers   wrap; x // 0 and x % 0 are 0, the smallest integer by -1 wraps; `//` and `%` floor; a shift by
//              the width or more, or by a negative amount, gives 0 (-1 for a negative signed x >> n); x ** -n
//              is 1 for x = 1, +-1 for x = -1, else 0
//   floats     IEEE operations, rounded once, to nearest even; f16, bf16, fp8, fp6 and fp4 are computed in
//              f32 and rounded to the dtype as Casts.h casts, after every operation; tf32 is computed as f32
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

/// Returns whether the operator is defined on the dtype. The bitwise operators are defined on integers and
/// bool, `/` on floats, and the shifts on integers. i4 and u4 have only
/// comparisons. Bool has only the bitwise operators, == and !=. `**` of
/// floats is an elementary function (compiler/tile/Transforms/ExpandMathPow.cpp), not an operator of this
/// table.
bool isDefined(ArithOp, DType);

/// Applies the operator to `a`, and to `b` if it takes two operands. Operands and result are storage as in
/// Casts.h. Comparisons return a bool, all others a `t`. Precondition: the operator is defined on `t`.
uint64_t evaluate(ArithOp, DType t, uint64_t a, uint64_t b = 0);

} // namespace tessera
