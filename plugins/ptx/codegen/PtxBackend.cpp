// Code generation for NVIDIA GPUs: NVVM operations, then PTX text. The driver assembles PTX itself, so PTX is
// also the object format, and ptxas is never needed.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "plugins/ptx/Architectures.h"
#include "plugins/ptx/codegen/MatrixVendor.h"
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

constexpr unsigned kSharedCluster = 7; // address space of a cluster's shared memory

class Ptx final : public MatrixVendor {
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

  void emitCopy(ImplicitLocOpBuilder &b, Value to, Value from, int64_t bytes, Value copied) const override {
    // Only copies of 16 bytes can pass by the first-level cache.
    const auto cache = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(b, to, from, uint32_t(bytes), cache, copied);
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
  void emitCopyBox(ImplicitLocOpBuilder &b, Value to, Value map, ValueRange coordinates, Value word,
                   int64_t ranks) const override {
    // PTX 8.4 names no other destination than shared::cluster; a block is its own cluster.
    Value mask;
    if (ranks) mask = LLVM::ConstantOp::create(b, b.getI16Type(), b.getI16IntegerAttr(int16_t(ranks)));
    Value cluster =
        LLVM::AddrSpaceCastOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedCluster), to);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, cluster, map, coordinates, word, ValueRange(), mask, Value(), NVVM::TMALoadMode::TILE,
        /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
  }
  void emitAwaitBytes(ImplicitLocOpBuilder &b, Value word, Value parity) const override {
    constexpr int32_t kTicks = 10'000'000; // after which the hardware looks again
    NVVM::MBarrierTryWaitParityOp::create(b, word, parity,
                                          LLVM::ConstantOp::create(b, b.getI32Type(), kTicks));
  }

  void emitStoreMatrix(ImplicitLocOpBuilder &b, Value address, ValueRange words) const override {
    NVVM::StMatrixOp::create(b, address, words, NVVM::MMALayout::row,
                             NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
                             NVVM::LdStMatrixEltType::B16);
  }
  void emitStoreBox(ImplicitLocOpBuilder &b, Value map, ValueRange coordinates, Value from) const override {
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(b, map, from, coordinates, Value(),
                                                       NVVM::TMAStoreMode::TILE, Value());
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  }
  void emitAwaitStores(ImplicitLocOpBuilder &b, int64_t pending) const override {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, uint32_t(pending), /*read=*/b.getUnitAttr());
  }

  void emitArrive(ImplicitLocOpBuilder &b, Value word, Value rank) const override {
    if (rank) {
      Value there =
          NVVM::MapaOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedCluster), word, rank);
      NVVM::MBarrierArriveOp::create(b, Type(), there, Value(), NVVM::MemScopeKind::CLUSTER, false);
      return;
    }
    NVVM::MBarrierArriveOp::create(b, Type(), word, Value(), NVVM::MemScopeKind::CTA, false);
  }
  void markCluster(Operation *function, int64_t blocks) const override {
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      Builder(function->getContext()).getDenseI32ArrayAttr({int32_t(blocks), 1, 1}));
  }
  void emitClusterBarrier(ImplicitLocOpBuilder &b) const override { // warps may have diverged: not .aligned
    NVVM::ClusterArriveOp::create(b, UnitAttr());
    NVVM::ClusterWaitOp::create(b, UnitAttr());
  }
  void emitWarpBarrier(ImplicitLocOpBuilder &b) const override {
    NVVM::SyncWarpOp::create(b, LLVM::ConstantOp::create(b, b.getI32Type(), -1));
  }
  void emitNamedBarrier(ImplicitLocOpBuilder &b, Value number, int64_t threads, bool waits) const override {
    Value count = LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(threads));
    if (waits) {
      NVVM::BarrierOp::create(b, TypeRange(), number, count, NVVM::BarrierReductionAttr(), Value());
      return;
    }
    // nvvm.barrier.arrive is inline PTX, which LLVM may move into branches of single threads.
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
                                  ValueRange{number, count});
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
  Expected<std::string> emitObject(OwningOpRef<ModuleOp> module,
                                   const gpu::Architecture &target) const override {
    return emitAssembly(*module, target);
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const Ptx instance;
  return instance;
}

} // namespace tessera::ptx
