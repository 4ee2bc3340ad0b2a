#include "compiler/codegen/emulate/VendorOps.h"
#include "compiler/codegen/emulate/Arithmetic.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>
#include <tessera/emulated.hpp>

using namespace mlir;

namespace tessera::emulate {
namespace {

/// The coordinate that an operation such as nvvm.read.ptx.sreg.tid.x reads.
std::optional<int32_t> coordinateOf(StringRef name) {
  if (name == "nvvm.read.ptx.sreg.laneid") return int32_t(Coordinate::Lane);
  if (name == "nvvm.read.ptx.sreg.warpid") return int32_t(Coordinate::Warp);
  static constexpr std::pair<StringLiteral, Coordinate> kFirst[] = {
      {"nvvm.read.ptx.sreg.tid.", Coordinate::Thread},     {"rocdl.workitem.id.", Coordinate::Thread},
      {"nvvm.read.ptx.sreg.ctaid.", Coordinate::Block},    {"rocdl.workgroup.id.", Coordinate::Block},
      {"nvvm.read.ptx.sreg.nctaid.", Coordinate::Grid},    {"rocdl.grid.dim.", Coordinate::Grid},
      {"nvvm.read.ptx.sreg.ntid.", Coordinate::BlockSize}, {"rocdl.workgroup.dim.", Coordinate::BlockSize},
  };
  for (const auto &[prefix, first] : kFirst)
    if (StringRef axis = name; axis.consume_front(prefix) && axis.size() == 1)
      return int32_t(first) + axis[0] - 'x';
  return std::nullopt;
}

/// Intel's built-in functions (size_t or void of an unsigned), by the first coordinate that they read.
std::optional<int32_t> builtinCoordinate(StringRef name) {
  return llvm::StringSwitch<std::optional<int32_t>>(name)
      .Case("_Z12get_local_idj", int32_t(Coordinate::Thread))
      .Case("_Z12get_group_idj", int32_t(Coordinate::Block))
      .Case("_Z14get_num_groupsj", int32_t(Coordinate::Grid))
      .Case("_Z14get_local_sizej", int32_t(Coordinate::BlockSize))
      .Default(std::nullopt);
}

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
      .Default(std::nullopt);
}

class Rewriter {
public:
  Rewriter(ImplicitLocOpBuilder &b, Operation *op, EmitCall call, llvm::function_ref<Value()> site)
      : b_(b), op_(op), call_(call), site_(site) {}

  bool run() {
    if (auto call = dyn_cast<LLVM::CallOp>(op_)) return builtin(call);
    if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op_)) return intrinsic(call);
    const StringRef name = op_->getName().getStringRef();
    if (isa<NVVM::RcpApproxFtzF32Op>(op_)) return replace(nearInverse(b_, op_->getOperand(0)));
    if (auto coordinate = coordinateOf(name))
      return replace(call_("tsr_emu_coordinate", i32(), constant(*coordinate), true));
    if (auto barrier = dyn_cast<NVVM::BarrierOp>(op_)) {
      if (barrier->getNumResults() && !barrier->use_empty()) return false; // a reduction
      if (barrier.getReductionOp()) return false;
      Value number = barrier.getBarrierId(), count = barrier.getNumberOfThreads();
      return blockBarrier(number ? number : constant(0), count ? count : constant(0));
    }
    if (isa<NVVM::Barrier0Op, ROCDL::SBarrierOp, ROCDL::BarrierOp>(op_)) return blockBarrier();
    if (name == "nvvm.bar.warp.sync")
      return call_("tsr_emu_warp_barrier", nullptr, {op_->getOperand(0), site_()}, false), erase();
    if (auto shuffle = dyn_cast<NVVM::ShflOp>(op_)) return shuffleOf(shuffle);
    if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op_)) {
      Value kind = constant(int32_t(vote.getKind()));
      Value predicate = LLVM::ZExtOp::create(b_, i32(), vote.getPred());
      return replace(call_("tsr_emu_vote", i32(), {kind, vote.getMask(), predicate, site_()}, false));
    }
    if (auto product = dyn_cast<NVVM::MmaOp>(op_)) return mma(product);
    if (auto load = dyn_cast<NVVM::LdMatrixOp>(op_)) return loadMatrix(load);
    if (auto product = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op_)) return sharedProduct(product);
    if (isa<NVVM::WgmmaFenceAlignedOp>(op_))
      return call_("tsr_emu_fence_products", nullptr, {}, false), erase();
    if (isa<NVVM::WgmmaGroupSyncAlignedOp>(op_))
      return call_("tsr_emu_commit_products", nullptr, {}, false), erase();
    if (auto wait = dyn_cast<NVVM::WgmmaWaitGroupSyncOp>(op_))
      return call_("tsr_emu_await_products", nullptr, constant(int32_t(wait.getGroup())), false), erase();
    if (auto fence = dyn_cast<NVVM::FenceProxyOp>(op_)) {
      if (fence.getKind() != NVVM::ProxyKind::async_shared && fence.getKind() != NVVM::ProxyKind::async)
        return false;
      return call_("tsr_emu_fence_proxy", nullptr, {}, false), erase();
    }
    if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op_)) return copyAsync(copy);
    if (isa<NVVM::CpAsyncCommitGroupOp>(op_))
      return call_("tsr_emu_commit_copies", nullptr, {}, false), erase();
    if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op_))
      return call_("tsr_emu_await_copies", nullptr, constant(int32_t(wait.getN())), false), erase();
    if (auto init = dyn_cast<NVVM::MBarrierInitOp>(op_)) {
      if (init.getPredicate()) return false;
      return call_("tsr_emu_init_arrivals", nullptr, {plain(init.getAddr()), init.getCount(), site_()},
                   false),
             erase();
    }
    if (auto expect = dyn_cast<NVVM::MBarrierArriveExpectTxOp>(op_)) {
      if (expect.getPredicate() || (expect->getNumResults() && !expect->use_empty())) return false;
      return call_("tsr_emu_expect_bytes", nullptr, {plain(expect.getAddr()), expect.getTxcount(), site_()},
                   false),
             erase();
    }
    if (auto wait = dyn_cast<NVVM::MBarrierTryWaitParityOp>(op_))
      return call_("tsr_emu_await_bytes", nullptr, {plain(wait.getAddr()), wait.getPhase(), site_()}, false),
             erase();
    if (auto arrive = dyn_cast<NVVM::MBarrierArriveOp>(op_)) {
      if (arrive.getCount() || arrive.getRelaxed() || (arrive->getNumResults() && !arrive->use_empty()))
        return false;
      return call_("tsr_emu_arrive", nullptr, {plain(arrive.getAddr()), site_()}, false), erase();
    }
    if (auto set = dyn_cast<NVVM::SetMaxRegisterOp>(op_)) {
      auto atEntry = op_->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<IntegerAttr>(
          NVVM::NVVMDialect::getMaxnregAttrName());
      if (!atEntry) return false;
      const bool increases = set.getAction() == NVVM::SetMaxRegisterAction::increase;
      return call_("tsr_emu_set_registers", nullptr,
                   {constant(int32_t(set.getRegCount())), constant(int32_t(atEntry.getInt())),
                    constant(increases), site_()},
                   false),
             erase();
    }
    if (isa<NVVM::FenceMbarrierInitOp>(op_))
      return call_("tsr_emu_fence_arrivals", nullptr, {}, false), erase();
    if (auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op_)) return copyBox(copy);
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
    if (name == "rocdl.ds_bpermute") { // the index counts bytes
      Value lane = LLVM::LShrOp::create(b_, op_->getOperand(0), constant(2));
      return exchange(op_->getOperand(1), lane, /*isXor=*/false);
    }
    if (name == "rocdl.readlane") return exchange(op_->getOperand(0), op_->getOperand(1), false);
    if (name == "rocdl.readfirstlane") return exchange(op_->getOperand(0), constant(0), false);
    return false;
  }

private:
  Type i32() { return b_.getI32Type(); }
  Value constant(int32_t value) { return LLVM::ConstantOp::create(b_, i32(), value); }
  bool erase() { return op_->erase(), true; }

  /// Replaces the operation's only result by `value`, converted to its type.
  bool replace(Value value) {
    Type wanted = op_->getResult(0).getType();
    if (value.getType() != wanted) {
      if (wanted.isInteger(1))
        value = LLVM::ICmpOp::create(b_, LLVM::ICmpPredicate::ne, value, constant(0));
      else if (isa<IntegerType>(wanted))
        value = LLVM::ZExtOp::create(b_, wanted, value);
      else
        value = LLVM::BitcastOp::create(b_, wanted, value);
    }
    op_->getResult(0).replaceAllUsesWith(value);
    return erase();
  }
  Value asI32(Value value) {
    return value.getType() == i32() ? value : LLVM::BitcastOp::create(b_, i32(), value).getResult();
  }

  bool blockBarrier() { return blockBarrier(constant(0), constant(0)); }
  bool blockBarrier(Value number, Value count) {
    return call_("tsr_emu_barrier", nullptr, {number, count, site_()}, false), erase();
  }

  /// Each lane of the warp gets the value of another one: of `lane`, or of its own number xor `lane`.
  bool exchange(Value value, Value lane, bool isXor) {
    if (value.getType().getIntOrFloatBitWidth() != 32) return false;
    return replace(call_("tsr_emu_exchange", i32(), {asI32(value), lane, constant(isXor), site_()}, false));
  }

  bool shuffleOf(NVVM::ShflOp shuffle) {
    if (shuffle.getReturnValueAndIsValid()) return false;
    return replace(call_("tsr_emu_shuffle", i32(),
                         {constant(int32_t(shuffle.getKind())), shuffle.getThreadMask(),
                          asI32(shuffle.getVal()), shuffle.getOffset(), shuffle.getMaskAndClamp(), site_()},
                         false));
  }

  /// Returns `bytes` bytes of the lane's stack, the same ones each time that the operation is executed.
  Value stack(int64_t bytes) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&op_->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
    Value count = LLVM::ConstantOp::create(b_, b_.getI64Type(), bytes);
    return LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), b_.getI8Type(), count, 16);
  }
  Value advance(Value place, int64_t bytes) {
    return LLVM::GEPOp::create(b_, place.getType(), b_.getI8Type(), place,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }
  static int64_t bytesOf(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
    return type.getIntOrFloatBitWidth() / 8;
  }
  /// Stores the values one after another.
  Value spill(ValueRange values) {
    int64_t bytes = 0;
    for (Value v : values)
      bytes += bytesOf(v.getType());
    Value place = stack(bytes);
    int64_t at = 0;
    for (Value v : values) {
      LLVM::StoreOp::create(b_, v, advance(place, at), /*alignment=*/2);
      at += bytesOf(v.getType());
    }
    return place;
  }
  /// Replaces the operation's result, one value or a struct of them, by what is stored at `place`.
  bool reload(Value place) {
    Type type = op_->getResult(0).getType();
    auto all = dyn_cast<LLVM::LLVMStructType>(type);
    Value result;
    if (!all) {
      result = LLVM::LoadOp::create(b_, type, place, /*alignment=*/2);
    } else {
      result = LLVM::UndefOp::create(b_, type);
      int64_t at = 0;
      for (auto [i, element] : llvm::enumerate(all.getBody())) {
        Value v = LLVM::LoadOp::create(b_, element, advance(place, at), /*alignment=*/2);
        result = LLVM::InsertValueOp::create(b_, result, v, int64_t(i));
        at += bytesOf(element);
      }
    }
    op_->getResult(0).replaceAllUsesWith(result);
    return erase();
  }

  bool multiply(MatrixInstruction instruction, ValueRange a, ValueRange b, ValueRange c) {
    Value sums = spill(c);
    call_("tsr_emu_multiply", nullptr, {constant(int32_t(instruction)), spill(a), spill(b), sums, site_()},
          false);
    return reload(sums);
  }

  bool mma(NVVM::MmaOp op) {
    const auto instruction = instructionOf(op);
    return instruction && multiply(*instruction, op.getOperandA(), op.getOperandB(), op.getOperandC());
  }
  static std::optional<MatrixInstruction> instructionOf(NVVM::MmaOp op) {
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

  bool sharedProduct(NVVM::WgmmaMmaAsyncOp op) {
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
                         op.getScaleA() == NVVM::WGMMAScaleIn::one &&
                         op.getScaleB() == NVVM::WGMMAScaleIn::one;
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

  /// A pointer to the host's memory, which has one address space.
  Value plain(Value pointer) {
    auto type = LLVM::LLVMPointerType::get(b_.getContext());
    return pointer.getType() == type ? pointer : LLVM::AddrSpaceCastOp::create(b_, type, pointer).getResult();
  }

  bool copyBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) {
    if (op.getMode() != NVVM::TMALoadMode::TILE || op.getMulticastMask() || op.getPredicate() ||
        op.getL2CacheHint() || op.getGroup())
      return false;
    call_("tsr_emu_copy_box", nullptr,
          {plain(op.getDstMem()), op.getTmaDescriptor(), spill(op.getCoordinates()), plain(op.getMbar()),
           site_()},
          false);
    return erase();
  }

  /// The address of tensor memory, an i32.
  Value tensorAddress(Value pointer) { return LLVM::PtrToIntOp::create(b_, i32(), pointer); }

  bool tensorMemory() {
    auto isOfOneBlock = [](auto op) { return op.getGroup() == NVVM::CTAGroupKind::CTA_1; };
    if (auto alloc = dyn_cast<NVVM::Tcgen05AllocOp>(op_)) {
      if (!isOfOneBlock(alloc)) return false;
      call_("tsr_emu_tensor_alloc", nullptr, {plain(alloc.getAddr()), alloc.getNCols(), site_()}, false);
    } else if (auto relinquish = dyn_cast<NVVM::Tcgen05RelinquishAllocPermitOp>(op_)) {
      if (!isOfOneBlock(relinquish)) return false;
      call_("tsr_emu_tensor_relinquish", nullptr, site_(), false);
    } else if (auto free = dyn_cast<NVVM::Tcgen05DeallocOp>(op_)) {
      if (!isOfOneBlock(free)) return false;
      call_("tsr_emu_tensor_free", nullptr, {tensorAddress(free.getTaddr()), free.getNCols(), site_()},
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
            {kind, tensorAddress(product.getMatrixD()), product.getMatrixA(), product.getMatrixB(),
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
            {tensorAddress(load.getTmemAddr()), constant(int32_t(isHalf ? count * 2 : count)),
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

  bool copyAsync(NVVM::CpAsyncOp op) {
    Value bytes = constant(int32_t(op.getSize())), copied = op.getCpSize() ? op.getCpSize() : bytes;
    call_("tsr_emu_copy_async", nullptr, {plain(op.getDst()), plain(op.getSrc()), bytes, copied, site_()},
          false);
    return erase();
  }

  bool loadMatrix(NVVM::LdMatrixOp op) {
    const auto shape = op.getShape();
    if (shape.getM() != 8 || shape.getN() != 8 || op.getEltType() != NVVM::LdStMatrixEltType::B16)
      return false;
    Value row = LLVM::AddrSpaceCastOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), op.getPtr());
    Value words = stack(int64_t(op.getNum()) * 4);
    call_("tsr_emu_load_matrix", nullptr,
          {row, constant(int32_t(op.getNum())), constant(op.getLayout() == NVVM::MMALayout::col), words,
           site_()},
          false);
    return reload(words);
  }

  bool builtin(LLVM::CallOp call) {
    const StringRef name = call.getCallee().value_or("");
    if (auto first = builtinCoordinate(name)) {
      Value which = LLVM::AddOp::create(b_, call.getArgOperands()[0], constant(*first));
      return replace(call_("tsr_emu_coordinate", i32(), which, true));
    }
    if (name == "_Z7barrierj") return blockBarrier();
    if (auto instruction = instructionOfIntel(name)) {
      auto operands = call.getArgOperands();
      return multiply(*instruction, operands[0], operands[1], operands[2]);
    }
    if (StringRef rest = name; rest.consume_front("_Z27intel_sub_group_shuffle_xor") && rest.size() == 2)
      return exchange(call.getArgOperands()[0], call.getArgOperands()[1], true);
    if (StringRef rest = name; rest.consume_front("_Z23intel_sub_group_shuffle") && rest.size() == 2)
      return exchange(call.getArgOperands()[0], call.getArgOperands()[1], false);
    return false;
  }

  bool intrinsic(LLVM::CallIntrinsicOp call) {
    // Products of fp8 have no operation; their operands are those of nvvm.mma.sync.
    StringRef dtypes = call.getIntrin();
    if (dtypes.consume_front("llvm.nvvm.mma.m16n8k32.row.col.f32.") && call.getNumOperands() == 10) {
      const auto all = call.getArgs();
      if (dtypes == "e4m3.e4m3.f32" || dtypes == "e5m2.e5m2.f32")
        return multiply(dtypes[1] == '4' ? MatrixInstruction::Mma16x8x32E4M3
                                         : MatrixInstruction::Mma16x8x32E5M2,
                        all.take_front(4), all.slice(4, 2), all.take_back(4));
    }
    if (call.getIntrin() != "llvm.amdgcn.implicitarg.ptr") return false;
    return replace(call_("tsr_emu_implicit_arguments", call.getResult(0).getType(), {}, true));
  }

  ImplicitLocOpBuilder &b_;
  Operation *op_;
  EmitCall call_;
  llvm::function_ref<Value()> site_;
};

} // namespace

bool rewriteVendorOp(ImplicitLocOpBuilder &b, Operation *op, EmitCall call,
                     llvm::function_ref<Value()> site) {
  return Rewriter(b, op, call, site).run();
}

} // namespace tessera::emulate
