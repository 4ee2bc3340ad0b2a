// cpu-to-llvm: vector, arith, math, cf and func operations to the LLVM dialect, in one conversion.
//
// One walk with all patterns costs a fraction of a pass per dialect: no casts between half-converted types
// are created and removed again. Rollback is not needed, because an operation without a pattern is a defect
// and ends the compilation.
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUTOLLVM
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

struct ToLLVMPass : impl::CpuToLlvmBase<ToLLVMPass> {
  void runOnOperation() final {
    MLIRContext &context = getContext();
    LLVMTypeConverter types(&context);
    RewritePatternSet patterns(&context);
    populateVectorToLLVMConversionPatterns(types, patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(context);
    target.addLegalOp<ModuleOp>();
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                             math::MathDialect, vector::VectorDialect>();
    ConversionConfig config;
    config.allowPatternRollback = false;
    config.foldingMode = DialectConversionFoldingMode::Never; // folding has already happened
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

} // namespace tessera::cpu
