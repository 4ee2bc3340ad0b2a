// Functions of two floats: accuracy over random pairs, the special cases of C Annex F over all pairs of edge
// values. Integer powers.
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/test/math/Accuracy.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "numerics/Functions.h"
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tile;
using namespace tessera::tile::test;

namespace {

template <class T, class Op> VectorJit compile(std::vector<int64_t> shape) {
  return VectorJit(
      [&](auto &b, auto loc, auto in) -> mlir::Value { return Op::create(b, loc, in[0], in[1]); },
      {typeOf<T>(), typeOf<T>()}, typeOf<T>(), shape, {.expandMath = true});
}

template <class T, class Op>
void check(functions::BinaryFunction f, const char *name, WiderThan<T> (*exact)(WiderThan<T>, WiderThan<T>),
           double limit) {
  VectorJit jit = compile<T, Op>({8});
  std::vector<T> x, y;
  std::vector<T> edges;
  for (T v : {0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 2.5, 1e-3, 1e10, 0x1p24 + 1, 0x1p53 - 1, 0x1p60})
    edges.push_back(v);
  for (T v : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
              std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
              std::numeric_limits<T>::denorm_min(), std::nextafter(T(1), T(0)), std::nextafter(T(1), T(2))})
    edges.push_back(v);
  for (size_t i = 0, n = edges.size(); i < n; ++i)
    edges.push_back(-edges[i]);
  for (T a : edges)
    for (T b : edges)
      x.push_back(a), y.push_back(b);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  const int largest = std::numeric_limits<T>::max_exponent;
  for (int i = 0; i < 500000; ++i) {
    const T base = static_cast<T>(std::exp2((2 * unit(random) - 1) * largest * (i % 2 ? 1 : 0.01)));
    x.push_back(base), y.push_back(static_cast<T>((2 * unit(random) - 1) * largest / std::log2(base)));
    x.push_back(std::bit_cast<T>(WordOf<T>(random()))), y.push_back(static_cast<T>(int(random() % 41) - 20));
    x.push_back(static_cast<T>(1 + unit(random) * 1e-3)), y.push_back(static_cast<T>(unit(random) * 1e5));
    x.push_back(static_cast<T>(2 * unit(random) - 1)), y.push_back(static_cast<T>(2 * unit(random) - 1));
    x.push_back(std::bit_cast<T>(WordOf<T>(random()))), y.push_back(std::bit_cast<T>(WordOf<T>(random())));
    x.push_back(base), y.push_back(static_cast<T>(base * (4 * unit(random) - 2)));
  }
  while (x.size() % 8)
    x.push_back(1), y.push_back(1);
  std::vector<T> out(x.size());
  jit.run({x.data(), y.data()}, out.data(), x.size());
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) // a constant's bits are those of compiled code
    ASSERT_TRUE(std::isnan(out[i]) || std::bit_cast<WordOf<T>>(functions::evaluate(f, x[i], y[i])) ==
                                          std::bit_cast<WordOf<T>>(out[i]))
        << name << " of " << x[i] << ", " << y[i];
  for (size_t i = 0; i < x.size(); ++i)
    judge<T>(worst, out[i], exact(x[i], y[i]), x[i], y[i]);
  std::printf("%s f%d  %.3f ulp at %a, %a\n", name, int(8 * sizeof(T)), worst.ulps, worst.at[0], worst.at[1]);
  EXPECT_LE(worst.ulps, limit);
  EXPECT_EQ(worst.wrong, 0) << worst.wrongAt[0] << ", " << worst.wrongAt[1] << " gave " << worst.wrongGot
                            << ", not " << worst.wrongWant;
  for (const char *cpu : {"x86-64-v3", "skylake-avx512"})
    EXPECT_TRUE(jit.externalCalls(cpu).empty()) << cpu;
}

using functions::BinaryFunction;
TEST(Pow, F32) { check<float, PowOp>(BinaryFunction::Pow, "pow", std::pow, 0.6); }
TEST(Pow, F64) { check<double, PowOp>(BinaryFunction::Pow, "pow", std::pow, 1); }
TEST(Atan2, F32) { check<float, Atan2Op>(BinaryFunction::Atan2, "atan2", std::atan2, 1.6); }
TEST(Atan2, F64) { check<double, Atan2Op>(BinaryFunction::Atan2, "atan2", std::atan2, 1.6); }
TEST(Hypot, F32) { check<float, HypotOp>(BinaryFunction::Hypot, "hypot", std::hypot, 0.51); }
TEST(Hypot, F64) { check<double, HypotOp>(BinaryFunction::Hypot, "hypot", std::hypot, 1); }
TEST(CopySign, F32) { check<float, CopySignOp>(BinaryFunction::CopySign, "copysign", std::copysign, 0); }
TEST(CopySign, F64) { check<double, CopySignOp>(BinaryFunction::CopySign, "copysign", std::copysign, 0); }

template <class T> T intPow(T x, T n) {
  using U = std::make_unsigned_t<T>;
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
  U result = 1;
  for (U i = 0; i < U(n); ++i)
    result = U(uint64_t(result) * U(x));
  return T(result);
}

template <class T> void checkIntPow() {
  VectorJit vectors = compile<T, mlir::math::IPowIOp>({4}), scalars = compile<T, mlir::math::IPowIOp>({});
  std::vector<T> x, n;
  for (int a = -12; a <= 12; ++a)
    for (int b = -5; b < 100; ++b)
      x.push_back(T(a)), n.push_back(T(b));
  while (x.size() % 4)
    x.push_back(1), n.push_back(1);
  std::vector<T> a(x.size()), b(x.size());
  vectors.run({x.data(), n.data()}, a.data(), x.size());
  scalars.run({x.data(), n.data()}, b.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(a[i], intPow(x[i], n[i])) << int64_t(x[i]) << "**" << int64_t(n[i]);
    ASSERT_EQ(b[i], a[i]);
  }
}

TEST(IntPow, I8) { checkIntPow<int8_t>(); }
TEST(IntPow, I32) { checkIntPow<int32_t>(); }
TEST(IntPow, I64) { checkIntPow<int64_t>(); }

} // namespace
