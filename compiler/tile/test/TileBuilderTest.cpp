// What TileBuilder emits for operands that are known when it emits, and for those that are not.
#include "compiler/tile/IR/TileBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

namespace tessera::tile {
namespace {

using namespace mlir;

/// Emits into an empty module.
class TileBuilderTest : public ::testing::Test {
protected:
  TileBuilderTest() {
    context_.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
    module_ = ModuleOp::create(b_.getUnknownLoc());
    b_.setInsertionPointToEnd(module_->getBody());
  }

  Value unknown(Type type) {
    return UnrealizedConversionCastOp::create(b_, t_.loc(), type, ValueRange()).getResult(0);
  }

  template <class Op> int count() {
    int found = 0;
    module_->walk([&](Op) { ++found; });
    return found;
  }

  MLIRContext context_{MLIRContext::Threading::DISABLED};
  OpBuilder b_{&context_};
  TileBuilder t_{b_};
  OwningOpRef<ModuleOp> module_;
};

TEST_F(TileBuilderTest, AnUnknownDivisorIsGuarded) {
  Type i32 = t_.scalarType(DType::I32);
  t_.floorDiv(DType::I32, unknown(i32), unknown(i32));
  EXPECT_EQ(count<arith::SelectOp>(), 4);
}

TEST_F(TileBuilderTest, ALiteralDivisorNeedsNoGuard) {
  Type i32 = t_.scalarType(DType::I32), tile = t_.tileType(DType::I32, {8});
  t_.floorDiv(DType::I32, unknown(i32), t_.constant(i32, int64_t{7}));
  t_.floorDiv(DType::I32, unknown(tile), t_.constant(tile, int64_t{7}));
  t_.floorDiv(DType::I32, unknown(tile), t_.broadcast(t_.constant(i32, int64_t{7}), tile));
  EXPECT_EQ(count<arith::SelectOp>(), 0);
}

TEST_F(TileBuilderTest, LiteralZeroAndMinusOneAreGuarded) {
  Type i32 = t_.scalarType(DType::I32);
  t_.floorDiv(DType::I32, unknown(i32), t_.constant(i32, int64_t{0}));
  EXPECT_EQ(count<arith::SelectOp>(), 4);
  t_.floorDiv(DType::I32, unknown(i32), t_.constant(i32, int64_t{-1}));
  EXPECT_EQ(count<arith::SelectOp>(), 8);
}

TEST_F(TileBuilderTest, TheLargestUnsignedDivisorIsNotMinusOne) {
  Type u8 = t_.scalarType(DType::U8);
  t_.mod(DType::U8, unknown(u8), t_.constant(u8, int64_t{-1}));
  EXPECT_EQ(count<arith::SelectOp>(), 0);
  EXPECT_EQ(count<arith::RemUIOp>(), 1);
}

TEST_F(TileBuilderTest, OnlyAnAmountBelowTheWidthShiftsUnguarded) {
  Type i32 = t_.scalarType(DType::I32);
  t_.shl(DType::I32, unknown(i32), t_.constant(i32, int64_t{31}));
  EXPECT_EQ(count<arith::SelectOp>(), 0);
  t_.shl(DType::I32, unknown(i32), t_.constant(i32, int64_t{32}));
  t_.shl(DType::I32, unknown(i32), unknown(i32));
  EXPECT_EQ(count<arith::SelectOp>(), 2);
}

TEST_F(TileBuilderTest, SquaringIsAProduct) {
  Type tile = t_.tileType(DType::F32, {8});
  t_.pow(DType::F32, unknown(tile), t_.broadcast(t_.real(2.0, DType::F32), tile));
  EXPECT_EQ(count<arith::MulFOp>(), 1);
}

TEST_F(TileBuilderTest, ComparisonsOfUnsignedIntegersIgnoreTheSign) {
  Type u8 = t_.scalarType(DType::U8);
  auto less = t_.compare(TileBuilder::Relation::Lt, DType::U8, unknown(u8), unknown(u8));
  EXPECT_EQ(less.getDefiningOp<arith::CmpIOp>().getPredicate(), arith::CmpIPredicate::ult);
}

TEST_F(TileBuilderTest, ALoopCarriesWhatItsBodyReturns) {
  Type f32 = t_.scalarType(DType::F32), index = b_.getIndexType();
  Value init = unknown(f32), lo = unknown(index), hi = unknown(index), step = unknown(index);
  auto loop = t_.loop(lo, hi, step, init, [&](Value, ValueRange carried) {
    return TileBuilder::Values{t_.add(DType::F32, carried[0], carried[0])};
  });
  EXPECT_EQ(loop.getNumResults(), 1u);
  EXPECT_TRUE(succeeded(verify(*module_)));
}

TEST_F(TileBuilderTest, ABranchWithoutResultsNeedsNoElse) {
  auto branch = t_.branch(unknown(b_.getI1Type()), {}, [] { return TileBuilder::Values(); }, nullptr);
  EXPECT_EQ(branch.elseBlock(), nullptr);
  EXPECT_TRUE(succeeded(verify(*module_)));
}

} // namespace
} // namespace tessera::tile
