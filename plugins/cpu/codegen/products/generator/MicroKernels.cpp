#include "plugins/cpu/codegen/products/generator/MicroKernels.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace tessera::cpu::product {
namespace {

/// Returns the steps of k in one iteration: enough to hide the loop's own instructions, few enough that no
/// address is spilled (a block of one vector has as many rows of A as others and less to do for each).
constexpr int64_t unrollOf(int64_t vectors) { return vectors == 1 ? 2 : 4; }

constexpr Level kLevels[] = {{"v3", "x86-64-v3", "", 32}, {"v4", "x86-64-v4", "", 64}};

// Sixteen registers hold 6 x 2 sums, a row of B and a broadcast element of A; 32 hold 6 x 4. Six rows of A
// fit the ways of a first-level cache even where their stride is a power of two.
constexpr Family kV3[] = {
    {"f32", 4, false, 6, 2}, {"f32", 4, true, 6, 2}, {"f64", 8, false, 6, 2}, {"f64", 8, true, 6, 2}};
constexpr Family kV4[] = {
    {"f32", 4, false, 6, 4}, {"f32", 4, true, 6, 4}, {"f64", 8, false, 6, 4}, {"f64", 8, true, 6, 4}};

/// Emits one micro-kernel.
class Emitter {
public:
  Emitter(ModuleOp module, const Level &level, const Family &family, int64_t rows, int64_t vectors)
      : b_(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())), family_(family), rows_(rows),
        vectors_(vectors), lanes_(level.vectorBytes / family.bytes) {
    element_ = family.bytes == 4 ? Type(b_.getF32Type()) : Type(b_.getF64Type());
    vector_ = VectorType::get({lanes_}, element_);
    pointer_ = LLVM::LLVMPointerType::get(b_.getContext());
  }

  void emit() {
    Type i64 = b_.getI64Type();
    Type inputs[] = {i64, pointer_, i64, pointer_, i64, pointer_, i64, i64, i64};
    auto f =
        func::FuncOp::create(b_, microKernelName(family_, rows_, vectors_), b_.getFunctionType(inputs, {}));
    f.setArgAttr(5, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    b_.setInsertionPointToStart(f.addEntryBlock());
    auto in = f.getArguments();
    a_ = in[1], strideA_ = in[2], b0_ = in[3], strideB_ = in[4], c_ = in[5], strideC_ = in[6];
    mask_ = lanesBelow(in[7]);
    Value zero = integer(0);
    Value isFresh = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, in[8], zero);
    SmallVector<Type> types(static_cast<size_t>(rows_ * vectors_), vector_);
    auto start = scf::IfOp::create(b_, types, isFresh, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(start.thenBlock());
      scf::YieldOp::create(b_, SmallVector<Value>(types.size(), zeros()));
      b_.setInsertionPointToStart(start.elseBlock());
      SmallVector<Value> loaded;
      forBlock([&](int64_t r, int64_t v) { loaded.push_back(load(addressOfC(r, v), v)); });
      scf::YieldOp::create(b_, loaded);
    }
    // Whole iterations, then the steps that are left.
    Value whole = arith::AndIOp::create(b_, in[0], integer(-unrollOf(vectors_)));
    SmallVector<Value> sums(start.getResults());
    sums = loop(zero, whole, unrollOf(vectors_), sums);
    sums = loop(whole, in[0], 1, sums);
    size_t i = 0;
    forBlock([&](int64_t r, int64_t v) { store(addressOfC(r, v), v, sums[i++]); });
    func::ReturnOp::create(b_);
  }

private:
  Value integer(int64_t n) { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); }
  Value zeros() { return arith::ConstantOp::create(b_, b_.getZeroAttr(vector_)); }
  Value plus(Value x, Value y) { return arith::AddIOp::create(b_, x, y); }
  Value times(Value x, Value y) { return arith::MulIOp::create(b_, x, y); }
  void forBlock(llvm::function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t v = 0; v < vectors_; ++v)
        body(r, v);
  }
  Value lanesBelow(Value count) {
    SmallVector<int32_t> numbers(static_cast<size_t>(lanes_));
    for (auto [i, n] : llvm::enumerate(numbers))
      n = static_cast<int32_t>(i);
    auto type = VectorType::get({lanes_}, b_.getI32Type());
    Value lane = arith::ConstantOp::create(b_, DenseElementsAttr::get(type, ArrayRef(numbers)));
    Value narrow = arith::TruncIOp::create(b_, b_.getI32Type(), count);
    Value end = vector::BroadcastOp::create(b_, type, narrow);
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, lane, end);
  }
  Value address(Value base, Value elements) {
    return LLVM::GEPOp::create(b_, pointer_, element_, base, ArrayRef<LLVM::GEPArg>{elements});
  }
  Value offset(Value base, int64_t elements) {
    return LLVM::GEPOp::create(b_, pointer_, element_, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(elements)});
  }
  Value addressOfC(int64_t r, int64_t v) {
    return offset(address(c_, times(strideC_, integer(r))), v * lanes_);
  }
  /// Only the last vector has columns that do not exist.
  Value load(Value from, int64_t v) {
    const auto alignment = static_cast<unsigned>(family_.bytes);
    if (v + 1 < vectors_) return LLVM::LoadOp::create(b_, vector_, from, alignment);
    return LLVM::MaskedLoadOp::create(b_, vector_, from, mask_, zeros(),
                                      b_.getI32IntegerAttr(static_cast<int32_t>(alignment)),
                                      /*nontemporal=*/UnitAttr());
  }
  void store(Value to, int64_t v, Value value) {
    const auto alignment = static_cast<unsigned>(family_.bytes);
    if (v + 1 < vectors_)
      LLVM::StoreOp::create(b_, value, to, alignment);
    else
      LLVM::MaskedStoreOp::create(b_, value, to, mask_,
                                  b_.getI32IntegerAttr(static_cast<int32_t>(alignment)));
  }

  SmallVector<Value> loop(Value from, Value end, int64_t steps, ArrayRef<Value> sums) {
    auto loop = scf::ForOp::create(b_, from, end, integer(steps), sums);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (int64_t u = 0; u < steps; ++u)
      step(u == 0 ? loop.getInductionVar() : plus(loop.getInductionVar(), integer(u)), next);
    scf::YieldOp::create(b_, next);
    return SmallVector<Value>(loop.getResults());
  }

  void step(Value k, MutableArrayRef<Value> sums) {
    Value row = address(b0_, times(k, strideB_));
    SmallVector<Value> line;
    for (int64_t v = 0; v < vectors_; ++v)
      line.push_back(load(offset(row, v * lanes_), v));
    Value column = family_.transposed ? address(a_, times(k, strideA_)) : Value();
    for (int64_t r = 0; r < rows_; ++r) {
      Value from =
          family_.transposed ? offset(column, r) : address(address(a_, times(strideA_, integer(r))), k);
      Value x = LLVM::LoadOp::create(b_, element_, from);
      Value all = vector::BroadcastOp::create(b_, vector_, x);
      for (int64_t v = 0; v < vectors_; ++v) {
        Value &sum = sums[static_cast<size_t>(r * vectors_ + v)];
        sum = math::FmaOp::create(b_, all, line[static_cast<size_t>(v)], sum);
      }
    }
  }

  ImplicitLocOpBuilder b_;
  const Family &family_;
  int64_t rows_, vectors_, lanes_;
  Type element_;
  VectorType vector_;
  Type pointer_;
  Value a_, strideA_, b0_, strideB_, c_, strideC_, mask_;
};

LogicalResult toLlvm(ModuleOp module) {
  PassManager structured(module->getContext());
  structured.addPass(createSCFToControlFlowPass());
  if (failed(structured.run(module))) return failure();
  MLIRContext &context = *module->getContext();
  LLVMTypeConverter types(&context);
  RewritePatternSet patterns(&context);
  populateVectorToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

} // namespace

ArrayRef<Level> levels() { return kLevels; }

ArrayRef<Family> families(const Level &level) {
  return level.vectorBytes == 64 ? ArrayRef(kV4) : ArrayRef(kV3);
}

std::string microKernelName(const Family &family, int64_t rows, int64_t vectors) {
  return std::string("tsr.mk.") + family.dtype + (family.transposed ? ".t." : ".n.") + std::to_string(rows) +
         "x" + std::to_string(vectors);
}

OwningOpRef<ModuleOp> microKernels(MLIRContext &context, const Level &level, const Family &family) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (int64_t rows = 1; rows <= family.rows; ++rows)
    for (int64_t vectors = 1; vectors <= family.vectors; ++vectors)
      Emitter(*module, level, family, rows, vectors).emit();
  if (failed(toLlvm(*module))) return {};
  return module;
}

} // namespace tessera::cpu::product
