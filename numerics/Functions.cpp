#include "numerics/Functions.h"
#include "numerics/functions/Exp.h"
#include "numerics/functions/HostArithmetic.h"
#include "numerics/functions/Log.h"
#include "numerics/functions/Pow.h"
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

template <> float power(float base, float exponent) {
  HostArithmetic m;
  return m.f32Of(pow(m, m.of(base), m.of(exponent)));
}

template <> double power(double base, double exponent) {
  HostArithmetic m;
  return m.f64Of(pow(m, m.of(base), m.of(exponent)));
}

} // namespace tessera::functions
