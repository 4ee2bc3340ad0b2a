#include "plugins/cpu/codegen/CpuTarget.h"
#include "compiler/codegen/emit/HostFeatures.h"
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "plugins/cpu/codegen/products/Archive.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace tessera::cpu {
namespace {

/// Kernels arrive as vector loops over raw pointers, without calls. What remains is to fold addresses, keep
/// loop-carried values in registers, and vectorise loops over lanes. Loops of known length are not fully
/// unrolled: one vector per iteration outweighs the branch, and unrolling grew the code by half. O2 is no
/// better and takes four times as long.
constexpr llvm::StringLiteral kOptimizations = "function("
                                               "sroa,early-cse<memssa>,simplifycfg,"
                                               "loop-mssa(loop-rotate,licm),"
                                               "instcombine<no-verify-fixpoint>,"
                                               "gvn," // loads of one place across statements
                                               "loop-vectorize,"
                                               "instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)";

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeX86TargetInfo, LLVMInitializeX86Target, LLVMInitializeX86TargetMC,
                           LLVMInitializeX86AsmPrinter>;

/// Returns the lane that a constant mask selects, if it selects exactly one.
std::optional<unsigned> onlyLane(const llvm::Value *mask) {
  auto constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (!constant || !type) return std::nullopt;
  std::optional<unsigned> lane;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    llvm::Constant *element = constant->getAggregateElement(i);
    if (!element || llvm::isa<llvm::UndefValue>(element) || (!element->isNullValue() && lane))
      return std::nullopt;
    if (!element->isNullValue()) lane = i;
  }
  return lane;
}

/// Replaces a masked store of one known lane by a store of that element. LLVM 22's X86 back end does the
/// same, but for a value that was truncated for the store it writes the wide element, past the end of the
/// tensor.
void storeSingleLanes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
        auto store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
        llvm::Value *mask = store->getArgOperand(store->arg_size() - 1);
        std::optional<unsigned> lane = onlyLane(mask);
        if (!lane) continue;
        llvm::IRBuilder<> b(store);
        llvm::Value *element = b.CreateExtractElement(store->getArgOperand(0), *lane);
        llvm::Value *place = b.CreateConstGEP1_32(element->getType(), store->getArgOperand(1), *lane);
        b.CreateAlignedStore(element, place, llvm::Align(1));
        store->eraseFromParent();
      }
}

/// Keeps stores of blended vectors as they are. LLVM 22 combines a store of `select(mask, x, old)`, where
/// `old` is loaded from the same place, into a masked store, which is microcoded on AMD's processors without
/// AVX-512 (docs/decisions/0015): it takes as long as 12 multiplications. It leaves volatile loads alone.
void keepBlends(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        auto store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        auto choice = store ? llvm::dyn_cast<llvm::SelectInst>(store->getValueOperand()) : nullptr;
        if (!choice || !choice->getCondition()->getType()->isVectorTy()) continue;
        for (llvm::Value *value : {choice->getTrueValue(), choice->getFalseValue()})
          if (auto old = llvm::dyn_cast<llvm::LoadInst>(value);
              old && old->getPointerOperand() == store->getPointerOperand() && old->isSimple())
            old->setVolatile(true);
      }
}

/// Gives every masked store a plain one for masks that are all set: masks of rows and of whole tiles mostly
/// are, and processors without AVX-512 have no cheap masked store (docs/decisions/0181).
void storeWholeVectors(llvm::Module &module) {
  std::vector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            store && store->getIntrinsicID() == llvm::Intrinsic::masked_store &&
            !llvm::isa<llvm::Constant>(store->getArgOperand(store->arg_size() - 1)))
          stores.push_back(store);
  for (llvm::IntrinsicInst *store : stores) {
    llvm::IRBuilder<> b(store);
    llvm::Value *value = store->getArgOperand(0), *mask = store->getArgOperand(store->arg_size() - 1);
    auto type = llvm::cast<llvm::FixedVectorType>(value->getType());
    // Lanes as wide as the elements stay in a vector register across the branch; those of i1 would be packed.
    const unsigned lanes = type->getNumElements();
    auto wide = llvm::FixedVectorType::get(b.getIntNTy(type->getScalarSizeInBits()), lanes);
    llvm::Value *kept = b.CreateSExt(mask, wide);
    llvm::Value *bits = b.CreateBitCast(mask, b.getIntNTy(lanes));
    llvm::Instruction *whole = nullptr, *part = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(
        b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType())), store->getIterator(), &whole,
        &part);
    llvm::IRBuilder<>(whole).CreateAlignedStore(value, store->getArgOperand(1), llvm::Align(1));
    store->moveBefore(part->getIterator());
    llvm::IRBuilder<> inPart(store);
    store->setArgOperand(store->arg_size() - 1,
                         inPart.CreateICmpSLT(kept, llvm::Constant::getNullValue(wide)));
  }
}

/// Calls emit(LlvmTarget) for `target`.
template <class Emit> auto emitFor(const CpuTarget &target, Emit emit) {
  initializeOnce();
  emit::LlvmTarget llvmTarget{target.triple, target.cpu, target.features};
  // The vector width that the kernel was lowered for also applies where the optimiser vectorises loops over
  // lanes.
  auto setWidth = [bits = std::to_string(target.vectorBytes * 8)](llvm::Module &ir) {
    for (llvm::Function &f : ir) {
      if (f.isDeclaration()) continue;
      f.addFnAttr("prefer-vector-width", bits);
      f.addFnAttr("min-legal-vector-width", bits);
    }
  };
  auto anything = [](std::string_view) { return true; }; // the linker checks the symbols
  auto finish = [hasMaskedStores = target.vectorBytes >= 64](llvm::Module &module) {
    storeSingleLanes(module);
    if (hasMaskedStores) return;
    keepBlends(module);
    storeWholeVectors(module);
  };
  llvmTarget.prepare = setWidth;
  llvmTarget.mayCall = anything;
  llvmTarget.passes = kOptimizations;
  llvmTarget.effort = llvm::CodeGenOptLevel::Default;
  llvmTarget.finish = finish;
  llvmTarget.verify = false; // verification takes longer than some passes
  return emit(llvmTarget);
}

} // namespace

Expected<CpuTarget> findCpu(llvm::StringRef name) {
  initializeOnce();
  CpuTarget out;
  out.triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target *t = llvm::TargetRegistry::lookupTarget(llvm::Triple(out.triple), error);
  if (!t) return Error{"E_TARGET_UNKNOWN", error, ""};
  out.isHost = name.empty() || name == "native";
  if (out.isHost) {
    out.cpu = llvm::sys::getHostCPUName().str();
    out.features = emit::hostFeatures();
  } else {
    out.cpu = name.str();
  }
  llvm::Triple triple(out.triple);
  std::unique_ptr<llvm::MCSubtargetInfo> info(t->createMCSubtargetInfo(triple, "", out.features));
  if (!out.isHost) {
    // Asks the generic CPU: creating the info of an unknown CPU would print an error to stderr.
    if (!info->isCPUStringValid(out.cpu))
      return Error{"E_TARGET_UNKNOWN", "LLVM knows no x86-64 CPU named '" + out.cpu + "'",
                   "x86-64-v3 and skylake-avx512 are such names; plain cpu is the machine you are on"};
    info.reset(t->createMCSubtargetInfo(triple, out.cpu, ""));
  }
#define TESSERA_CPU_FEATURE(NAME)                                                                            \
  if (info->checkFeatures("+" NAME)) out.required.push_back(NAME);
#include "sdk/schema/cpu_features.def"
#undef TESSERA_CPU_FEATURE
  bool avx512 = info->checkFeatures("+avx512f") && info->checkFeatures("+avx512vl") &&
                info->checkFeatures("+avx512bw") && info->checkFeatures("+avx512dq");
  bool avx2 = info->checkFeatures("+avx2") && info->checkFeatures("+fma");
  out.hasFma = avx512 || avx2; // F16C and FMA came before AVX2
  out.vectorBytes = avx512 ? 64 : avx2 ? 32 : 16;
  out.vectorRegisters = avx512 ? 32 : 16;
  for (const product::Archive &archive : product::archives())
    if (out.productLevel.empty() && info->checkFeatures(archive.features)) out.productLevel = archive.level;
  for (const product::BodyRow &body : product::bodies()) {
    if (!info->checkFeatures(body.features)) continue;
    out.productBodies.try_emplace(body.dtype, body.name);
    if (body.isChain) out.chainBodies.try_emplace(body.dtype, body.name);
  }
  return out;
}

Expected<CpuTarget> describeMachine(const codegen::LlvmMachine &machine) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
  });
  auto refuse = [](std::string why) { return Error{"E_TARGET_UNKNOWN", std::move(why), ""}; };
  const llvm::Triple triple(machine.triple);
  if (!triple.isArch64Bit() || !triple.isLittleEndian())
    return refuse("'" + machine.triple + "' is no triple of a 64-bit little-endian machine");
  std::string error;
  const llvm::Target *t = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!t) return refuse(error);
  std::unique_ptr<llvm::MCSubtargetInfo> info(t->createMCSubtargetInfo(triple, "", ""));
  // Asks the generic CPU: creating the info of an unknown CPU would print an error to stderr.
  if (!info || (!machine.cpu.empty() && !info->isCPUStringValid(machine.cpu)))
    return refuse("LLVM knows no processor '" + machine.cpu + "' of " + machine.triple);
  info.reset(t->createMCSubtargetInfo(triple, machine.cpu, machine.features));
  CpuTarget out;
  out.isOther = true;
  out.triple = machine.triple, out.cpu = machine.cpu, out.features = machine.features;
  out.vectorBytes = machine.vectorBytes, out.vectorRegisters = machine.vectorRegisters;
  out.hasFma =
      triple.isAArch64() || (triple.isX86() && info->checkFeatures("+fma") && info->checkFeatures("+f16c"));
  return out;
}

Expected<std::string> emitIr(mlir::ModuleOp module, const CpuTarget &target) {
  return emitFor(target,
                 [&](const emit::LlvmTarget &llvmTarget) { return emit::emitIr(module, llvmTarget); });
}

Expected<std::string> emitAssembly(mlir::ModuleOp module, const CpuTarget &target) {
  return emitFor(target, [&](const emit::LlvmTarget &llvmTarget) {
    return emit::emitFile(module, llvmTarget, llvm::CodeGenFileType::AssemblyFile);
  });
}

Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp> module,
                                               const CpuTarget &target) {
  return emitFor(target, [&](const emit::LlvmTarget &llvmTarget) {
    return emit::emitObjects(std::move(module), llvmTarget);
  });
}

} // namespace tessera::cpu
