// Code generation for AMD GPUs: ROCDL operations, then AMDGCN machine code, linked in this process to the
// shared object (HSACO) that the driver loads.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/Linker.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/CoordinateOp.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "plugins/rocm/Architectures.h"
#include "plugins/rocm/codegen/MergeMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include <deque>

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

/// fp8_e4m3 as OCP defines it, in words (a vector of i32), to the FNUZ numbers of CDNA 3 with the same bits.
/// There a NaN has the bits of -0, and -0 does not exist.
Value toFnuz(ImplicitLocOpBuilder &b, Value words) {
  auto all = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<VectorType>(words.getType()), llvm::APInt(32, bits)));
  };
  auto andOf = [&](Value x, Value y) { return arith::AndIOp::create(b, x, y).getResult(); };
  auto inverse = [&](Value x) { return arith::XOrIOp::create(b, x, all(~0u)).getResult(); };
  Value signs = all(0x80808080), magnitudes = andOf(words, all(0x7f7f7f7f));
  // The highest bit of each byte: is it +-0, is it a NaN?
  Value zeros = andOf(inverse(arith::AddIOp::create(b, magnitudes, all(0x7f7f7f7f))), signs);
  Value nans = andOf(arith::AddIOp::create(b, magnitudes, all(0x01010101)), signs);
  Value low = arith::SubIOp::create(b, nans, arith::ShRUIOp::create(b, nans, all(7)));
  Value numbers = andOf(andOf(words, inverse(zeros)), inverse(low));
  return arith::OrIOp::create(b, numbers, nans);
}

/// Sums + a b of u8 by instructions of i8, of which CDNA has no others: for each element,
/// a b = (a - 128) (b - 128) - 128 (127 - a) - 128 (127 - b) + 16128. All factors are i8: a - 128 is a with
/// its highest bit inverted, 127 - a with all others inverted.
Value productOfU8(ImplicitLocOpBuilder &b, Value x, Value y, Value sums, int64_t depth,
                  llvm::function_ref<Value(Value, Value, Value)> product) {
  auto all = [&](Type type, int64_t bits) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               cast<VectorType>(type),
               llvm::APInt(cast<VectorType>(type).getElementTypeBitWidth(), bits, true, true)));
  };
  auto inverted = [&](Value v, int64_t bits) -> Value {
    return arith::XOrIOp::create(b, v, all(v.getType(), bits));
  };
  constexpr int64_t kHighest = -128, kOthers = 127;
  sums = arith::AddIOp::create(b, sums, all(sums.getType(), 16128 * depth));
  sums = product(inverted(x, kOthers), all(y.getType(), -128), sums);
  sums = product(all(x.getType(), -128), inverted(y, kOthers), sums);
  return product(inverted(x, kHighest), inverted(y, kHighest), sums);
}

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

  /// LLVM makes shifts and ORs of shuffles of bytes.
  bool permutesBytes() const override { return true; }
  Value emitBytes(ImplicitLocOpBuilder &b, Value low, Value high,
                  std::array<int64_t, 4> bytes) const override {
    int64_t selector = 0;
    for (int64_t i = 0; i < 4; ++i)
      selector |= bytes[size_t(i)] << 8 * i;
    Value order = LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(selector)));
    return LLVM::CallIntrinsicOp::create(b, b.getI32Type(), b.getStringAttr("llvm.amdgcn.perm"),
                                         ValueRange{high, low, order})
        .getResult(0);
  }

  void emitPriority(ImplicitLocOpBuilder &b, bool isHigh) const override {
    ROCDL::SetPrioOp::create(b, uint16_t(isHigh));
  }

  Value emitApproximation(ImplicitLocOpBuilder &b, gpu::Approximation which, Value x) const override {
    Type type = b.getF32Type();
    switch (which) {
    case gpu::Approximation::Exp2:
      return ROCDL::ROCDLExp2::create(b, type, x);
    case gpu::Approximation::Log2:
      return ROCDL::ROCDLLog::create(b, type, x);
    case gpu::Approximation::Inverse:
      return ROCDL::ROCDLRcp::create(b, type, x);
    case gpu::Approximation::Sqrt:
      return ROCDL::ROCDLSqrt::create(b, type, x);
    case gpu::Approximation::InverseSqrt:
      return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr("llvm.amdgcn.rsq"), ValueRange{x})
          .getResult(0);
    case gpu::Approximation::Tanh:
      return {};
    }
    llvm_unreachable("unknown approximation");
  }

  SmallVector<Value> emitProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                                 Value y, ValueRange c) const override {
    auto type = VectorType::get({int64_t(c.size())}, c.front().getType());
    Value sums = vector::FromElementsOp::create(b, type, c), result;
    const StringRef name = f.name;
    const bool isBf16 = dtype == DType::BF16;
    // Elements of 8 bits are in words, or in one integer; single f64 are no vectors.
    auto words = [&](Value v, Type element) {
      auto own = cast<VectorType>(v.getType());
      const int64_t bits = own.getDimSize(0) * own.getElementTypeBitWidth();
      const auto as = VectorType::get({bits / element.getIntOrFloatBitWidth()}, element);
      return vector::BitCastOp::create(b, as, v).getResult();
    };
    auto single = [&](Value v) { return vector::ExtractOp::create(b, v, 0).getResult(); };
    if (name == "wmma.16x16x16") {
      result = isBf16 ? ROCDL::wmma_f32_16x16x16_bf16::create(b, type, x, y, sums).getResult()
                      : ROCDL::wmma_f32_16x16x16_f16::create(b, type, x, y, sums).getResult();
    } else if (name == "wmma.16x16x16.i8") {
      const bool isSigned = dtype == DType::I8;
      result = ROCDL::wmma_i32_16x16x16_iu8::create(b, type, isSigned, words(x, b.getI32Type()), isSigned,
                                                    words(y, b.getI32Type()), sums)
                   .getResult();
    } else {
      Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0)); // no broadcast, no permutation
      auto mfma = [&]<typename Op>(Value left, Value right, Value added) {
        return Op::create(b, type, SmallVector<Value>{left, right, added, zero, zero, zero}).getResult();
      };
#define MFMA(OP, ...) mfma.template operator()<ROCDL::OP>(__VA_ARGS__)
      auto ofInteger = [&](Value v) {
        auto own = cast<VectorType>(v.getType());
        return single(words(v, b.getIntegerType(unsigned(own.getDimSize(0) * own.getElementTypeBitWidth()))));
      };
      if (name == "mfma.32x32x8")
        result = isBf16 ? MFMA(mfma_f32_32x32x8bf16_1k, x, y, sums) : MFMA(mfma_f32_32x32x8f16, x, y, sums);
      else if (name == "mfma.16x16x16")
        result = isBf16 ? MFMA(mfma_f32_16x16x16bf16_1k, x, y, sums) : MFMA(mfma_f32_16x16x16f16, x, y, sums);
      else if (name == "mfma.16x16x4")
        result = MFMA(mfma_f64_16x16x4f64, single(x), single(y), sums);
      else if (name.ends_with(".i8")) {
        auto product = [&](Value left, Value right, Value added) {
          left = ofInteger(left), right = ofInteger(right);
          return name == "mfma.32x32x8.i8"    ? MFMA(mfma_i32_32x32x8i8, left, right, added)
                 : name == "mfma.16x16x16.i8" ? MFMA(mfma_i32_16x16x16i8, left, right, added)
                 : name == "mfma.32x32x16.i8" ? MFMA(mfma_i32_32x32x16_i8, left, right, added)
                                              : MFMA(mfma_i32_16x16x32_i8, left, right, added);
        };
        result = dtype == DType::U8 ? productOfU8(b, x, y, sums, f.k, product) : product(x, y, sums);
      } else if (name == "mfma.16x16x32") {
        // The same bits are half the value in FNUZ, so that a product is a quarter.
        auto fnuz = [&](Value v) { return ofInteger(toFnuz(b, words(v, b.getI32Type()))); };
        auto all = [&](float value) {
          return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value)).getResult();
        };
        Value quarter = MFMA(mfma_f32_16x16x32_fp8_fp8, fnuz(x), fnuz(y), all(0));
        result = math::FmaOp::create(b, quarter, all(4), sums);
      } else {
        llvm_unreachable("no row of the table has it");
      }
#undef MFMA
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
    return emit::emitFile(module, machine(target), llvm::CodeGenFileType::AssemblyFile);
  }
  Expected<std::string> emitObject(OwningOpRef<ModuleOp> module,
                                   const gpu::Architecture &target) const override {
    Expected<std::vector<std::string>> objects = emit::emitObjects(std::move(module), machine(target));
    if (!objects) return objects.error();
    if (auto e = mergeMetadata(*objects)) return *e;
    std::deque<emit::MemoryFile> inputs;
    std::vector<std::string> words{"-shared", "--no-undefined"};
    for (const std::string &object : *objects) {
      if (!inputs.emplace_back(object).good()) return Error{"E_BACKEND", "no memory file for the linker", ""};
      words.push_back(inputs.back().path());
    }
    return emit::link(words);
  }

private:
  emit::LlvmTarget machine(const gpu::Architecture &target) const {
    initializeOnce();
    static constexpr auto kPrepare = [](llvm::Module &ir) {
      ir.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
    };
    emit::LlvmTarget machine{triple().str(), std::string(target.name), std::string(target.features),
                             kPrepare};
    machine.keepsCallees = true;
    return machine;
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const Rocm instance;
  return instance;
}

} // namespace tessera::rocm
