// Code generation for NVIDIA GPUs: NVVM operations, then PTX text. The driver assembles PTX itself, so PTX is
// also the object format, and ptxas is never needed.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "plugins/ptx/Architectures.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace tessera::ptx {
namespace {

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeNVPTXTargetInfo, LLVMInitializeNVPTXTarget,
                           LLVMInitializeNVPTXTargetMC, LLVMInitializeNVPTXAsmPrinter>;

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
    // Pairs of elements: words of bf16, vectors of f16.
    auto pairs = [&](Value v) {
      const int64_t count = cast<VectorType>(v.getType()).getDimSize(0) / 2;
      Value words = vector::BitCastOp::create(b, VectorType::get({count}, b.getI32Type()), v);
      SmallVector<Value> all;
      for (int64_t i = 0; i < count; ++i) {
        Value word = vector::ExtractOp::create(b, words, i);
        all.push_back(
            dtype == DType::BF16
                ? word
                : LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), word).getResult());
      }
      return all;
    };
    const auto kind = dtype == DType::BF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
    SmallVector<Type> sums(c.getTypes());
    Value result =
        NVVM::MmaOp::create(b, LLVM::LLVMStructType::getLiteral(b.getContext(), sums), pairs(x), pairs(y), c,
                            ArrayRef<int64_t>{f.m, f.n, f.k}, std::nullopt, std::nullopt,
                            std::array{kind, kind}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> elements;
    for (int64_t i = 0; i < int64_t(sums.size()); ++i)
      elements.push_back(LLVM::ExtractValueOp::create(b, result, i));
    return elements;
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

  void emitCopy(ImplicitLocOpBuilder &b, Value to, Value from) const override {
    NVVM::CpAsyncOp::create(b, to, from, 16, NVVM::LoadCacheModifierKind::CG, Value());
  }
  void emitCopyCommit(ImplicitLocOpBuilder &b) const override { NVVM::CpAsyncCommitGroupOp::create(b); }
  void emitCopyWait(ImplicitLocOpBuilder &b, int64_t pending) const override {
    NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(pending));
  }

  void markKernel(LLVM::LLVMFuncOp function, ArrayRef<int32_t> block,
                  const gpu::Architecture &) const override {
    Builder b(function.getContext());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr(block));
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &target) const override {
    initializeOnce();
    emit::LlvmTarget llvmTarget{triple().str(), std::string(target.name), std::string(target.features)};
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
