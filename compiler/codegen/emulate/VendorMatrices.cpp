// Matrix instructions, what they load, and tensor memory.
#include "compiler/codegen/emulate/VendorRewriter.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>
#include <regex>

using namespace mlir;

namespace tessera::emulate {
namespace {

std::optional<MatrixInstruction> instructionOfRocm(StringRef name) {
  using I = MatrixInstruction;
  return llvm::StringSwitch<std::optional<I>>(name)
      .Case("rocdl.mfma.f32.32x32x8bf16.1k", I::Mfma32x32x8Bf16)
      .Case("rocdl.mfma.f32.32x32x8f16", I::Mfma32x32x8F16)
      .Case("rocdl.mfma.f32.16x16x16bf16.1k", I::Mfma16x16x16Bf16)
      .Case("rocdl.mfma.f32.16x16x16f16", I::Mfma16x16x16F16)
      .Case("rocdl.mfma.f32.16x16x32.fp8.fp8", I::Mfma16x16x32E4M3Fnuz)
      .Case("rocdl.mfma.i32.32x32x8i8", I::Mfma32x32x8I8)
      .Case("rocdl.mfma.i32.16x16x16i8", I::Mfma16x16x16I8)
      .Case("rocdl.mfma.i32.32x32x16.i8", I::Mfma32x32x16I8)
      .Case("rocdl.mfma.i32.16x16x32.i8", I::Mfma16x16x32I8)
      .Case("rocdl.mfma.f64.16x16x4f64", I::Mfma16x16x4F64)
      .Case("rocdl.wmma.f32.16x16x16.bf16", I::Wmma16x16x16Bf16)
      .Case("rocdl.wmma.f32.16x16x16.f16", I::Wmma16x16x16F16)
      .Default(std::nullopt);
}

/// Intel's built-in products. The types of the left operand tell those of sub-groups of 16 and of 8 lanes
/// apart: a row is words of 16 or of 32 bits.
std::optional<MatrixInstruction> instructionOfIntel(StringRef name) {
  using I = MatrixInstruction;
  return llvm::StringSwitch<std::optional<I>>(name)
      .Case("_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iDv8_f", I::Dpas8x16x16Bf16)
      .Case("_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f", I::Dpas8x16x16F16)
      .Case("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_", I::Dpas8x16x32I8)
      .Case("_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_tDv8_jDv8_i", I::Dpas8x16x32U8)
      .Case("_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_iS_Dv8_f", I::Dpas8x8x16Bf16)
      .Case("_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f", I::Dpas8x8x16F16)
      .Case("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_iS_S_", I::Dpas8x8x32I8)
      .Case("_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_jS_Dv8_i", I::Dpas8x8x32U8)
      .Case("_Z39intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fS0_", I::Dpas8x16x8Tf32)
      .Default(std::nullopt);
}

/// Intel's built-in block reads.
std::optional<EmulatedBlockRead> blockReadOfIntel(StringRef name) {
  using R = EmulatedBlockRead;
  if (!name.consume_front("__builtin_IB_subgroup_block_read_flat_")) return std::nullopt;
  return llvm::StringSwitch<std::optional<R>>(name)
      .Case("u16_m8k16v1", R::U16M8K16)
      .Case("u8_m8k32v1", R::U8M8K32)
      .Case("transform_u16_k16", R::TransformU16K16)
      .Case("transform_u8_k32", R::TransformU8K32)
      .Case("transpose_u32_k8", R::TransposeU32K8)
      .Default(std::nullopt);
}

std::optional<MatrixInstruction> instructionOf(NVVM::MmaOp op) {
  using I = MatrixInstruction;
  using T = NVVM::MMATypes;
  struct Known {
    int m, n, k;
    T factor, sum;
    I instruction;
  };
  static constexpr Known kKnown[] = {
      {16, 8, 16, T::bf16, T::f32, I::Mma16x8x16Bf16}, {16, 8, 16, T::f16, T::f32, I::Mma16x8x16F16},
      {16, 8, 8, T::f16, T::f32, I::Mma16x8x8F16},     {16, 8, 8, T::tf32, T::f32, I::Mma16x8x8Tf32},
      {16, 8, 32, T::s8, T::s32, I::Mma16x8x32I8},     {16, 8, 32, T::u8, T::s32, I::Mma16x8x32U8},
      {8, 8, 16, T::s8, T::s32, I::Mma8x8x16I8},       {8, 8, 16, T::u8, T::s32, I::Mma8x8x16U8},
      {8, 8, 4, T::f64, T::f64, I::Mma8x8x4F64},
  };
  const auto shape = op.getShape();
  const auto a = op.getMultiplicandAPtxType(), b = op.getMultiplicandBPtxType();
  if (!a || a != b || op.getLayoutA() != NVVM::MMALayout::row || op.getLayoutB() != NVVM::MMALayout::col ||
      op.getIntOverflowBehavior().value_or(NVVM::MMAIntOverflow::wrapped) != NVVM::MMAIntOverflow::wrapped)
    return std::nullopt;
  for (const Known &row : kKnown)
    if (shape.getM() == row.m && shape.getN() == row.n && shape.getK() == row.k && *a == row.factor &&
        op.accumPtxType() == row.sum && op.resultPtxType() == row.sum)
      return row.instruction;
  return std::nullopt;
}

/// The address of tensor memory, an i32.
Value tensorAddress(ImplicitLocOpBuilder &b, Value pointer) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
}

} // namespace

bool VendorRewriter::forMatrices() {
  const StringRef name = op_->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallOp>(op_)) {
    if (const auto read = blockReadOfIntel(call.getCallee().value_or(""))) return readBlock(call, *read);
    const auto instruction = instructionOfIntel(call.getCallee().value_or(""));
    auto operands = call.getArgOperands();
    return instruction && multiply(*instruction, operands[0], operands[1], operands[2]);
  }
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op_)) return mmaOfFp8(call);
  if (auto product = dyn_cast<NVVM::MmaOp>(op_)) return mma(product);
  if (auto load = dyn_cast<NVVM::LdMatrixOp>(op_)) return loadMatrix(load);
  if (auto store = dyn_cast<NVVM::StMatrixOp>(op_)) return storeMatrix(store);
  if (auto product = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op_)) return sharedProduct(product);
  if (auto text = dyn_cast<LLVM::InlineAsmOp>(op_)) return heldProduct(text);
  if (isa<NVVM::WgmmaFenceAlignedOp>(op_)) return become("tsr_emu_fence_products", {});
  if (isa<NVVM::WgmmaGroupSyncAlignedOp>(op_)) return become("tsr_emu_commit_products", {});
  if (auto wait = dyn_cast<NVVM::WgmmaWaitGroupSyncOp>(op_))
    return become("tsr_emu_await_products", constant(int32_t(wait.getGroup())));
  if (name.starts_with("nvvm.tcgen05.")) return tensorMemory();
  if (auto instruction = instructionOfRocm(name))
    return multiply(*instruction, op_->getOperand(0), op_->getOperand(1), op_->getOperand(2));
  if (auto product = dyn_cast<ROCDL::wmma_i32_16x16x16_iu8>(op_)) {
    if (product.getSignA() != product.getSignB() || product.getClamp()) return false;
    return multiply(product.getSignA() ? MatrixInstruction::Wmma16x16x16I8
                                       : MatrixInstruction::Wmma16x16x16U8,
                    product.getA(), product.getB(), product.getC());
  }
  if (auto convert = dyn_cast<NVVM::ConvertFloatToTF32Op>(op_)) {
    if (convert.getRnd() != NVVM::FPRoundingMode::RNA || convert.getRelu() ||
        convert.getSat() != NVVM::SaturationMode::NONE)
      return false;
    return replace(call_("tsr_emu_to_tf32", i32(), convert.getSrc(), true));
  }
  return false;
}

bool VendorRewriter::multiply(MatrixInstruction instruction, ValueRange a, ValueRange b, ValueRange c) {
  Value sums = spill(c);
  call_("tsr_emu_multiply", nullptr, {constant(int32_t(instruction)), spill(a), spill(b), sums, site_()},
        false);
  return reload(sums);
}

bool VendorRewriter::readBlock(LLVM::CallOp call, EmulatedBlockRead read) {
  auto arguments = call.getArgOperands();
  auto coordinate = [&](int32_t axis) -> Value {
    return LLVM::ExtractElementOp::create(b_, arguments[4], constant(axis));
  };
  auto type = cast<VectorType>(call.getResult().getType());
  Value words = stack(type.getNumElements() * type.getElementTypeBitWidth() / 8);
  call_("tsr_emu_read_block", nullptr,
        {constant(int32_t(read)), arguments[0], arguments[1], arguments[2], arguments[3], coordinate(0),
         coordinate(1), words, site_()},
        false);
  return reload(words);
}

bool VendorRewriter::mma(NVVM::MmaOp op) {
  const auto instruction = instructionOf(op);
  return instruction && multiply(*instruction, op.getOperandA(), op.getOperandB(), op.getOperandC());
}

/// Products of fp8 have no operation; their operands are those of nvvm.mma.sync.
bool VendorRewriter::mmaOfFp8(LLVM::CallIntrinsicOp call) {
  StringRef dtypes = call.getIntrin();
  if (!dtypes.consume_front("llvm.nvvm.mma.m16n8k32.row.col.f32.") || call.getNumOperands() != 10)
    return false;
  if (dtypes != "e4m3.e4m3.f32" && dtypes != "e5m2.e5m2.f32") return false;
  const auto all = call.getArgs();
  return multiply(dtypes[1] == '4' ? MatrixInstruction::Mma16x8x32E4M3 : MatrixInstruction::Mma16x8x32E5M2,
                  all.take_front(4), all.slice(4, 2), all.take_back(4));
}

bool VendorRewriter::loadMatrix(NVVM::LdMatrixOp op) {
  const auto shape = op.getShape();
  if (shape.getM() != 8 || shape.getN() != 8 || op.getEltType() != NVVM::LdStMatrixEltType::B16) return false;
  Value row = LLVM::AddrSpaceCastOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), op.getPtr());
  Value words = stack(int64_t(op.getNum()) * 4);
  call_(
      "tsr_emu_load_matrix", nullptr,
      {row, constant(int32_t(op.getNum())), constant(op.getLayout() == NVVM::MMALayout::col), words, site_()},
      false);
  return reload(words);
}

bool VendorRewriter::storeMatrix(NVVM::StMatrixOp op) {
  const auto shape = op.getShape();
  if (shape.getM() != 8 || shape.getN() != 8 || op.getEltType() != NVVM::LdStMatrixEltType::B16) return false;
  return become("tsr_emu_store_matrix",
                {plain(op.getPtr()), constant(int32_t(op.getSources().size())),
                 constant(op.getLayout() == NVVM::MMALayout::col), spill(op.getSources()), site_()});
}

bool VendorRewriter::sharedProduct(NVVM::WgmmaMmaAsyncOp op) {
  const auto shape = op.getShape();
  const NVVM::WGMMATypes type = op.getTypeA();
  using I = MatrixInstruction;
  using T = NVVM::WGMMATypes;
  struct Known {
    T factor;
    int k;
    I instruction;
  };
  static constexpr Known kKnown[] = {{T::bf16, 16, I::Wgmma64xNx16Bf16},
                                     {T::f16, 16, I::Wgmma64xNx16F16},
                                     {T::e4m3, 32, I::Wgmma64xNx32E4M3},
                                     {T::e5m2, 32, I::Wgmma64xNx32E5M2},
                                     {T::tf32, 8, I::Wgmma64xNx8Tf32}};
  const auto *row = llvm::find_if(kKnown, [&](const Known &known) { return known.factor == type; });
  const bool isKnown = row != std::end(kKnown) && shape.getM() == 64 && shape.getK() == row->k &&
                       op.getTypeB() == type && op.getTypeD() == T::f32 &&
                       op.getScaleA() == NVVM::WGMMAScaleIn::one && op.getScaleB() == NVVM::WGMMAScaleIn::one;
  if (!isKnown) return false;
  const int32_t flags = (op.getLayoutA() == NVVM::MMALayout::row ? 1 : 0) |
                        (op.getLayoutB() == NVVM::MMALayout::col ? 2 : 0) |
                        (op.getScaleD() == NVVM::WGMMAScaleOut::one ? 4 : 0);
  auto number = op->getAttrOfType<IntegerAttr>(kProductNumber);
  Value sums = stack(int64_t(shape.getN()) * 2);
  LLVM::StoreOp::create(b_, op.getInouts(), sums, /*alignment=*/4);
  call_("tsr_emu_shared_product", nullptr,
        {constant(int32_t(row->instruction)), constant(int32_t(shape.getN())), constant(flags),
         constant(int32_t(number.getInt())), op.getDescriptorA(), op.getDescriptorB(), sums, site_()},
        false);
  op.replaceAllUsesWith(LLVM::LoadOp::create(b_, op.getType(), sums, /*alignment=*/4).getResult());
  return erase();
}

/// wgmma with A in registers, for which NVVM has no operation.
bool VendorRewriter::heldProduct(LLVM::InlineAsmOp op) {
  static const std::regex form(
      R"(\{\n\.reg \.pred p;\nsetp\.ne\.b32 p, ([01]), 0;\nwgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16)"
      R"(\.f32\.(bf16|f16)\.(bf16|f16) \{([^}]*)\}, \{([^}]*)\}, \$(\d+), p, 1, 1, ([01]);\n\}\n)");
  const std::string text = op.getAsmString().str();
  std::smatch found;
  if (!std::regex_match(text, found, form) || found[3] != found[4]) return false;
  const auto columns = unsigned(std::stoul(found[2])), count = columns / 2;
  auto registers = [](unsigned first, unsigned number) {
    std::string all;
    for (unsigned i = first; i < first + number; ++i)
      all += (i > first ? ", $" : "$") + std::to_string(i);
    return all;
  };
  auto number = op->getAttrOfType<IntegerAttr>(kProductNumber);
  if (op.getNumOperands() != count + 5 || found[5] != registers(0, count) || !number ||
      found[6] != registers(2 * count, 4) || found[7] != std::to_string(2 * count + 4))
    return false;
  using I = MatrixInstruction;
  const int32_t flags = 1 | (found[8] == "0" ? 2 : 0) | (found[1] == "1" ? 4 : 0);
  Value sums = spill(op.getOperands().take_front(count));
  call_("tsr_emu_held_product", nullptr,
        {constant(int32_t(found[3] == "bf16" ? I::Wgmma64xNx16Bf16 : I::Wgmma64xNx16F16)),
         constant(int32_t(columns)), constant(flags), constant(int32_t(number.getInt())),
         spill(op.getOperands().slice(count, 4)), op.getOperands().back(), sums, site_()},
        false);
  return reload(sums);
}

bool VendorRewriter::tensorMemory() {
  auto isOfOneBlock = [](auto op) { return op.getGroup() == NVVM::CTAGroupKind::CTA_1; };
  if (auto alloc = dyn_cast<NVVM::Tcgen05AllocOp>(op_)) {
    if (!isOfOneBlock(alloc)) return false;
    call_("tsr_emu_tensor_alloc", nullptr, {plain(alloc.getAddr()), alloc.getNCols(), site_()}, false);
  } else if (auto relinquish = dyn_cast<NVVM::Tcgen05RelinquishAllocPermitOp>(op_)) {
    if (!isOfOneBlock(relinquish)) return false;
    call_("tsr_emu_tensor_relinquish", nullptr, site_(), false);
  } else if (auto free = dyn_cast<NVVM::Tcgen05DeallocOp>(op_)) {
    if (!isOfOneBlock(free)) return false;
    call_("tsr_emu_tensor_free", nullptr, {tensorAddress(b_, free.getTaddr()), free.getNCols(), site_()},
          false);
  } else if (auto product = dyn_cast<NVVM::Tcgen05MMAOp>(op_)) {
    using Kind = NVVM::Tcgen05MMAKind;
    using I = MatrixInstruction;
    const Kind known = product.getKind();
    if ((known != Kind::I8 && known != Kind::F16 && known != Kind::F8F6F4 && known != Kind::TF32) ||
        product.getCtaGroup() != NVVM::CTAGroupKind::CTA_1 || product.getAShift() ||
        product.getScaleInputD() || product.getDisableOutputLane() ||
        !product.getMatrixA().getType().isInteger(64))
      return false;
    Value kind = constant(int32_t(known == Kind::I8       ? I::Tcgen05MxNx32I8
                                  : known == Kind::F8F6F4 ? I::Tcgen05MxNx32E4M3
                                  : known == Kind::TF32   ? I::Tcgen05MxNx8Tf32
                                                          : I::Tcgen05MxNx16F16));
    Value adds = LLVM::ZExtOp::create(b_, i32(), product.getEnableInputD());
    call_("tsr_emu_tensor_product", nullptr,
          {kind, tensorAddress(b_, product.getMatrixD()), product.getMatrixA(), product.getMatrixB(),
           product.getIdesc(), adds, site_()},
          false);
  } else if (auto commit = dyn_cast<NVVM::Tcgen05CommitOp>(op_)) {
    if (commit.getMulticastMask() || !isOfOneBlock(commit)) return false;
    call_("tsr_emu_tensor_commit", nullptr, {plain(commit.getAddr()), site_()}, false);
  } else if (auto load = dyn_cast<NVVM::Tcgen05LdOp>(op_)) {
    const bool isHalf = load.getShape() == NVVM::Tcgen05LdStShape::SHAPE_16X256B;
    if ((!isHalf && load.getShape() != NVVM::Tcgen05LdStShape::SHAPE_32X32B) || load.getPack() ||
        load.getOffset())
      return false;
    auto vector = dyn_cast<VectorType>(load.getType());
    const int64_t count = vector ? vector.getNumElements() : 1;
    auto number = op_->getAttrOfType<IntegerAttr>(kProductNumber);
    Value words = stack(count * 4);
    call_("tsr_emu_tensor_load", nullptr,
          {tensorAddress(b_, load.getTmemAddr()), constant(int32_t(isHalf ? count * 2 : count)),
           constant(isHalf), words, constant(int32_t(number.getInt())), site_()},
          false);
    return reload(words);
  } else if (auto wait = dyn_cast<NVVM::Tcgen05WaitOp>(op_)) {
    if (wait.getKind() != NVVM::Tcgen05WaitKind::LOAD) return false;
    call_("tsr_emu_tensor_await_loads", nullptr, {}, false);
  } else if (auto fence = dyn_cast<NVVM::Tcgen05FenceOp>(op_)) {
    call_("tsr_emu_tensor_fence", nullptr,
          constant(fence.getKind() == NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC), false);
  } else {
    return false;
  }
  return erase();
}

} // namespace tessera::emulate
