// The elementary functions of the language, computed on the host with the same bits as compiled code.
//
// Both use the sequences in numerics/functions, which are written once; the C library is not used. Results
// are the same on every host whose std::fma and std::sqrt round correctly.
//
// Largest measured error against the exact value, in ulps (compiler/tile/test/math). f32 was measured over
// all 2^32 arguments, sin and cos over every 97th; pow and f64 over random arguments and edge values.
//          exp   exp2  log   log2  rsqrt tanh  erf   sin   cos   pow   sigmoid
//   f32    0.92  0.89  0.92  0.98  0.51  0.96  0.85  0.51  0.51  0.51  1.48
//   f64    0.86  0.89  0.82  0.82  0.51  0.97  0.87  0.78  0.77  0.94  1.43
// Special values, denormals and overflow follow IEEE 754 and C Annex F; sin and cos do so over their whole
// range. A NaN's sign and payload are unspecified.
#pragma once

namespace tessera::functions {

enum class Function { Exp, Exp2, Log, Log2, Sqrt, Rsqrt, Tanh, Sigmoid, Erf, Sin, Cos };

/// Instantiated for float and double. Thread-safe; expects the default floating-point environment.
template <class T> T evaluate(Function f, T x);
template <class T> T power(T base, T exponent);

} // namespace tessera::functions
