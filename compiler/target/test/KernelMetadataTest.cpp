// The metadata document says what the attributes of the kernel say.
#include "compiler/target/Transforms/KernelMetadata.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::target {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class KernelMetadataTest : public ::testing::Test {
protected:
  KernelMetadata describe(llvm::StringRef text) {
    context_.loadDialect<tile::TileDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_);
    return describeKernel(*module_->getOps<tile::KernelOp>().begin(), "cpu");
  }
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(KernelMetadataTest, Everything) {
  KernelMetadata m = describe(R"mlir(
    tile.kernel @gemm(%A: !tile.view<?x64xui8>, %C: !tile.view<?xf32>, %alpha: f32, %M: index)
        grid ["ceildiv(M, 64)", "2"] attributes {numerics = "fast", params = [
          #tile.param<name = "A", kind = tensor, dtype = u8, dims = ["M", "D"], access = readwrite>,
          #tile.param<name = "C", kind = result, dtype = f32, dims = ["M"], access = write>,
          #tile.param<name = "alpha", kind = scalar, dtype = f32, default_value = 0.5 : f64>, #tile.param<name = "M", kind = dim>],
        specialized = {D = 64 : i64}, tunables = {BLOCK_M = 64 : i64}, decisions = {stages = 3 : i64},
        lanes_per_program = 32 : i64, shared_bytes = 4096 : i64, scratch_bytes = 256 : i64, vector_bytes = 64 : i64,
        fragment = #tile.fragment<6x64x1>, fragment_in = "bf16", fragment_acc = "f32", fallbacks = ["bf16 in f32"]} {
      tile.return
    })mlir");
  EXPECT_EQ(m.name, "gemm");
  EXPECT_EQ(m.target, "cpu");
  EXPECT_EQ(m.numerics, "fast");
  ASSERT_EQ(m.params.size(), 4u);
  EXPECT_EQ(m.params[0].dtype, DType::U8);
  EXPECT_TRUE(m.params[0].reads && m.params[0].writes);
  EXPECT_THAT(m.params[0].dims, ElementsAre("M", "D"));
  EXPECT_EQ(m.params[1].kind, MetadataParam::Kind::Result);
  EXPECT_FALSE(m.params[1].reads);
  EXPECT_EQ(m.params[2].kind, MetadataParam::Kind::Scalar);
  EXPECT_EQ(m.params[2].defaultValue, Number(0.5));
  EXPECT_EQ(m.params[3].kind, MetadataParam::Kind::Dim);
  EXPECT_THAT(m.tile, ElementsAre(Pair("BLOCK_M", 64), Pair("stages", 3)));
  EXPECT_THAT(m.specialized, ElementsAre(Pair("D", 64)));
  EXPECT_EQ(m.fragmentShape, "6x64x1");
  EXPECT_EQ(m.fragmentIn, DType::BF16);
  EXPECT_EQ(m.fragmentAcc, DType::F32);
  EXPECT_EQ(m.sharedBytes, 4096);
  EXPECT_EQ(m.scratchBytes, 256);
  EXPECT_EQ(m.vectorBytes, 64);
  EXPECT_THAT(m.axes, ElementsAre("ceildiv(M, 64)", "2"));
  EXPECT_EQ(m.lanesPerProgram, 32);
  EXPECT_THAT(m.fallbacks, ElementsAre("bf16 in f32"));
}

TEST_F(KernelMetadataTest, AbsentAttributesAndTheRuntimeReadsItBack) {
  KernelMetadata m = describe(R"mlir(
    tile.kernel @k(%x: !tile.view<?xf32>, %n: index) grid ["n"] attributes {params = [
        #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["n"], access = read>, #tile.param<name = "n", kind = dim>]} {
      tile.return
    })mlir");
  EXPECT_EQ(m.numerics, "standard");
  EXPECT_EQ(m.fragmentShape, "");
  EXPECT_EQ(m.lanesPerProgram, 1);
  EXPECT_FALSE(m.mayWait);
  KernelMetadata back;
  std::string why;
  ASSERT_TRUE(KernelMetadata::fromYaml(m.toYaml(), back, why)) << why;
  EXPECT_EQ(back.name, "k");
  EXPECT_FALSE(back.mayWait);
  EXPECT_THAT(back.axes, ElementsAre("n"));
}

} // namespace
} // namespace tessera::target
