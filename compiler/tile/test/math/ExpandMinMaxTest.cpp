// minimum and maximum after IEEE 754-2019: -0 is less than +0, in whatever order and whatever operand is a
// constant; a NaN gives a NaN.
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/test/math/Accuracy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <gtest/gtest.h>

using namespace tessera::tile::test;

namespace {

template <class T> T extreme(bool isMax, T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) == isMax ? y : x;
  return (x < y) == isMax ? y : x;
}

mlir::Value emit(mlir::OpBuilder &b, mlir::Location loc, bool isMax, mlir::Value x, mlir::Value y) {
  if (isMax) return mlir::arith::MaximumFOp::create(b, loc, x, y);
  return mlir::arith::MinimumFOp::create(b, loc, x, y);
}

template <class T> void expectSame(T got, bool isMax, T x, T y, const std::string &cpu) {
  const T want = extreme(isMax, x, y);
  if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << x << ", " << y << " on " << cpu;
  else
    ASSERT_EQ(std::bit_cast<WordOf<T>>(got), std::bit_cast<WordOf<T>>(want))
        << (isMax ? "max " : "min ") << x << ", " << y << " on " << cpu << " gave " << got;
}

template <class T> std::vector<T> values() {
  using L = std::numeric_limits<T>;
  std::vector<T> all = {
      0, 1, 2.5, L::infinity(), L::quiet_NaN(), L::signaling_NaN(), L::max(), L::min(), L::denorm_min()};
  for (size_t i = 0, n = all.size(); i < n; ++i)
    all.push_back(-all[i]);
  return all;
}

template <class T> void checkPairs(std::vector<int64_t> shape, const std::string &cpu) {
  std::vector<T> x, y;
  for (T a : values<T>())
    for (T b : values<T>())
      x.push_back(a), y.push_back(b);
  while (x.size() % 16)
    x.push_back(0), y.push_back(0);
  for (bool isMax : {false, true}) {
    VectorJit jit([&](auto &b, auto loc, auto in) { return emit(b, loc, isMax, in[0], in[1]); },
                  {typeOf<T>(), typeOf<T>()}, typeOf<T>(), shape, {.expandMinMax = true, .cpu = cpu});
    std::vector<T> out(x.size());
    jit.run({x.data(), y.data()}, out.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      expectSame(out[i], isMax, x[i], y[i], cpu);
  }
}

template <class T> void checkConstant(T constant, bool isFirst, const std::string &cpu) {
  std::vector<T> x = values<T>();
  while (x.size() % 8)
    x.push_back(0);
  for (bool isMax : {false, true}) {
    VectorJit jit(
        [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange in) {
          auto type = mlir::cast<mlir::VectorType>(in[0].getType());
          mlir::Value c = mlir::arith::ConstantOp::create(
              b, loc,
              mlir::DenseElementsAttr::get(type, mlir::Attribute(b.getFloatAttr(typeOf<T>(), constant))));
          return isFirst ? emit(b, loc, isMax, c, in[0]) : emit(b, loc, isMax, in[0], c);
        },
        {typeOf<T>()}, typeOf<T>(), {8}, {.expandMinMax = true, .cpu = cpu});
    std::vector<T> out(x.size());
    jit.run({x.data()}, out.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      expectSame(out[i], isMax, x[i], constant, cpu);
  }
}

TEST(ExpandMinMax, OrdersZerosAndKeepsNaN) {
  for (const char *cpu : {"", "x86-64-v3", "x86-64-v2"})
    for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {16}}) {
      checkPairs<float>(shape, cpu);
      checkPairs<double>(shape, cpu);
    }
}

TEST(ExpandMinMax, Constants) {
  for (double constant : {0.0, -0.0, 1.0, -2.5, std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (bool isFirst : {false, true}) {
      checkConstant<float>(static_cast<float>(constant), isFirst, "");
      checkConstant<double>(constant, isFirst, "x86-64-v2");
    }
}

} // namespace
