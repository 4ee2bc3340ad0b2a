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
    context_.loadDialect<tile::TileDialect, mlir::tensor::TensorDialect>();
    // Products in layouts that no instruction has are as good as others here.
    const mlir::ParserConfig config(&context_, /*verifyAfterParse=*/false);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, config);
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
        fallbacks = ["bf16 in f32"]} {
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
  EXPECT_TRUE(m.products.empty());
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
  EXPECT_EQ(m.lanesPerProgram, 1);
  EXPECT_FALSE(m.mayWait);
  EXPECT_FALSE(m.sharesOperands);
  KernelMetadata back;
  std::string why;
  ASSERT_TRUE(KernelMetadata::fromYaml(m.toYaml(), back, why)) << why;
  EXPECT_EQ(back.name, "k");
  EXPECT_FALSE(back.mayWait);
  EXPECT_THAT(back.axes, ElementsAre("n"));
}

TEST_F(KernelMetadataTest, ProductsOncePerPlace) {
  KernelMetadata m = describe(R"mlir(
    tile.kernel @k() grid ["1"] attributes {params = []} {
      %a = tensor.empty() : tensor<64x32xbf16>
      %b = tensor.empty() : tensor<32x256xbf16>
      %c = tensor.empty() : tensor<64x256xf32>
      %d = tensor.empty() : tensor<64x64xf32>
      %e = tensor.empty() : tensor<64x32xi8>
      %f = tensor.empty() : tensor<32x64xi8>
      %g = tensor.empty() : tensor<64x64xi32>
      %0 = tile.mma %a, %b, %c {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [4, 1]>} : tensor<64x32xbf16>, tensor<32x256xbf16>, tensor<64x256xf32> loc("dir/k.py":3:5)
      %1 = tile.mma %a, %b, %0 {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [4, 1]>} : tensor<64x32xbf16>, tensor<32x256xbf16>, tensor<64x256xf32> loc("dir/k.py":3:5)
      %2 = tile.mma %a, %b, %1 {fragment = #tile.fragment<64x256x16, "wgmma.m64n8k16", warps = [4, 1]>} : tensor<64x32xbf16>, tensor<32x256xbf16>, tensor<64x256xf32> loc("dir/k.py":4:5)
      %3 = tile.mma %d, %d, %d {fragment = #tile.fragment<16x8x8, "mma.m16n8k8.tf32", warps = [4, 1]>} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> loc(unknown)
      %4 = tile.mma %d, %d, %d {fragment = #tile.fragment<6x32x1>} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> loc(unknown)
      %5 = tile.mma %e, %f, %g unsigned {fragment = #tile.fragment<8x16x32, "dpas.8x16x32", warps = [4, 1]>} : tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32> loc(unknown)
      tile.return
    })mlir");
  const std::vector<MetadataProduct> products = {{"wgmma.m64n256k16", DType::BF16, DType::F32, "k.py:3"},
                                                 {"wgmma.m64n256k16", DType::BF16, DType::F32, "k.py:4"},
                                                 {"mma.m16n8k8.tf32", DType::TF32, DType::F32},
                                                 {"fma.m6n32k1", DType::F32, DType::F32},
                                                 {"dpas.8x16x32", DType::U8, DType::I32}};
  EXPECT_EQ(m.products, products);
  KernelMetadata back;
  std::string why;
  ASSERT_TRUE(KernelMetadata::fromYaml(m.toYaml(), back, why)) << why;
  EXPECT_EQ(back.products, products);
}

} // namespace
} // namespace tessera::target
