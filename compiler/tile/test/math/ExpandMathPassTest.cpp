// What tile-expand-math rewrites and what it leaves; that the check for library calls sees them.
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/test/math/VectorJit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace tessera::tile;
using namespace tessera::tile::test;

namespace {

/// How often each elementary function and op of the math dialect is in `body` after the pass.
std::map<std::string, int> mathOpsAfter(const std::string &body) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(body, &context());
  EXPECT_TRUE(module) << body;
  mlir::PassManager passes(&context());
  passes.addPass(tessera::createTileExpandMath());
  EXPECT_TRUE(succeeded(passes.run(*module)));
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  std::map<std::string, int> counts;
  module->walk([&](mlir::Operation *op) {
    if (isFunction(op) || mlir::isa_and_present<mlir::math::MathDialect>(op->getDialect()))
      ++counts[op->getName().stripDialect().str()];
  });
  return counts;
}

TEST(ExpandMathPass, LeavesInstructionsAlone) {
  auto counts = mathOpsAfter(R"(
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %a = math.sqrt %x : vector<8xf32>
      %b = math.floor %a : vector<8xf32>
      %c = math.absf %b : vector<8xf32>
      %d = math.fma %a, %b, %c : vector<8xf32>
      return %d : vector<8xf32>
    })");
  EXPECT_EQ(counts, (std::map<std::string, int>{{"sqrt", 1}, {"floor", 1}, {"absf", 1}, {"fma", 1}}));
}

TEST(ExpandMathPass, LeavesTensorsAlone) {
  auto counts = mathOpsAfter(R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = tile.exp %x : tensor<8xf32>
      return %a : tensor<8xf32>
    })");
  EXPECT_EQ(counts["exp"], 1);
}

TEST(ExpandMathPass, RewritesInsideLoopsAndOnEveryShape) {
  auto counts = mathOpsAfter(R"(
    func.func @f(%x: f32, %y: vector<4x8xf32>, %z: vector<2xf16>, %n: index) -> (f32, vector<4x8xf32>, vector<2xf16>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r = scf.for %i = %zero to %n step %one iter_args(%v = %x) -> f32 {
        %e = tile.exp %v : f32
        scf.yield %e : f32
      }
      %t = tile.tanh %y : vector<4x8xf32>
      %l = tile.log %z : vector<2xf16>
      return %r, %t, %l : f32, vector<4x8xf32>, vector<2xf16>
    })");
  for (const char *name : {"exp", "tanh", "log"})
    EXPECT_EQ(counts[name], 0) << name;
}

/// 16-bit floats are computed in f32 and rounded once.
TEST(ExpandMathPass, HalfPrecisionIsRoundedFromF32) {
  mlir::Builder types(&context());
  VectorJit jit([&](mlir::OpBuilder &b, mlir::Location loc,
                    mlir::ValueRange in) -> mlir::Value { return ExpOp::create(b, loc, in[0]); },
                {types.getF16Type()}, types.getF16Type(), {8}, {.expandMath = true});
  std::vector<_Float16> in, out(65536);
  for (unsigned bits = 0; bits < 65536; ++bits)
    in.push_back(std::bit_cast<_Float16>(uint16_t(bits)));
  jit.run({in.data()}, out.data(), in.size());
  int different = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const _Float16 want = static_cast<_Float16>(std::exp(static_cast<double>(in[i])));
    if (std::isnan(float(want)))
      EXPECT_TRUE(std::isnan(float(out[i])));
    else if (out[i] != want)
      ++different;
  }
  EXPECT_LE(different, 8); // only where f32's own error crosses a rounding boundary
}

TEST(ExternalCalls, AreSeen) {
  mlir::Builder types(&context());
  VectorJit library(
      [](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange in) -> mlir::Value {
        return mlir::arith::RemFOp::create(b, loc, in[0], in[0]);
      },
      {types.getF32Type()}, types.getF32Type(), {}, {});
  EXPECT_FALSE(library.externalCalls("x86-64-v3").empty());
}

} // namespace
