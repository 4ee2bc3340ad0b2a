// The elementary functions against the C library in the next wider precision: f32 over every 97th of all bit
// patterns (TESSERA_MATH_STRIDE=1 in the environment: over all), f64 over random ones, both over edge values.
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/test/math/Accuracy.h"
#include "numerics/Functions.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tile;
using namespace tessera::tile::test;

namespace {

struct Function {
  functions::Function host;
  const char *name;
  mlir::Value (*emit)(mlir::OpBuilder &, mlir::Location, mlir::Value);
  double (*inDouble)(double);
  long double (*inLongDouble)(long double);
  double limitF32, limitF64; // ulps; the table in numerics/Functions.h
};

template <class Op> mlir::Value op(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x) {
  return Op::create(b, loc, x);
}

mlir::Value sigmoid(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x) {
  return SigmoidOp::create(b, loc, x.getType(), x);
}

template <class R> R rsqrtOf(R x) { return 1 / std::sqrt(x); }
template <class R> R sigmoidOf(R x) { return 1 / (1 + std::exp(-x)); }

const Function kFunctions[] = {
    {functions::Function::Exp, "exp", op<ExpOp>, std::exp, std::exp, 1, 1},
    {functions::Function::Exp2, "exp2", op<Exp2Op>, std::exp2, std::exp2, 1, 1},
    {functions::Function::Log, "log", op<LogOp>, std::log, std::log, 1, 1},
    {functions::Function::Log2, "log2", op<Log2Op>, std::log2, std::log2, 1, 1},
    {functions::Function::Rsqrt, "rsqrt", op<RsqrtOp>, rsqrtOf<double>, rsqrtOf<long double>, 0.6, 0.6},
    {functions::Function::Tanh, "tanh", op<TanhOp>, std::tanh, std::tanh, 1.75, 1},
    {functions::Function::Sigmoid, "sigmoid", sigmoid, sigmoidOf<double>, sigmoidOf<long double>, 2.5, 2},
    {functions::Function::Erf, "erf", op<ErfOp>, std::erf, std::erf, 2.2, 1},
    {functions::Function::Sin, "sin", op<SinOp>, std::sin, std::sin, 0.6, 1},
    {functions::Function::Cos, "cos", op<CosOp>, std::cos, std::cos, 0.6, 1},
    {functions::Function::Tan, "tan", op<TanOp>, std::tan, std::tan, 0.6, 1},
    {functions::Function::Asin, "asin", op<AsinOp>, std::asin, std::asin, 1.2, 1.2},
    {functions::Function::Acos, "acos", op<AcosOp>, std::acos, std::acos, 1.2, 1.2},
    {functions::Function::Atan, "atan", op<AtanOp>, std::atan, std::atan, 1.3, 1.3},
    {functions::Function::Sinh, "sinh", op<SinhOp>, std::sinh, std::sinh, 0.8, 0.8},
    {functions::Function::Cosh, "cosh", op<CoshOp>, std::cosh, std::cosh, 1, 1},
    {functions::Function::Asinh, "asinh", op<AsinhOp>, std::asinh, std::asinh, 1, 0.8},
    {functions::Function::Acosh, "acosh", op<AcoshOp>, std::acosh, std::acosh, 1, 0.9},
    {functions::Function::Atanh, "atanh", op<AtanhOp>, std::atanh, std::atanh, 0.8, 0.8},
    {functions::Function::Expm1, "expm1", op<Expm1Op>, std::expm1, std::expm1, 1.2, 1},
    {functions::Function::Log1p, "log1p", op<Log1pOp>, std::log1p, std::log1p, 1, 0.9},
    {functions::Function::Log10, "log10", op<Log10Op>, std::log10, std::log10, 0.51, 0.51},
    {functions::Function::Cbrt, "cbrt", op<CbrtOp>, std::cbrt, std::cbrt, 0.51, 0.52},
    {functions::Function::Erfc, "erfc", op<ErfcOp>, std::erfc, std::erfc, 4, 4.5},
};

template <class T> WiderThan<T> reference(const Function &f, T x) {
  if constexpr (sizeof(T) == 4)
    return f.inDouble(x);
  else
    return f.inLongDouble(x);
}

template <class T>
VectorJit compile(const Function &f, std::vector<int64_t> shape, const std::string &cpu = "") {
  return VectorJit([&](auto &b, auto loc, auto in) { return f.emit(b, loc, in[0]); }, {typeOf<T>()},
                   typeOf<T>(), shape, {.expandMath = true, .cpu = cpu});
}

template <class T> void judgeAll(const VectorJit &jit, const Function &f, std::vector<T> &in, Worst &worst) {
  while (in.size() % 16)
    in.push_back(1);
  std::vector<T> out(in.size());
  jit.run({in.data()}, out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i)
    judge<T>(worst, out[i], reference(f, in[i]), in[i]);
}

void report(const char *name, const char *type, const Worst &worst, double limit) {
  std::printf("%-8s %s  %.3f ulp at %a\n", name, type, worst.ulps, worst.at[0]);
  EXPECT_LE(worst.ulps, limit) << name << " at " << worst.at[0];
  EXPECT_EQ(worst.wrong, 0) << name << "(" << worst.wrongAt[0] << ") gave " << worst.wrongGot << ", not "
                            << worst.wrongWant;
}

class Functions : public testing::TestWithParam<Function> {};

/// TESSERA_MATH_STRIDE: F32 visits each pattern whose number is a multiple of it.
uint64_t stride() {
  const char *setting = std::getenv("TESSERA_MATH_STRIDE");
  return setting ? std::max(1, std::atoi(setting)) : 499;
}

TEST_P(Functions, F32) {
  const Function &f = GetParam();
  VectorJit jit = compile<float>(f, {16});
  Worst worst;
  std::vector<float> in = edgeValues<float>();
  judgeAll(jit, f, in, worst);
  const uint64_t step = stride();
  uint64_t pattern = 0;
  while (pattern < uint64_t(1) << 32) {
    in.clear();
    for (; in.size() < 65536 && pattern < uint64_t(1) << 32; pattern += step)
      in.push_back(std::bit_cast<float>(uint32_t(pattern)));
    judgeAll(jit, f, in, worst);
  }
  report(f.name, "f32", worst, f.limitF32);
}

TEST_P(Functions, F64) {
  const Function &f = GetParam();
  VectorJit jit = compile<double>(f, {8});
  Worst worst;
  std::vector<double> in = edgeValues<double>();
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1), wide(-760, 760), middle(-7, 7), tail(7, 28);
  for (uint64_t i = 0, count = std::min<uint64_t>(400'000, 40'000'000 / stride()); i < count; ++i) {
    in.push_back(std::bit_cast<double>(random()));
    in.push_back(unit(random));
    in.push_back(middle(random));
    in.push_back(wide(random));
    in.push_back(1 + 0.01 * unit(random));
    in.push_back(1 + 0.5 * unit(random));   // where logarithms are worst
    in.push_back(0.5 + 0.1 * unit(random)); // where inverse functions change their formula
    in.push_back(1 + std::ldexp(unit(random), -int(random() % 50)));
    in.push_back(tail(random)); // of erfc
    in.push_back(std::ldexp(unit(random), int(random() % 80) - 40));
  }
  judgeAll(jit, f, in, worst);
  report(f.name, "f64", worst, f.limitF64);
}

TEST_P(Functions, CallsNothing) {
  const Function &f = GetParam();
  for (const char *cpu : {"x86-64-v3", "skylake-avx512"}) {
    EXPECT_TRUE(compile<float>(f, {16}).externalCalls(cpu).empty()) << cpu;
    EXPECT_TRUE(compile<double>(f, {8}).externalCalls(cpu).empty()) << cpu;
  }
}

/// Constants are folded by the host: its bits are those of compiled code.
template <class T> void compareWithHost(const Function &f, const std::string &cpu) {
  std::vector<T> in = edgeValues<T>();
  std::mt19937_64 random(11);
  std::uniform_real_distribution<T> unit(-1, 1);
  while (in.size() % 16 || in.size() < 60000) {
    in.push_back(std::bit_cast<T>(WordOf<T>(random())));
    in.push_back(std::ldexp(unit(random), int(random() % 20) - 10));
  }
  std::vector<T> out(in.size());
  compile<T>(f, {16}, cpu).run({in.data()}, out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const T host = functions::evaluate(f.host, in[i]);
    ASSERT_TRUE(std::bit_cast<WordOf<T>>(host) == std::bit_cast<WordOf<T>>(out[i]) ||
                (std::isnan(host) && std::isnan(out[i])))
        << in[i] << " on " << (cpu.empty() ? "the host" : cpu) << ": " << out[i] << ", folded " << host;
  }
}

TEST_P(Functions, SameBitsAsTheHost) {
  for (const char *cpu : {"", "x86-64-v2"}) {
    compareWithHost<float>(GetParam(), cpu);
    compareWithHost<double>(GetParam(), cpu);
  }
}

/// The bits are the same whatever the shape and the instruction set.
template <class T> void compareWith(const Function &f, std::vector<int64_t> shape, const std::string &cpu) {
  std::vector<T> in = edgeValues<T>();
  std::mt19937_64 random(9);
  while (in.size() % 16 || in.size() < 20000)
    in.push_back(std::bit_cast<T>(WordOf<T>(random())));
  std::vector<T> a(in.size()), b(in.size());
  compile<T>(f, {16}).run({in.data()}, a.data(), in.size());
  compile<T>(f, shape, cpu).run({in.data()}, b.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i)
    ASSERT_TRUE(std::bit_cast<WordOf<T>>(a[i]) == std::bit_cast<WordOf<T>>(b[i]) ||
                (std::isnan(a[i]) && std::isnan(b[i])))
        << in[i] << " on " << cpu;
}

TEST_P(Functions, SameBitsAsScalarsAndMatrices) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {2, 8}}) {
    compareWith<float>(GetParam(), shape, "");
    compareWith<double>(GetParam(), shape, "");
  }
}

TEST_P(Functions, SameBitsWithoutAVX512) {
  compareWith<float>(GetParam(), {16}, "x86-64-v3");
  compareWith<double>(GetParam(), {16}, "x86-64-v3");
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kFunctions),
                         [](const auto &param) { return std::string(param.param.name); });

} // namespace
