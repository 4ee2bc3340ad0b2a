// Code generation for Intel GPUs: OpenCL's built-in functions and SPIR-V, which the driver compiles.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "plugins/levelzero/Architectures.h"
#include "plugins/levelzero/codegen/ByteAtomics.h"
#include "plugins/levelzero/codegen/ExpandIntrinsics.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
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
/// (i32 word, i32 lane) -> i32, which LLVM makes an instruction of the extension SPV_INTEL_subgroups.
constexpr StringLiteral kShuffle = "_Z23intel_sub_group_shuffleij";

/// A product of the OpenCL extensions cl_intel_subgroup_matrix_multiply_accumulate and ..._accumulate_tf32,
/// by what it multiplies.
struct Dpas {
  StringLiteral instruction, dtype, name;
};
constexpr Dpas kDpas[] = {
    {"dpas.8x16x16", "bf16", "_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iDv8_f"},
    {"dpas.8x16x16", "f16", "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f"},
    {"dpas.8x16x32", "i8", "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_"},
    {"dpas.8x16x32", "u8", "_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_tDv8_jDv8_i"},
    {"dpas.8x16x8.tf32", "tf32", "_Z39intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fS0_"},
    {"dpas.8x8x16", "bf16", "_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_iS_Dv8_f"},
    {"dpas.8x8x16", "f16", "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f"},
    {"dpas.8x8x32", "i8", "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_iS_S_"},
    {"dpas.8x8x32", "u8", "_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_jS_Dv8_i"},
};

/// A function of Intel's compiler (i64 address, i32 width - 1, i32 height - 1, i32 pitch - 1, two i32 column
/// and row) for one message `load_block2d`, by what layout::BlockRead calls it. It returns 8 words. That of
/// cl_intel_subgroup_2d_block_io writes them to memory, and drivers of 2022 do not have it.
struct BlockFunction {
  StringLiteral read, name;
  unsigned wordBits;
};
constexpr BlockFunction kBlockFunctions[] = {
    {"u16_m8k16v1", "__builtin_IB_subgroup_block_read_flat_u16_m8k16v1", 16},
    {"u8_m8k32v1", "__builtin_IB_subgroup_block_read_flat_u8_m8k32v1", 16},
    {"transform_u16_k16", "__builtin_IB_subgroup_block_read_flat_transform_u16_k16", 32},
    {"transform_u8_k32", "__builtin_IB_subgroup_block_read_flat_transform_u8_k32", 32},
    {"transpose_u32_k8", "__builtin_IB_subgroup_block_read_flat_transpose_u32_k8", 32}};

/// OpenCL's functions that a device may approximate as it likes. There is none for tanh.
struct Native {
  gpu::Approximation which;
  StringLiteral name;
};
constexpr Native kNative[] = {{gpu::Approximation::Exp2, "_Z11native_exp2f"},
                              {gpu::Approximation::Log2, "_Z11native_log2f"},
                              {gpu::Approximation::Inverse, "_Z12native_recipf"},
                              {gpu::Approximation::Sqrt, "_Z11native_sqrtf"},
                              {gpu::Approximation::InverseSqrt, "_Z12native_rsqrtf"}};

/// LLVM's transformations of loops (closed forms of sums, strength reduction) compute with integers of any
/// width, which its SPIR-V generator widens to the next of SPIR-V's without masking them: an i5 becomes an
/// i8. So they do not run; the driver optimises loops for its device. The generator's own level is None for
/// the same reason.
constexpr StringLiteral kPasses = "cgscc(inline),function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,"
                                  "instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,"
                                  "licm),"
                                  "loop(loop-unroll-full),sroa<modify-cfg>,instcombine<no-verify-fixpoint>,"
                                  "gvn,sccp,adce,simplifycfg,instcombine<no-verify-fixpoint>),globaldce";

/// Shuffles are an extension, which LLVM emits only if this option of the process names it.
constexpr StringLiteral kShuffleExtension = "SPV_INTEL_subgroups";
bool hasShuffleExtension = false;
void allowExtensions() {
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("spirv-ext");
  hasShuffleExtension = option && !option->addOccurrence(0, "spirv-ext", ("+" + kShuffleExtension).str());
}

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeSPIRVTargetInfo, LLVMInitializeSPIRVTarget,
                           LLVMInitializeSPIRVTargetMC, LLVMInitializeSPIRVAsmPrinter, allowExtensions>;

/// A call of anything else would stay unresolved in the driver, so it is an error.
bool isBuiltin(std::string_view symbol) {
  const StringRef name(symbol);
  return llvm::is_contained({kLocalId, kGroupId, kGroupCount, kBarrier, kShuffle}, name) ||
         llvm::any_of(kDpas, [&](const Dpas &row) { return row.name == name; }) ||
         llvm::any_of(kBlockFunctions, [&](const BlockFunction &row) { return row.name == name; }) ||
         llvm::any_of(kNative, [&](const Native &row) { return row.name == name; });
}

bool hasInteger(unsigned bits) { return llvm::is_contained({1U, 8U, 16U, 32U, 64U}, bits); }

/// Emits a call of a built-in function, which is declared in the module around the insertion point. If all
/// lanes of a sub-group take part in it, it is `convergent`. It does to memory what `effect` says.
LLVM::CallOp callBuiltin(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands,
                         bool isConvergent, LLVM::ModRefInfo effect = LLVM::ModRefInfo::NoModRef) {
  Operation *module = b.getInsertionBlock()->getParentOp()->getParentOfType<mlir::gpu::GPUModuleOp>();
  auto function = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(module, b.getStringAttr(name));
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&module->getRegion(0).front());
    auto type = LLVM::LLVMFunctionType::get(result, SmallVector<Type>(operands.getTypes()));
    function =
        LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::External, false, LLVM::CConv::SPIR_FUNC);
    function.setNoUnwind(true);
    function.setWillReturn(true);
    function.setConvergent(isConvergent);
    if (effect != LLVM::ModRefInfo::ModRef)
      function.setMemoryEffectsAttr(
          LLVM::MemoryEffectsAttr::get(b.getContext(), SmallVector<LLVM::ModRefInfo>(6, effect)));
  }
  auto call = LLVM::CallOp::create(b, function, operands);
  call.setCConv(LLVM::CConv::SPIR_FUNC);
  call.setConvergent(isConvergent);
  return call;
}

/// The vector's elements as a vector of integers of `bits` bits. SPIR-V has vectors of 2, 3, 4, 8 and 16
/// elements only, so that the words are made one by one.
Value packed(ImplicitLocOpBuilder &b, Value elements, unsigned bits) {
  auto type = cast<VectorType>(elements.getType());
  const int64_t perWord = bits / type.getElementTypeBitWidth(), count = type.getDimSize(0) / perWord;
  Type word = b.getIntegerType(bits);
  auto all = VectorType::get({count}, word);
  if (perWord == 1) return vector::BitCastOp::create(b, all, elements);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> parts;
    for (int64_t j = 0; j < perWord; ++j)
      parts.push_back(vector::ExtractOp::create(b, elements, i * perWord + j));
    Value part = vector::FromElementsOp::create(b, VectorType::get({perWord}, type.getElementType()), parts);
    words.push_back(LLVM::BitcastOp::create(b, word, part));
  }
  return vector::FromElementsOp::create(b, all, words);
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
    return callBuiltin(b, name, b.getI64Type(), ValueRange{LLVM::ConstantOp::create(b, b.getI32Type(), dim)},
                       /*isConvergent=*/false)
        .getResult();
  }

  void emitBarrier(ImplicitLocOpBuilder &b) const override {
    callBuiltin(b, kBarrier, LLVM::LLVMVoidType::get(b.getContext()),
                ValueRange{LLVM::ConstantOp::create(b, b.getI32Type(), kLocalAndGlobalFence)},
                /*isConvergent=*/true, LLVM::ModRefInfo::ModRef);
  }

  Value emitApproximation(ImplicitLocOpBuilder &b, gpu::Approximation which, Value x) const override {
    const auto row = llvm::find_if(kNative, [&](const Native &n) { return n.which == which; });
    if (row == std::end(kNative)) return {};
    return callBuiltin(b, row->name, b.getF32Type(), x, /*isConvergent=*/false).getResult();
  }

  bool hasShuffles() const override { return true; }
  Value emitShuffle(ImplicitLocOpBuilder &b, Value word, Value lane) const override {
    return callBuiltin(b, kShuffle, b.getI32Type(), {word, lane}, /*isConvergent=*/true).getResult();
  }

  /// Rows of A are words of 16 bits in sub-groups of 16 lanes, of 32 bits in those of 8; two or four rows of
  /// B share a word of 32 bits, as block reads give them. Factors of tf32 stay floats.
  SmallVector<Value> emitProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                                 Value y, ValueRange c) const override {
    const Dpas &row = *llvm::find_if(kDpas, [&](const Dpas &d) {
      return d.instruction == StringRef(f.name) && d.dtype == StringRef(tessera::name(dtype));
    });
    auto type = VectorType::get({int64_t(c.size())}, c.front().getType());
    Value sums = vector::FromElementsOp::create(b, type, c);
    if (dtype != DType::TF32) x = packed(b, x, f.n == 16 ? 16 : 32), y = packed(b, y, 32);
    Value result = callBuiltin(b, row.name, type, {x, y, sums}, /*isConvergent=*/true).getResult();
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      elements.push_back(vector::ExtractOp::create(b, result, i));
    return elements;
  }

  Value emitBlockRead(ImplicitLocOpBuilder &b, const layout::BlockRead &read, const GlobalMatrix &matrix,
                      Value column, Value row) const override {
    const BlockFunction &function =
        *llvm::find_if(kBlockFunctions, [&](const BlockFunction &f) { return f.read == read.name; });
    Value one = LLVM::ConstantOp::create(b, b.getI32Type(), 1);
    auto last = [&](Value count) { return LLVM::SubOp::create(b, count, one).getResult(); };
    Value at =
        vector::FromElementsOp::create(b, VectorType::get({2}, b.getI32Type()), ValueRange{column, row});
    return callBuiltin(b, function.name, VectorType::get({8}, b.getIntegerType(function.wordBits)),
                       {matrix.address, last(matrix.width), last(matrix.height), last(matrix.pitch), at},
                       /*isConvergent=*/true, LLVM::ModRefInfo::Ref)
        .getResult();
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
    using enum LLVM::AtomicBinOp;
    if (type.isInteger(8) && (kind == _and || kind == _or)) return true; // widenByteAtomics
    if (type.getIntOrFloatBitWidth() < 32) return false;
    return !isa<FloatType>(type) || !kind || kind == LLVM::AtomicBinOp::xchg;
  }

  Expected<std::string> emitAssembly(ModuleOp module, const gpu::Architecture &) const override {
    return emit(module, llvm::CodeGenFileType::AssemblyFile);
  }
  /// LLVM 22 keeps the ids of labels from one module to the next, under the addresses of its functions: when
  /// an address is reused, ids are defined twice (llvm-project issue 160613). Such a module cannot be read
  /// back. It is emitted again while the addresses that are now free are occupied.
  Expected<std::string> emitObject(OwningOpRef<ModuleOp> module, const gpu::Architecture &) const override {
    constexpr int kAttempts = 16;
    std::vector<std::unique_ptr<std::byte[]>> taken;
    for (int attempt = 1;; ++attempt) {
      Expected<std::string> bytes = emit(*module, llvm::CodeGenFileType::ObjectFile);
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
    if (!hasShuffleExtension)
      return Error{"E_BACKEND",
                   "this LLVM generates no SPIR-V with the extension " + kShuffleExtension.str() +
                       ", by which lanes of levelzero exchange values",
                   "build with LLVM 22"};
    static std::mutex mutex; // LLVM's state is shared by the process
    std::lock_guard lock(mutex);
    emit::LlvmTarget llvmTarget{triple().str(), "", "", nullptr, isBuiltin};
    llvmTarget.passes = kPasses;
    llvmTarget.effort = llvm::CodeGenOptLevel::None;
    llvmTarget.hasInteger = hasInteger;
    auto expand = [](llvm::Module &ir) {
      expandIntrinsics(ir);
      widenByteAtomics(ir);
    };
    llvmTarget.finish = expand;
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
