// The elementary functions of the language, computed on the host with the same bits as compiled code.
//
// Both use the sequences in numerics/functions, which are written once; the C library is not used. Results
// are the same on every host whose std::fma and std::sqrt round correctly.
//
// Largest measured error against the exact value, in ulps (compiler/tile/test/math). f32 was measured over
// all 2^32 arguments, sin and cos over every 97th, the second and third table over every 197th; f64 and
// functions of two arguments over random arguments and edge values.
//          exp   exp2  log   log2  rsqrt tanh  erf   sin   cos   pow   sigmoid
//   f32    0.92  0.89  0.92  0.98  0.51  1.72  2.15  0.51  0.51  0.51  2.41
//   f64    0.86  0.89  0.82  0.82  0.51  0.97  0.87  0.78  0.77  0.94  1.43
//          tan   asin  acos  atan  sinh  cosh  asinh acosh atanh
//   f32    0.51  1.09  1.04  1.17  0.74  0.86  0.83  0.82  0.73
//   f64    0.84  1.11  1.10  1.23  0.76  0.83  0.61  0.79  0.68
//          expm1 log1p log10 cbrt  erfc  atan2 hypot
//   f32    1.14  0.85  0.51  0.51  3.6   1.51  0.51
//   f64    0.93  0.80  0.51  0.52  4.1   1.51  0.99
// Special values, denormals and overflow follow IEEE 754 and C Annex F; sin and cos do so over their whole
// range. A NaN's sign and payload are unspecified.
#pragma once

namespace tessera::functions {

enum class Function {
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sqrt,
  Rsqrt,
  Cbrt,
  Sigmoid,
  Erf,
  Erfc,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh
};
enum class BinaryFunction { Pow, Atan2, Hypot, CopySign };

/// Instantiated for float and double. Thread-safe; expects the default floating-point environment.
template <class T> T evaluate(Function f, T x);
template <class T> T evaluate(BinaryFunction f, T x, T y);
template <class T> T power(T base, T exponent);

} // namespace tessera::functions
