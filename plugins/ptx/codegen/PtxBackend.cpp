// Code generation for NVIDIA GPUs: NVVM operations, then PTX text. The driver assembles PTX itself, so PTX is
// also the object format, and ptxas is never needed.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "plugins/ptx/Architectures.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/TargetSelect.h"
#include <regex>

using namespace mlir;

namespace tessera::ptx {
namespace {

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeNVPTXTargetInfo, LLVMInitializeNVPTXTarget,
                           LLVMInitializeNVPTXTargetMC, LLVMInitializeNVPTXAsmPrinter>;

/// ptxas 13.0 and the driver of CUDA 13 take neg.s16 and abs.s16 for operations of 32 bits where the result
/// is sign-extended: -(-32768) is 32768 (seen on H100 and H200). Negation by complement is right.
std::string withoutShortNegations(const std::string &text) {
  static const std::regex negation(R"((neg|abs)\.s16([ \t]+)(%rs\d+), (%rs\d+);)");
  std::string out;
  auto from = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), negation), end; it != end; ++it) {
    const std::smatch &m = *it;
    const std::string to = m[3], x = m[4];
    out.append(from, m[0].first);
    out += "not.b16" + m[2].str() + to + ", " + x + ";\n\tadd.s16" + m[2].str() + to + ", " + to + ", 1;";
    if (m[1] == "abs") out += "\n\tmax.s16" + m[2].str() + to + ", " + to + ", " + x + ";";
    from = m[0].second;
  }
  return out.append(from, text.end());
}

/// A lane's elements of a factor in the registers of mma: words of as many elements as fit, pairs of f16,
/// single f64. f32 is rounded to tf32.
SmallVector<Value> registersOf(ImplicitLocOpBuilder &b, DType dtype, Value factor) {
  auto type = cast<VectorType>(factor.getType());
  if (dtype != DType::F64 && dtype != DType::TF32) {
    const int64_t words = type.getDimSize(0) * type.getElementTypeBitWidth() / 32;
    factor = vector::BitCastOp::create(b, VectorType::get({words}, b.getI32Type()), factor);
  }
  SmallVector<Value> all;
  for (int64_t i = 0; i < cast<VectorType>(factor.getType()).getDimSize(0); ++i) {
    Value one = vector::ExtractOp::create(b, factor, i);
    if (dtype == DType::F16) one = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), one);
    if (dtype == DType::TF32)
      one = NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), one, NVVM::FPRoundingMode::RNA);
    all.push_back(one);
  }
  return all;
}

Value number(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(value)));
}

/// The address of tensor memory as the instructions take it.
Value tensorPointer(ImplicitLocOpBuilder &b, Value address) {
  constexpr unsigned kTensorSpace = 6;
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kTensorSpace), address);
}

class Ptx final : public gpu::Vendor {
public:
  StringRef name() const override { return "ptx"; }
  ArrayRef<gpu::Architecture> architectures() const override { return kArchitectures; }
  ImageFormat format() const override { return ImageFormat::Ptx; }
  StringRef triple() const override { return "nvptx64-nvidia-cuda"; }
  void registerDialects(DialectRegistry &registry) const override {
    registerNVVMDialectTranslation(registry);
  }

  Value emitId(ImplicitLocOpBuilder &b, gpu::Id id, unsigned dim, int64_t bound) const override {
    return gpu::emitIdBy<gpu::CoordinateOps<NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>,
                         gpu::CoordinateOps<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
                         gpu::CoordinateOps<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>>(b, id, dim,
                                                                                                   bound);
  }

  void emitBarrier(ImplicitLocOpBuilder &b) const override { NVVM::BarrierOp::create(b); }

  SmallVector<Value> emitProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                                 Value y, ValueRange c) const override {
    const SmallVector<Value> left = registersOf(b, dtype, x), right = registersOf(b, dtype, y);
    Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(c.getTypes()));
    Value result;
    if (dtype == DType::F8E4M3 || dtype == DType::F8E5M2) { // NVVM has no operation for it
      const StringRef factor = dtype == DType::F8E4M3 ? "e4m3" : "e5m2";
      SmallVector<Value> operands = left;
      llvm::append_range(operands, right);
      llvm::append_range(operands, c);
      const std::string name = ("llvm.nvvm.mma.m16n8k32.row.col.f32." + factor + "." + factor + ".f32").str();
      result = LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
    } else {
      using Types = NVVM::MMATypes;
      const auto kind = llvm::StringSwitch<Types>(tessera::name(dtype))
                            .Case("f64", Types::f64)
                            .Case("tf32", Types::tf32)
                            .Case("bf16", Types::bf16)
                            .Case("i8", Types::s8)
                            .Case("u8", Types::u8)
                            .Default(Types::f16);
      const bool isInteger = dtype == DType::I8 || dtype == DType::U8;
      result =
          NVVM::MmaOp::create(b, type, left, right, c, ArrayRef<int64_t>{f.m, f.n, f.k}, std::nullopt,
                              isInteger ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt,
                              std::array{kind, kind}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < int64_t(c.size()); ++i)
      elements.push_back(LLVM::ExtractValueOp::create(b, result, i));
    return elements;
  }

  /// PTX ISA, "Matrix Descriptor" of wgmma and "Shared memory descriptor" of tcgen05: addresses and distances
  /// count 16 bytes.
  Value emitDescriptor(ImplicitLocOpBuilder &b, const layout::Fragment &f, Value address, int64_t panelBytes,
                       int64_t panelStep, int64_t groupBytes) const override {
    const uint64_t swizzle = panelBytes == 128 ? 1 : panelBytes == 64 ? 2 : 3;
    const uint64_t fixed = uint64_t(panelStep / 16 & 0x3fff) << 16 | uint64_t(groupBytes / 16) << 32 |
                           uint64_t(f.hasTensorMemory()) << 46 | swizzle << 62;
    auto constant = [&](Type type, uint64_t value) -> Value {
      return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, int64_t(value)));
    };
    Type word = b.getI32Type(), both = b.getI64Type();
    Value bits = LLVM::PtrToIntOp::create(b, word, address);
    bits = LLVM::AndOp::create(b, bits, constant(word, 0x3ffff));
    bits = LLVM::LShrOp::create(b, bits, constant(word, 4));
    return LLVM::OrOp::create(b, LLVM::ZExtOp::create(b, both, bits), constant(both, fixed));
  }

  Value emitSharedProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, SharedMatrix x,
                          SharedMatrix y, Value sums, bool adds) const override {
    using NVVM::MMALayout;
    using Types = NVVM::WGMMATypes;
    MLIRContext *context = b.getContext();
    const auto factor = llvm::StringSwitch<Types>(tessera::name(dtype))
                            .Case("bf16", Types::bf16)
                            .Case("fp8_e4m3", Types::e4m3)
                            .Case("fp8_e5m2", Types::e5m2)
                            .Case("tf32", Types::tf32)
                            .Default(Types::f16);
    return NVVM::WgmmaMmaAsyncOp::create(
        b, sums.getType(), sums, x.descriptor, y.descriptor, NVVM::MMAShapeAttr::get(context, f.m, f.n, f.k),
        factor, factor, Types::f32, adds ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero,
        NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, x.isAlongK ? MMALayout::row : MMALayout::col,
        y.isAlongK ? MMALayout::col : MMALayout::row, NVVM::MMAIntOverflowAttr());
  }
  /// NVVM's operation takes descriptors only. The emulator reads this text (VendorOps.cpp).
  Value emitHeldProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                        SharedMatrix y, Value sums, bool adds) const override {
    const std::string factor = dtype == DType::BF16 ? "bf16" : "f16", columns = std::to_string(f.n);
    const int64_t count = f.n / 2; // sums of a lane
    auto registers = [](int64_t first, int64_t number) {
      std::string all;
      for (int64_t i = first; i < first + number; ++i)
        all += (i > first ? ", $" : "$") + std::to_string(i);
      return "{" + all + "}";
    };
    SmallVector<Value> operands;
    std::string constraints, tied;
    for (int64_t i = 0; i < count; ++i) {
      operands.push_back(LLVM::ExtractValueOp::create(b, sums, i));
      constraints += "=f,", tied += std::to_string(i) + ",";
    }
    llvm::append_range(operands, registersOf(b, DType::BF16, x)); // words
    operands.push_back(y.descriptor);
    const std::string text = "{\n.reg .pred p;\nsetp.ne.b32 p, " + std::to_string(int(adds)) +
                             ", 0;\nwgmma.mma_async.sync.aligned.m64n" + columns + "k16.f32." + factor + "." +
                             factor + " " + registers(0, count) + ", " + registers(2 * count, 4) + ", $" +
                             std::to_string(2 * count + 4) + ", p, 1, 1, " + (y.isAlongK ? "0" : "1") +
                             ";\n}\n";
    return LLVM::InlineAsmOp::create(b, sums.getType(), operands, text, constraints + tied + "r,r,r,r,l",
                                     /*has_side_effects=*/true, /*is_align_stack=*/false,
                                     LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                     ArrayAttr())
        .getResult(0);
  }
  void emitProductFence(ImplicitLocOpBuilder &b) const override { NVVM::WgmmaFenceAlignedOp::create(b); }
  void emitProductCommit(ImplicitLocOpBuilder &b) const override { NVVM::WgmmaGroupSyncAlignedOp::create(b); }
  void emitProductWait(ImplicitLocOpBuilder &b, int64_t pending) const override {
    NVVM::WgmmaWaitGroupSyncOp::create(b, uint64_t(pending));
  }

  void emitTensorAlloc(ImplicitLocOpBuilder &b, Value place, int64_t columns) const override {
    NVVM::Tcgen05AllocOp::create(b, place, number(b, columns));
    NVVM::Tcgen05RelinquishAllocPermitOp::create(b);
  }
  void emitTensorFree(ImplicitLocOpBuilder &b, Value memory, int64_t columns) const override {
    NVVM::Tcgen05DeallocOp::create(b, tensorPointer(b, memory), number(b, columns));
  }
  void emitTensorProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, SharedMatrix x,
                         SharedMatrix y, Value sums, Value adds) const override {
    // PTX ISA, "Instruction descriptor": dtypes of the sums, A and B, which of these are stored along m and
    // n, and the extents.
    using Kind = NVVM::Tcgen05MMAKind;
    struct Code {
      Kind kind;
      uint32_t sum, factor;
    };
    const auto [kind, sum, factor] = llvm::StringSwitch<Code>(tessera::name(dtype))
                                         .Case("bf16", {Kind::F16, 1, 1})
                                         .Case("tf32", {Kind::TF32, 1, 2})
                                         .Case("fp8_e4m3", {Kind::F8F6F4, 1, 0})
                                         .Case("fp8_e5m2", {Kind::F8F6F4, 1, 1})
                                         .Case("u8", {Kind::I8, 2, 0})
                                         .Case("i8", {Kind::I8, 2, 1})
                                         .Default({Kind::F16, 1, 0});
    const uint32_t descriptor = sum << 4 | factor << 7 | factor << 10 | uint32_t(!x.isAlongK) << 15 |
                                uint32_t(!y.isAlongK) << 16 | uint32_t(f.n / 8) << 17 |
                                uint32_t(f.m / 16) << 24;
    NVVM::Tcgen05MMAOp::create(b, kind, NVVM::CTAGroupKind::CTA_1, NVVM::Tcgen05MMACollectorOp::DISCARD,
                               /*aShift=*/false, tensorPointer(b, sums), x.descriptor, y.descriptor,
                               number(b, descriptor), adds, Value(), Value());
  }
  void emitTensorCommit(ImplicitLocOpBuilder &b, Value word) const override {
    NVVM::Tcgen05CommitOp::create(b, word, Value());
  }
  SmallVector<Value> emitTensorLoad(ImplicitLocOpBuilder &b, const layout::Fragment &f, Value from,
                                    int64_t count) const override {
    // Of 64 rows 16 are in the lanes of a warp, and each of its threads has parts of two.
    const bool isHalf = f.m == 64;
    const int64_t words = isHalf ? count / 2 : count;
    Value loaded = NVVM::Tcgen05LdOp::create(b, VectorType::get({words}, b.getI32Type()), /*pack=*/false,
                                             isHalf ? NVVM::Tcgen05LdStShape::SHAPE_16X256B
                                                    : NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                                             tensorPointer(b, from), Value());
    SmallVector<Value> all;
    for (int64_t i = 0; i < words; ++i)
      all.push_back(LLVM::ExtractElementOp::create(b, loaded, number(b, i)));
    return all;
  }
  void emitTensorLoadWait(ImplicitLocOpBuilder &b) const override {
    NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::LOAD);
  }
  void emitTensorFence(ImplicitLocOpBuilder &b, bool isAfterMeeting) const override {
    NVVM::Tcgen05FenceOp::create(b, isAfterMeeting ? NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC
                                                   : NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  void emitSharedFence(ImplicitLocOpBuilder &b) const override {
    NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared,
                               NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
  }
  Value emitUniform(ImplicitLocOpBuilder &b, Value value) const override {
    auto constant = [&](int32_t v) -> Value { return LLVM::ConstantOp::create(b, b.getI32Type(), v); };
    return NVVM::ShflOp::create(b, b.getI32Type(), constant(-1), value, constant(0), constant(31),
                                NVVM::ShflKind::idx, UnitAttr());
  }

  SmallVector<Value> emitLoadMatrix(ImplicitLocOpBuilder &b, Value address, int count,
                                    bool transposed) const override {
    Type word = b.getI32Type(), all = word;
    if (count > 1) all = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, word));
    Value loaded = NVVM::LdMatrixOp::create(
        b, all, address, uint32_t(count), transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
    if (count == 1) return {loaded};
    SmallVector<Value> words;
    for (int64_t i = 0; i < count; ++i)
      words.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
    return words;
  }

  // cvt.rn.bf16.f32 came with asynchronous copies.
  bool roundsToBf16(const gpu::Architecture &target) const override { return target.copiesAsync; }
  /// ptxas makes rcp.rn.f32 of this and the step of Newton's method, after a test of the exponent.
  bool refinesInverse() const override { return true; }
  Value emitApproximation(ImplicitLocOpBuilder &b, gpu::Approximation which, Value x) const override {
    auto intrinsic = [&](StringRef name) {
      return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name), ValueRange{x})
          .getResult(0);
    };
    switch (which) {
    case gpu::Approximation::Exp2:
      return intrinsic("llvm.nvvm.ex2.approx.ftz");
    case gpu::Approximation::Log2:
      return intrinsic("llvm.nvvm.lg2.approx.ftz.f");
    case gpu::Approximation::Inverse:
      return NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), x);
    case gpu::Approximation::Sqrt:
      return intrinsic("llvm.nvvm.sqrt.approx.ftz.f");
    case gpu::Approximation::InverseSqrt:
      return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f");
    case gpu::Approximation::Tanh: // tanh.approx.f32, of sm_75 and later
      return LLVM::TanhOp::create(b, x, LLVM::FastmathFlags::afn);
    }
    llvm_unreachable("unknown approximation");
  }

  bool hasShuffles() const override { return true; }
  Value emitShuffle(ImplicitLocOpBuilder &b, Value word, Value lane) const override {
    auto number = [&](int32_t n) -> Value { return LLVM::ConstantOp::create(b, b.getI32Type(), n); };
    return NVVM::ShflOp::create(b, b.getI32Type(), number(-1), word, lane, number(31), NVVM::ShflKind::idx,
                                UnitAttr());
  }

  void emitCopy(ImplicitLocOpBuilder &b, Value to, Value from, Value copied) const override {
    NVVM::CpAsyncOp::create(b, to, from, 16, NVVM::LoadCacheModifierKind::CG, copied);
  }
  void emitCopyCommit(ImplicitLocOpBuilder &b) const override { NVVM::CpAsyncCommitGroupOp::create(b); }
  void emitCopyWait(ImplicitLocOpBuilder &b, int64_t pending) const override {
    NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(pending));
  }

  void emitInitArrivals(ImplicitLocOpBuilder &b, ValueRange words, ArrayRef<int64_t> counts) const override {
    for (auto [word, count] : llvm::zip(words, counts))
      NVVM::MBarrierInitOp::create(b, word, LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(count)),
                                   Value());
    NVVM::FenceMbarrierInitOp::create(b);
  }
  void emitExpectBytes(ImplicitLocOpBuilder &b, Value word, int64_t bytes) const override {
    Value count = LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(bytes));
    NVVM::MBarrierArriveExpectTxOp::create(b, Type(), word, count, NVVM::MemScopeKind::CTA, false, Value());
  }
  void emitCopyBox(ImplicitLocOpBuilder &b, Value to, Value map, ValueRange coordinates,
                   Value word) const override {
    // PTX 8.4 names no other destination than shared::cluster; a block is its own cluster.
    constexpr unsigned kSharedCluster = 7;
    Value cluster =
        LLVM::AddrSpaceCastOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedCluster), to);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, cluster, map, coordinates, word, ValueRange(), Value(), Value(), NVVM::TMALoadMode::TILE,
        /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
  }
  void emitAwaitBytes(ImplicitLocOpBuilder &b, Value word, Value parity) const override {
    constexpr int32_t kTicks = 10'000'000; // after which the hardware looks again
    NVVM::MBarrierTryWaitParityOp::create(b, word, parity,
                                          LLVM::ConstantOp::create(b, b.getI32Type(), kTicks));
  }

  void emitArrive(ImplicitLocOpBuilder &b, Value word) const override {
    NVVM::MBarrierArriveOp::create(b, Type(), word, Value(), NVVM::MemScopeKind::CTA, false);
  }
  void emitWarpBarrier(ImplicitLocOpBuilder &b) const override {
    NVVM::SyncWarpOp::create(b, LLVM::ConstantOp::create(b, b.getI32Type(), -1));
  }
  void emitBarrierOf(ImplicitLocOpBuilder &b, int64_t threads) const override {
    constexpr int32_t kNumber = 1; // 0 is that of all threads
    auto number = [&](int64_t n) -> Value { return LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(n)); };
    NVVM::BarrierOp::create(b, TypeRange(), number(kNumber), number(threads), NVVM::BarrierReductionAttr(),
                            Value());
  }
  void emitSetRegisters(ImplicitLocOpBuilder &b, int64_t count, int64_t atEntry) const override {
    // The instruction needs the number at entry.
    b.getInsertionBlock()->getParent()->getParentOfType<FunctionOpInterface>()->setAttr(
        NVVM::NVVMDialect::getMaxnregAttrName(), b.getI32IntegerAttr(int32_t(atEntry)));
    NVVM::SetMaxRegisterOp::create(b, uint32_t(count),
                                   count > atEntry ? NVVM::SetMaxRegisterAction::increase
                                                   : NVVM::SetMaxRegisterAction::decrease);
  }

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block, int64_t residentBlocks,
                  const gpu::Architecture &) const override {
    Builder b(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    for (unsigned i = 0; i < function.getNumArguments(); ++i) // instructions read tensor maps where they are
      if (function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
        function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr(block));
    if (residentBlocks)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        b.getI32IntegerAttr(int32_t(residentBlocks)));
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &target) const override {
    initializeOnce();
    // Instructions without an intrinsic become inline PTX. Target IR, which the emulator executes, has their
    // operations.
    PassManager passes(module.getContext());
    passes.addPass(createConvertNVVMToLLVMPass());
    if (failed(passes.run(module))) return Error{"E_BACKEND", "NVVM operations do not convert to LLVM", ""};
    emit::LlvmTarget llvmTarget{triple().str(), std::string(target.name), std::string(target.features)};
    auto text = emit::emitFile(module, llvmTarget, llvm::CodeGenFileType::AssemblyFile);
    if (text) *text = withoutShortNegations(*text);
    return text;
  }
  Expected<std::string> emitObject(ModuleOp module, const gpu::Architecture &target) const override {
    return emitAssembly(module, target);
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const Ptx instance;
  return instance;
}

} // namespace tessera::ptx
