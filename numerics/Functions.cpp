#include "numerics/Functions.h"
#include "numerics/functions/Exp.h"
#include "numerics/functions/HostArithmetic.h"
#include "numerics/functions/Hyperbolic.h"
#include "numerics/functions/Inverse.h"
#include "numerics/functions/Log.h"
#include "numerics/functions/Pow.h"
#include "numerics/functions/Roots.h"
#include "numerics/functions/Trig.h"

namespace tessera::functions {

static HostArithmetic::V evaluate(Function f, HostArithmetic &m, HostArithmetic::V x) {
  switch (f) {
  case Function::Exp:
    return exp(m, x);
  case Function::Exp2:
    return exp2(m, x);
  case Function::Log:
    return log(m, x);
  case Function::Log2:
    return log2(m, x);
  case Function::Sqrt:
    return m.sqrt(x);
  case Function::Rsqrt:
    return rsqrt(m, x);
  case Function::Tanh:
    return tanh(m, x);
  case Function::Sigmoid:
    return sigmoid(m, x);
  case Function::Erf:
    return erf(m, x);
  case Function::Sin:
    return sin(m, x);
  case Function::Cos:
    return cos(m, x);
  case Function::Expm1:
    return expm1(m, x);
  case Function::Log10:
    return log10(m, x);
  case Function::Log1p:
    return log1p(m, x);
  case Function::Cbrt:
    return cbrt(m, x);
  case Function::Erfc:
    return erfc(m, x);
  case Function::Tan:
    return tan(m, x);
  case Function::Asin:
    return asin(m, x);
  case Function::Acos:
    return acos(m, x);
  case Function::Atan:
    return atan(m, x);
  case Function::Sinh:
    return sinh(m, x);
  case Function::Cosh:
    return cosh(m, x);
  case Function::Asinh:
    return asinh(m, x);
  case Function::Acosh:
    return acosh(m, x);
  case Function::Atanh:
    return atanh(m, x);
  }
  return x;
}

static HostArithmetic::V evaluate(BinaryFunction f, HostArithmetic &m, HostArithmetic::V x,
                                  HostArithmetic::V y) {
  switch (f) {
  case BinaryFunction::Pow:
    return pow(m, x, y);
  case BinaryFunction::Atan2:
    return atan2(m, x, y);
  case BinaryFunction::Hypot:
    return hypot(m, x, y);
  case BinaryFunction::CopySign:
    return m.copySign(m.abs(x), y);
  }
  return x;
}

template <> float evaluate(Function f, float x) {
  HostArithmetic m;
  return m.f32Of(evaluate(f, m, m.of(x)));
}

template <> double evaluate(Function f, double x) {
  HostArithmetic m;
  return m.f64Of(evaluate(f, m, m.of(x)));
}

template <> float evaluate(BinaryFunction f, float x, float y) {
  HostArithmetic m;
  return m.f32Of(evaluate(f, m, m.of(x), m.of(y)));
}

template <> double evaluate(BinaryFunction f, double x, double y) {
  HostArithmetic m;
  return m.f64Of(evaluate(f, m, m.of(x), m.of(y)));
}

template <> float power(float base, float exponent) { return evaluate(BinaryFunction::Pow, base, exponent); }

template <> double power(double base, double exponent) {
  return evaluate(BinaryFunction::Pow, base, exponent);
}

} // namespace tessera::functions
