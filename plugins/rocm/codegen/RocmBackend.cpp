// Code generation for AMD GPUs: ROCDL operations, then AMDGCN machine code, linked in this process to the
// shared object (HSACO) that the driver loads.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/Linker.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "plugins/rocm/Architectures.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace tessera::rocm {
namespace {

/// ROCm 5.7 and later load version 5; LLVM's default requires a newer driver.
constexpr uint32_t kCodeObjectVersion = 500;
constexpr unsigned kConstantSpace = 4;

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeAMDGPUTargetInfo, LLVMInitializeAMDGPUTarget,
                           LLVMInitializeAMDGPUTargetMC, LLVMInitializeAMDGPUAsmPrinter>;

struct GridSize {
  /// The numbers of blocks, three i32, are the first hidden arguments of code object version 5.
  static Value emit(ImplicitLocOpBuilder &b, unsigned dim, int64_t) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kConstantSpace);
    Value hidden = LLVM::CallIntrinsicOp::create(b, pointer, b.getStringAttr("llvm.amdgcn.implicitarg.ptr"),
                                                 ValueRange())
                       .getResults();
    Value address =
        LLVM::GEPOp::create(b, pointer, b.getI32Type(), hidden, ArrayRef<LLVM::GEPArg>{int32_t(dim)});
    return LLVM::LoadOp::create(b, b.getI32Type(), address, 4);
  }
};

class Rocm final : public gpu::Vendor {
public:
  StringRef name() const override { return "rocm"; }
  ArrayRef<gpu::Architecture> architectures() const override { return kArchitectures; }
  ImageFormat format() const override { return ImageFormat::Hsaco; }
  StringRef triple() const override { return "amdgcn-amd-amdhsa"; }
  void registerDialects(DialectRegistry &registry) const override {
    registerROCDLDialectTranslation(registry);
  }

  Value emitId(ImplicitLocOpBuilder &b, gpu::Id id, unsigned dim, int64_t bound) const override {
    return gpu::emitIdBy<gpu::CoordinateOps<ROCDL::ThreadIdXOp, ROCDL::ThreadIdYOp, ROCDL::ThreadIdZOp>,
                         gpu::CoordinateOps<ROCDL::BlockIdXOp, ROCDL::BlockIdYOp, ROCDL::BlockIdZOp>,
                         GridSize>(b, id, dim, bound);
  }

  void emitBarrier(ImplicitLocOpBuilder &b) const override {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, "workgroup");
    ROCDL::SBarrierOp::create(b);
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acquire, "workgroup");
  }

  SmallVector<Value> emitProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                                 Value y, ValueRange c) const override {
    auto type = VectorType::get({int64_t(c.size())}, b.getF32Type());
    Value sums = vector::FromElementsOp::create(b, type, c), result;
    const StringRef name = f.name;
    const bool isBf16 = dtype == DType::BF16;
    if (name == "wmma.16x16x16") {
      result = isBf16 ? ROCDL::wmma_f32_16x16x16_bf16::create(b, type, x, y, sums).getResult()
                      : ROCDL::wmma_f32_16x16x16_f16::create(b, type, x, y, sums).getResult();
    } else {
      Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0)); // no broadcast, no permutation
      const SmallVector<Value> operands = {x, y, sums, zero, zero, zero};
      if (name == "mfma.32x32x8")
        result = isBf16 ? ROCDL::mfma_f32_32x32x8bf16_1k::create(b, type, operands).getResult()
                        : ROCDL::mfma_f32_32x32x8f16::create(b, type, operands).getResult();
      else
        result = isBf16 ? ROCDL::mfma_f32_16x16x16bf16_1k::create(b, type, operands).getResult()
                        : ROCDL::mfma_f32_16x16x16f16::create(b, type, operands).getResult();
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      elements.push_back(vector::ExtractOp::create(b, result, i));
    return elements;
  }

  bool hasShuffles() const override { return true; }
  Value emitShuffle(ImplicitLocOpBuilder &b, Value word, Value lane) const override {
    Value bytes = LLVM::ShlOp::create(b, lane, LLVM::ConstantOp::create(b, b.getI32Type(), 2));
    return ROCDL::DsBpermuteOp::create(b, b.getI32Type(), bytes, word);
  }

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block, int64_t,
                  const gpu::Architecture &) const override {
    Builder b(function.getContext());
    std::string threads = std::to_string(int64_t(block[0]) * block[1] * block[2]);
    function->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(ROCDL::ROCDLDialect::getReqdWorkGroupSizeAttrName(), b.getDenseI32ArrayAttr(block));
    function->setAttr(ROCDL::ROCDLDialect::getFlatWorkGroupSizeAttrName(),
                      b.getStringAttr(threads + "," + threads));
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &target) const override {
    return emit(module, target, llvm::CodeGenFileType::AssemblyFile);
  }
  Expected<std::string> emitObject(ModuleOp module, const gpu::Architecture &target) const override {
    Expected<std::string> object = emit(module, target, llvm::CodeGenFileType::ObjectFile);
    if (!object) return object;
    emit::MemoryFile input(*object);
    if (!input.good()) return Error{"E_BACKEND", "no memory file for the linker", ""};
    return emit::link({"-shared", "--no-undefined", input.path()});
  }

private:
  Expected<std::string> emit(ModuleOp module, const gpu::Architecture &target,
                             llvm::CodeGenFileType type) const {
    initializeOnce();
    auto prepare = [](llvm::Module &ir) {
      ir.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
    };
    emit::LlvmTarget llvmTarget{triple().str(), std::string(target.name), std::string(target.features),
                                prepare};
    return emit::emitFile(module, llvmTarget, type);
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const Rocm instance;
  return instance;
}

} // namespace tessera::rocm
