#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::gpu {
#define GEN_PASS_DEF_GPUTOLLVM
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

constexpr int64_t kMaxGrid = (int64_t(1) << 31) - 1; // along x; the smallest limit of the three vendors

/// Of an llvm.func, until all of its operations are converted.
constexpr llvm::StringLiteral kBlockSize = "known_block_size";

/// Returns the block size of the kernel around `op`. A pattern may run before or after the function is
/// converted.
DenseI32ArrayAttr blockSize(Operation *op) {
  if (auto f = op->getParentOfType<mlir::gpu::GPUFuncOp>()) return f.getKnownBlockSizeAttr();
  auto f = op->getParentOfType<LLVM::LLVMFuncOp>();
  return f ? f->getAttrOfType<DenseI32ArrayAttr>(kBlockSize) : DenseI32ArrayAttr();
}

/// gpu.func -> llvm.func, marked as the vendor's kernel
struct ConvertFunc : ConvertOpToLLVMPattern<mlir::gpu::GPUFuncOp> {
  ConvertFunc(const LLVMTypeConverter &types, const GpuTarget &target)
      : ConvertOpToLLVMPattern(types), target_(target) {}

  LogicalResult matchAndRewrite(mlir::gpu::GPUFuncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    DenseI32ArrayAttr block = op.getKnownBlockSizeAttr();
    if (op.isKernel() && (!block || block.size() != 3))
      return op.emitOpError("has no known_block_size of three numbers");
    if (op.getNumWorkgroupAttributions() || op.getNumPrivateAttributions())
      return op.emitOpError("has memory attributions; shared memory is an llvm.mlir.global");
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    auto type = getTypeConverter()->convertFunctionSignature(op.getFunctionType(), false, false, signature);
    if (!type) return rewriter.notifyMatchFailure(op, "its types have no LLVM form");
    auto function = LLVM::LLVMFuncOp::create(
        rewriter, op.getLoc(), op.getName(), type,
        op.isKernel() ? LLVM::Linkage::External : LLVM::Linkage::Internal, false, LLVM::CConv::C);
    if (auto args = op.getArgAttrsAttr()) function.setArgAttrsAttr(args);
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (attribute.getNameDialect() && !isa<mlir::gpu::GPUDialect>(attribute.getNameDialect()))
        function->setAttr(attribute.getName(), attribute.getValue());
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter(), &signature)))
      return failure();
    auto resident = op->getAttrOfType<IntegerAttr>(kResidentBlocks);
    if (op.isKernel())
      target_.vendor().markKernel(function, block, resident ? resident.getInt() : 0, target_.architecture());
    if (block) function->setAttr(kBlockSize, block);
    rewriter.eraseOp(op);
    return success();
  }
  const GpuTarget &target_;
};

struct ConvertReturn : ConvertOpToLLVMPattern<mlir::gpu::ReturnOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(mlir::gpu::ReturnOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, adaptor.getOperands());
    return success();
  }
};

/// gpu.thread_id and the like -> the vendor's register, widened to the index type
template <typename Op, Id id> struct ConvertId : ConvertOpToLLVMPattern<Op> {
  ConvertId(const LLVMTypeConverter &types, const Vendor &vendor)
      : ConvertOpToLLVMPattern<Op>(types), vendor_(vendor) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    unsigned dim = static_cast<unsigned>(op.getDimension());
    DenseI32ArrayAttr block = blockSize(op);
    int64_t bound = id == Id::Block      ? kMaxGrid
                    : id == Id::GridSize ? kMaxGrid + 1
                    : block              ? block[dim]
                                         : 1024;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value value = vendor_.emitId(b, id, dim, bound);
    Type index = this->getTypeConverter()->getIndexType();
    if (value.getType() != index) value = LLVM::ZExtOp::create(b, index, value);
    rewriter.replaceOp(op, value);
    return success();
  }
  const Vendor &vendor_;
};

struct ConvertBlockDim : ConvertOpToLLVMPattern<mlir::gpu::BlockDimOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(mlir::gpu::BlockDimOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    DenseI32ArrayAttr block = blockSize(op);
    if (!block) return rewriter.notifyMatchFailure(op, "the block size is not known");
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(op, getTypeConverter()->getIndexType(),
                                                  block[static_cast<unsigned>(op.getDimension())]);
    return success();
  }
};

struct ConvertBarrier : ConvertOpToLLVMPattern<mlir::gpu::BarrierOp> {
  ConvertBarrier(const LLVMTypeConverter &types, const Vendor &vendor)
      : ConvertOpToLLVMPattern(types), vendor_(vendor) {}
  LogicalResult matchAndRewrite(mlir::gpu::BarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    vendor_.emitBarrier(b);
    rewriter.eraseOp(op);
    return success();
  }
  const Vendor &vendor_;
};

/// The vector dialect's fma, which LLVM may compute in two steps -> one that rounds once.
struct FuseMultiplyAdd : OpRewritePattern<LLVM::FMulAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LLVM::FMulAddOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::FMAOp>(op, op.getA(), op.getB(), op.getC());
    return success();
  }
};

/// Replaces an operation on f32, or on a vector of it, by what `emit` makes of each element of `operand`.
/// Fails if that is null.
LogicalResult replacePerElement(Operation *op, Value operand, ConversionPatternRewriter &rewriter,
                                llvm::function_ref<Value(ImplicitLocOpBuilder &, Value)> emit) {
  Type type = op->getResult(0).getType();
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  auto vector = dyn_cast<VectorType>(type);
  if (!getElementTypeOrSelf(type).isF32() || (vector && vector.getRank() != 1)) return failure();
  if (!vector) {
    Value result = emit(b, operand);
    return result ? rewriter.replaceOp(op, result), success() : failure();
  }
  Value all = LLVM::PoisonOp::create(b, vector);
  for (int64_t i = 0; i < vector.getDimSize(0); ++i) {
    Value at = LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(i)));
    Value result = emit(b, LLVM::ExtractElementOp::create(b, operand, at));
    if (!result) return failure();
    all = LLVM::InsertElementOp::create(b, all, result, at);
  }
  return rewriter.replaceOp(op, all), success();
}

Value constantOf(ImplicitLocOpBuilder &b, float value) {
  return LLVM::ConstantOp::create(b, b.getF32Type(), b.getF32FloatAttr(value));
}

/// 1 / x as an approximation y and a step of Newton's method, y + y (1 - x y), or as y alone.
struct ConvertInverse : OpConversionPattern<arith::DivFOp> {
  ConvertInverse(LLVMTypeConverter &types, const Vendor &vendor)
      : OpConversionPattern(types, types.getDialect()->getContext(), /*benefit=*/2), vendor_(vendor) {}
  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    const bool isApproximate = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
    if (!isApproximate && !(op->hasAttr(kIsInverse) && vendor_.refinesInverse())) return failure();
    return replacePerElement(op, operands.getRhs(), rewriter, [&](ImplicitLocOpBuilder &b, Value x) -> Value {
      Value y = vendor_.emitApproximation(b, Approximation::Inverse, x);
      if (isApproximate) return y;
      Value missing = LLVM::FMAOp::create(b, LLVM::FNegOp::create(b, x), y, constantOf(b, 1));
      return LLVM::FMAOp::create(b, missing, y, y);
    });
  }
  const Vendor &vendor_;
};

/// tanh(x) = 1 - 2 / (1 + e^2x); near zero, where that cancels, x is closer.
Value nearTanh(ImplicitLocOpBuilder &b, const Vendor &vendor, Value x) {
  constexpr float kNearZero = 0x1p-6f, kTwoLog2e = 0x1.715476p+1f;
  if (Value known = vendor.emitApproximation(b, Approximation::Tanh, x)) return known;
  Value power =
      vendor.emitApproximation(b, Approximation::Exp2, LLVM::FMulOp::create(b, x, constantOf(b, kTwoLog2e)));
  Value inverse =
      vendor.emitApproximation(b, Approximation::Inverse, LLVM::FAddOp::create(b, power, constantOf(b, 1)));
  Value far = LLVM::FMAOp::create(b, inverse, constantOf(b, -2), constantOf(b, 1));
  Value isNearZero =
      LLVM::FCmpOp::create(b, LLVM::FCmpPredicate::olt, LLVM::FAbsOp::create(b, x), constantOf(b, kNearZero));
  return LLVM::SelectOp::create(b, isNearZero, x, far);
}

/// A function with the flag `afn` -> the vendor's instruction.
template <typename Op, Approximation which> struct ConvertApproximation : OpConversionPattern<Op> {
  ConvertApproximation(LLVMTypeConverter &types, const Vendor &vendor)
      : OpConversionPattern<Op>(types, types.getDialect()->getContext(), /*benefit=*/2), vendor_(vendor) {}
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn)) return failure();
    return replacePerElement(op, operands.getOperand(), rewriter, [&](ImplicitLocOpBuilder &b, Value x) {
      return which == Approximation::Tanh ? nearTanh(b, vendor_, x) : vendor_.emitApproximation(b, which, x);
    });
  }
  const Vendor &vendor_;
};

struct ConvertToLlvmPass : impl::GpuToLlvmBase<ConvertToLlvmPass> {
  using GpuToLlvmBase::GpuToLlvmBase;

  void getDependentDialects(DialectRegistry &registry) const final {
    GpuToLlvmBase::getDependentDialects(registry);
    if (auto gpu = findGpuTarget(target)) (*gpu)->vendor().registerDialects(registry);
  }

  void runOnOperation() final {
    auto gpu = findGpuTarget(target);
    if (!gpu) {
      getOperation().emitError() << gpu.error().message;
      return signalPassFailure();
    }
    const Vendor &vendor = (*gpu)->vendor();
    if (failed(checkAtomics(vendor))) return signalPassFailure();
    MLIRContext &context = getContext();
    LowerToLLVMOptions options(&context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter types(&context, options);
    RewritePatternSet patterns(&context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    patterns.add<ConvertFunc>(types, **gpu);
    patterns.add<ConvertReturn, ConvertBlockDim>(types);
    patterns.add<FuseMultiplyAdd>(&context);
    patterns.add<ConvertInverse, ConvertApproximation<math::Exp2Op, Approximation::Exp2>,
                 ConvertApproximation<math::Log2Op, Approximation::Log2>,
                 ConvertApproximation<math::SqrtOp, Approximation::Sqrt>,
                 ConvertApproximation<math::RsqrtOp, Approximation::InverseSqrt>,
                 ConvertApproximation<math::TanhOp, Approximation::Tanh>>(types, vendor);
    patterns.add<ConvertBarrier, ConvertId<mlir::gpu::ThreadIdOp, Id::Thread>,
                 ConvertId<mlir::gpu::BlockIdOp, Id::Block>, ConvertId<mlir::gpu::GridDimOp, Id::GridSize>>(
        types, vendor);
    ConversionTarget legal(context);
    legal.markUnknownOpDynamicallyLegal([](Operation *op) {
      Dialect *dialect = op->getDialect();
      return !dialect || !(isa<mlir::gpu::GPUDialect>(dialect) || dialect->getNamespace() == "arith" ||
                           dialect->getNamespace() == "math" || dialect->getNamespace() == "cf");
    });
    legal.addLegalOp<mlir::gpu::GPUModuleOp>();
    legal.addIllegalOp<LLVM::FMulAddOp>();
    if (failed(applyPartialConversion(getOperation(), legal, std::move(patterns))))
      return signalPassFailure();
    getOperation().walk([](LLVM::LLVMFuncOp f) { f->removeAttr(kBlockSize); });
  }

  LogicalResult checkAtomics(const Vendor &vendor) {
    auto refuse = [&](Operation *op, StringRef what, Type type) {
      return op->emitError() << "TSR_UNIMPLEMENTED: atomic " << what << " of " << type
                             << " is not built for backend " << vendor.name()
                             << ", whose devices have no instruction for it";
    };
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op)) {
        if (Type type = rmw.getVal().getType(); !vendor.hasAtomic(rmw.getBinOp(), type))
          return refuse(op, LLVM::stringifyAtomicBinOp(rmw.getBinOp()), type);
      } else if (auto cas = dyn_cast<LLVM::AtomicCmpXchgOp>(op)) {
        if (Type type = cas.getVal().getType(); !vendor.hasAtomic(std::nullopt, type))
          return refuse(op, "compare-and-swap", type);
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace

void addLlvmPasses(OpPassManager &pm, const GpuTarget &target) {
  OpPassManager &module = pm.nest<mlir::gpu::GPUModuleOp>();
  module.addPass(createGpuExpandRemainders());
  module.addPass(createSCFToControlFlowPass());
  module.addPass(createConvertVectorToLLVMPass());
  module.addPass(createGpuMinMax({target.name()}));
  module.addPass(createTileExpandMinMax());
  module.addPass(arith::createArithExpandOpsPass());
  module.addPass(createGpuToLlvm({target.name()}));
  module.addPass(createReconcileUnrealizedCastsPass());
  // Before the wrapping, so that Target IR is readable.
  module.addPass(createSimplifyOps());
  module.addPass(createCSEPass());
  pm.addPass(createGpuWrapTarget({target.name()}));
}

} // namespace tessera::gpu
