// Code generation for NVIDIA GPUs: NVVM operations, then PTX text. The driver assembles PTX itself, so PTX is
// also the object format, and ptxas is never needed.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace tessera::ptx {
namespace {

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeNVPTXTargetInfo, LLVMInitializeNVPTXTarget,
                           LLVMInitializeNVPTXTargetMC, LLVMInitializeNVPTXAsmPrinter>;

constexpr int64_t K = 1024; // bytes of shared memory
constexpr gpu::Architecture kArchitectures[] = {
    {"sm_80", 256, 32, 48 * K, 163 * K, "block", "device", true},
    {"sm_90", 256, 32, 48 * K, 227 * K, "block", "device", true},
};

class Ptx final : public gpu::Vendor {
public:
  StringRef name() const override { return "ptx"; }
  ArrayRef<gpu::Architecture> architectures() const override { return kArchitectures; }
  ImageFormat format() const override { return ImageFormat::Ptx; }
  StringRef triple() const override { return "nvptx64-nvidia-cuda"; }
  StringRef features(const gpu::Architecture &target) const override {
    return target.name == "sm_80" ? "+ptx81" : "+ptx84"; // drivers of CUDA 12.1 and 12.4
  }
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

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block,
                  const gpu::Architecture &) const override {
    Builder b(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr(block));
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &target) const override {
    initializeOnce();
    emit::LlvmTarget llvmTarget{triple().str(), target.name.str(), features(target).str()};
    return emit::emitFile(module, llvmTarget, llvm::CodeGenFileType::AssemblyFile);
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
