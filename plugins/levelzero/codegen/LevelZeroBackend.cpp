// Code generation for Intel GPUs: OpenCL's built-in functions and SPIR-V, which the driver compiles.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "plugins/levelzero/Architectures.h"
#include "plugins/levelzero/codegen/ExpandIntrinsics.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Support/TargetSelect.h"
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <spirv-tools/optimizer.hpp>
#include <vector>

using namespace mlir;

namespace tessera::levelzero {
namespace {

// The mangled names of OpenCL C's functions, on which SPIR-V's producers and consumers agree: (unsigned) ->
// size_t or void.
constexpr StringLiteral kLocalId = "_Z12get_local_idj";
constexpr StringLiteral kGroupId = "_Z12get_group_idj";
constexpr StringLiteral kGroupCount = "_Z14get_num_groupsj";
constexpr StringLiteral kBarrier = "_Z7barrierj";
constexpr int32_t kLocalAndGlobalFence = 3;

/// LLVM's transformations of loops (closed forms of sums, strength reduction) compute with integers of any
/// width, which its SPIR-V generator widens to the next of SPIR-V's without masking them: an i5 becomes an
/// i8. So they do not run; the driver optimises loops for its device. The generator's own level is None for
/// the same reason.
constexpr StringLiteral kPasses = "cgscc(inline),function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,"
                                  "instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,"
                                  "licm),"
                                  "loop(loop-unroll-full),sroa<modify-cfg>,instcombine<no-verify-fixpoint>,"
                                  "gvn,sccp,adce,simplifycfg,instcombine<no-verify-fixpoint>),globaldce";

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeSPIRVTargetInfo, LLVMInitializeSPIRVTarget,
                           LLVMInitializeSPIRVTargetMC, LLVMInitializeSPIRVAsmPrinter>;

bool isBuiltin(std::string_view symbol) {
  return llvm::is_contained({kLocalId, kGroupId, kGroupCount, kBarrier}, StringRef(symbol));
}

bool hasInteger(unsigned bits) { return llvm::is_contained({1U, 8U, 16U, 32U, 64U}, bits); }

/// Returns the declaration of a built-in function in the module around the insertion point.
LLVM::LLVMFuncOp builtin(ImplicitLocOpBuilder &b, StringRef name, Type result) {
  Operation *module = b.getInsertionBlock()->getParentOp()->getParentOfType<mlir::gpu::GPUModuleOp>();
  if (auto known = SymbolTable::lookupSymbolIn(module, name)) return cast<LLVM::LLVMFuncOp>(known);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&module->getRegion(0).front());
  auto type = LLVM::LLVMFunctionType::get(result, {b.getI32Type()});
  auto function =
      LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::External, false, LLVM::CConv::SPIR_FUNC);
  function.setNoUnwind(true);
  function.setWillReturn(true);
  if (name == kBarrier) {
    function.setConvergent(true);
  } else {
    using Effect = LLVM::ModRefInfo;
    function.setMemoryEffectsAttr(
        LLVM::MemoryEffectsAttr::get(b.getContext(), SmallVector<Effect>(6, Effect::NoModRef)));
  }
  return function;
}

class LevelZero final : public gpu::Vendor {
public:
  StringRef name() const override { return "levelzero"; }
  ArrayRef<StringRef> aliases() const override {
    static constexpr StringRef others[] = {"level_zero"};
    return others;
  }
  ArrayRef<gpu::Architecture> architectures() const override { return kArchitectures; }
  ImageFormat format() const override { return ImageFormat::Spirv; }
  /// 1.2: drivers of 2022 refuse newer versions, and 1.0 has no sub-group size.
  StringRef triple() const override { return "spirv64v1.2-unknown-unknown"; }

  Value emitId(ImplicitLocOpBuilder &b, gpu::Id id, unsigned dim, int64_t) const override {
    StringRef name = id == gpu::Id::Thread ? kLocalId : id == gpu::Id::Block ? kGroupId : kGroupCount;
    auto call = LLVM::CallOp::create(b, builtin(b, name, b.getI64Type()),
                                     ValueRange{LLVM::ConstantOp::create(b, b.getI32Type(), dim)});
    call.setCConv(LLVM::CConv::SPIR_FUNC);
    return call.getResult();
  }

  void emitBarrier(ImplicitLocOpBuilder &b) const override {
    auto call =
        LLVM::CallOp::create(b, builtin(b, kBarrier, LLVM::LLVMVoidType::get(b.getContext())),
                             ValueRange{LLVM::ConstantOp::create(b, b.getI32Type(), kLocalAndGlobalFence)});
    call.setCConv(LLVM::CConv::SPIR_FUNC);
    call.setConvergent(true);
  }

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block, int64_t,
                  const gpu::Architecture &target) const override {
    Builder b(function.getContext());
    function.setCConv(LLVM::CConv::SPIR_KERNEL);
    function.setReqdWorkGroupSizeAttr(b.getDenseI32ArrayAttr(block));
    function.setIntelReqdSubGroupSizeAttr(b.getI32IntegerAttr(int32_t(target.warpSize)));
  }

  /// The device has instructions for 32 and 64 bits; those for floats are extensions.
  bool hasAtomic(std::optional<LLVM::AtomicBinOp> kind, Type type) const override {
    if (type.getIntOrFloatBitWidth() < 32) return false;
    return !isa<FloatType>(type) || !kind || kind == LLVM::AtomicBinOp::xchg;
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &) const override {
    return emit(module, llvm::CodeGenFileType::AssemblyFile);
  }
  /// LLVM 22 keeps the ids of labels from one module to the next, under the addresses of its functions: when
  /// an address is reused, ids are defined twice (llvm-project issue 160613). Such a module cannot be read
  /// back. It is emitted again while the addresses that are now free are occupied.
  Expected<std::string> emitObject(ModuleOp module, const gpu::Architecture &) const override {
    constexpr int kAttempts = 16;
    std::vector<std::unique_ptr<std::byte[]>> taken;
    for (int attempt = 1;; ++attempt) {
      Expected<std::string> bytes = emit(module, llvm::CodeGenFileType::ObjectFile);
      if (!bytes) return bytes;
      Expected<std::string> numbered = numberIds(*bytes);
      if (numbered || attempt == kAttempts) return numbered;
      for (int i = 0; i < 16 * attempt; ++i)
        taken.push_back(std::make_unique<std::byte[]>(sizeof(llvm::MachineFunction)));
    }
  }

private:
  /// Numbers ids in the order in which they appear. Fails if `bytes` are not a SPIR-V module.
  static Expected<std::string> numberIds(const std::string &bytes) {
    std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
    spvtools::Optimizer optimizer(SPV_ENV_UNIVERSAL_1_2);
    std::string text;
    optimizer.SetMessageConsumer(
        [&](spv_message_level_t, const char *, const spv_position_t &, const char *said) { text = said; });
    optimizer.RegisterPass(spvtools::CreateCompactIdsPass());
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);
    if (!optimizer.Run(words.data(), words.size(), &words, options))
      return Error{"E_BACKEND", "LLVM's SPIR-V does not read back: " + text, ""};
    return std::string(reinterpret_cast<const char *>(words.data()), words.size() * sizeof(uint32_t));
  }

  Expected<std::string> emit(ModuleOp module, llvm::CodeGenFileType type) const {
    initializeOnce();
    static std::mutex mutex; // LLVM's state is shared by the process
    std::lock_guard lock(mutex);
    emit::LlvmTarget llvmTarget{triple().str(), "", "", nullptr, isBuiltin};
    llvmTarget.passes = kPasses;
    llvmTarget.effort = llvm::CodeGenOptLevel::None;
    llvmTarget.hasInteger = hasInteger;
    llvmTarget.finish = expandIntrinsics;
    llvmTarget.hasIntrinsic = hasIntrinsic;
    return emit::emitFile(module, llvmTarget, type);
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const LevelZero instance;
  return instance;
}

} // namespace tessera::levelzero
