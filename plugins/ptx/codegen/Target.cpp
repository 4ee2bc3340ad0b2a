#include "plugins/ptx/codegen/Target.h"
#include "compiler/target/emit/LlvmEmission.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <algorithm>
#include <mutex>

using namespace mlir;

namespace tessera::ptx {
namespace {

/// PTX names have no dots: the kernel mlp.g0 is mlp$g0 there.
void renameKernels(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.getName().contains('.')) {
      std::string name = function.getName().str();
      std::replace(name.begin(), name.end(), '.', '$');
      function.setName(name);
    }
}

void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

class Ptx final : public gpu::Vendor {
public:
  StringRef kind() const override { return "ptx"; }
  StringRef format() const override { return "ptx"; }
  StringRef triple() const override { return "nvptx64-nvidia-cuda"; }
  StringRef features(const gpu::GpuTarget &target) const override {
    return target.arch == "sm_80" ? "+ptx81" : "+ptx84"; // drivers of CUDA 12.1 and 12.4
  }
  void registerDialects(DialectRegistry &registry) const override {
    registerNVVMDialectTranslation(registry);
  }

  Value emitId(ImplicitLocOpBuilder &b, gpu::Id id, unsigned dim, int64_t bound) const override {
    Type i32 = b.getI32Type();
    auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, bound);
    auto make = [&]<typename X, typename Y, typename Z>() -> Value {
      if (dim == 0) return X::create(b, i32, range);
      if (dim == 1) return Y::create(b, i32, range);
      return Z::create(b, i32, range);
    };
    switch (id) {
    case gpu::Id::Thread:
      return make.operator()<NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>();
    case gpu::Id::Block:
      return make.operator()<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>();
    case gpu::Id::GridSize:
      return make.operator()<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>();
    }
    llvm_unreachable("all coordinates are listed");
  }

  void emitBarrier(ImplicitLocOpBuilder &b) const override { NVVM::BarrierOp::create(b); }

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block, const gpu::GpuTarget &) const override {
    Builder b(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr(block));
  }

  bool emitAssembly(ModuleOp module, const gpu::GpuTarget &target, std::string &text,
                    std::string &why) const override {
    initializeOnce();
    emit::LlvmTarget llvmTarget{triple().str(), target.arch.str(), features(target).str(), renameKernels};
    return emit::emitFile(module, llvmTarget, llvm::CodeGenFileType::AssemblyFile, text, why);
  }
  bool emitObject(ModuleOp module, const gpu::GpuTarget &target, std::string &bytes,
                  std::string &why) const override {
    return emitAssembly(module, target, bytes, why);
  }
};

} // namespace

const gpu::Vendor &vendor() {
  static const Ptx instance;
  return instance;
}

} // namespace tessera::ptx
