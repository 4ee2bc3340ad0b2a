// Coordinates, barriers and exchanges of lanes.
#include "compiler/codegen/emulate/Arithmetic.h"
#include "compiler/codegen/emulate/VendorRewriter.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>

using namespace mlir;

namespace tessera::emulate {
namespace {

/// The coordinate that an operation such as nvvm.read.ptx.sreg.tid.x reads.
std::optional<int32_t> coordinateOf(StringRef name) {
  if (name == "nvvm.read.ptx.sreg.laneid") return int32_t(Coordinate::Lane);
  if (name == "nvvm.read.ptx.sreg.warpid") return int32_t(Coordinate::Warp);
  if (name == "nvvm.read.ptx.sreg.cluster.ctarank") return int32_t(Coordinate::Rank);
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

/// What an instruction or a built-in function approximates; without a function: 1 / x. `known` is false for
/// any other operation.
struct Approximate {
  bool known = false;
  std::optional<Approximated> function;
};
Approximate approximationOf(Operation *op) {
  using A = Approximated;
  StringRef name = op->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallOp>(op)) name = call.getCallee().value_or("");
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op)) name = call.getIntrin();
  return llvm::StringSwitch<Approximate>(name)
      .Cases({"nvvm.rcp.approx.ftz.f", "rocdl.rcp", "_Z12native_recipf"}, {true, std::nullopt})
      .Cases({"llvm.nvvm.ex2.approx.ftz", "rocdl.exp2", "_Z11native_exp2f"}, {true, A::Exp2})
      .Cases({"llvm.nvvm.lg2.approx.ftz.f", "rocdl.log", "_Z11native_log2f"}, {true, A::Log2})
      .Cases({"llvm.nvvm.sqrt.approx.ftz.f", "rocdl.sqrt", "_Z11native_sqrtf"}, {true, A::Sqrt})
      .Cases({"llvm.nvvm.rsqrt.approx.ftz.f", "llvm.amdgcn.rsq", "_Z12native_rsqrtf"}, {true, A::InverseSqrt})
      .Case("llvm.intr.tanh", {true, A::Tanh})
      .Default({});
}

} // namespace

bool VendorRewriter::forThreads() {
  if (const Approximate near = approximationOf(op_); near.known) {
    Value x = op_->getOperand(0);
    if (!near.function) return replace(nearInverse(b_, x));
    return replace(call_("tsr_emu_approximate", i32(), {constant(int32_t(*near.function)), asI32(x)}, true));
  }
  if (auto call = dyn_cast<LLVM::CallOp>(op_)) return builtinForThreads(call);
  const StringRef name = op_->getName().getStringRef();
  if (auto coordinate = coordinateOf(name))
    return replace(call_("tsr_emu_coordinate", i32(), constant(*coordinate), true));
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op_)) {
    if (barrier->getNumResults() && !barrier->use_empty()) return false; // a reduction
    if (barrier.getReductionOp()) return false;
    Value number = barrier.getBarrierId(), count = barrier.getNumberOfThreads();
    return blockBarrier(number ? number : constant(0), count ? count : constant(0));
  }
  if (isa<ROCDL::SetPrioOp>(op_)) return erase(); // lanes take turns
  if (isa<NVVM::Barrier0Op, ROCDL::SBarrierOp, ROCDL::BarrierOp>(op_))
    return blockBarrier(constant(0), constant(0));
  if (isa<NVVM::ClusterArriveOp>(op_)) return become("tsr_emu_arrive_in_cluster", site_());
  if (isa<NVVM::ClusterWaitOp>(op_)) return become("tsr_emu_await_cluster", site_());
  if (auto map = dyn_cast<NVVM::MapaOp>(op_)) {
    Value there = call_("tsr_emu_map_to_rank", LLVM::LLVMPointerType::get(b_.getContext()),
                        {plain(map.getA()), map.getB(), site_()}, false);
    Type wanted = map.getRes().getType();
    if (there.getType() != wanted) there = LLVM::AddrSpaceCastOp::create(b_, wanted, there);
    map.getRes().replaceAllUsesWith(there);
    return erase();
  }
  if (name == "nvvm.bar.warp.sync") return become("tsr_emu_warp_barrier", {op_->getOperand(0), site_()});
  if (auto shuffled = dyn_cast<NVVM::ShflOp>(op_)) return shuffle(shuffled);
  if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op_)) {
    Value kind = constant(int32_t(vote.getKind()));
    Value predicate = LLVM::ZExtOp::create(b_, i32(), vote.getPred());
    return replace(call_("tsr_emu_vote", i32(), {kind, vote.getMask(), predicate, site_()}, false));
  }
  if (auto set = dyn_cast<NVVM::SetMaxRegisterOp>(op_)) {
    auto atEntry = op_->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<IntegerAttr>(
        NVVM::NVVMDialect::getMaxnregAttrName());
    if (!atEntry) return false;
    const bool increases = set.getAction() == NVVM::SetMaxRegisterAction::increase;
    return become("tsr_emu_set_registers",
                  {constant(int32_t(set.getRegCount())), constant(int32_t(atEntry.getInt())),
                   constant(increases), site_()});
  }
  if (name == "rocdl.ds_bpermute") { // the index counts bytes
    Value lane = LLVM::LShrOp::create(b_, op_->getOperand(0), constant(2));
    return exchange(op_->getOperand(1), lane, /*isXor=*/false);
  }
  if (name == "rocdl.readlane") return exchange(op_->getOperand(0), op_->getOperand(1), false);
  if (name == "rocdl.readfirstlane") return exchange(op_->getOperand(0), constant(0), false);
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op_);
  if (!call) return false;
  if (call.getIntrin() == "llvm.nvvm.barrier.cta.arrive.aligned.count")
    return blockBarrier(call.getArgs()[0], call.getArgs()[1], /*waits=*/false);
  if (call.getIntrin() == "llvm.amdgcn.perm") return permutation(call);
  if (call.getIntrin() != "llvm.amdgcn.implicitarg.ptr") return false;
  return replace(call_("tsr_emu_implicit_arguments", call.getResult(0).getType(), {}, true));
}

/// Bytes 0 to 3 are those of the second operand, 4 to 7 those of the first. Others are constants, which no
/// code here asks for.
bool VendorRewriter::permutation(LLVM::CallIntrinsicOp call) {
  APInt selector;
  if (!matchPattern(call.getArgs()[2], m_ConstantInt(&selector))) return false;
  auto four = VectorType::get({4}, b_.getI8Type());
  SmallVector<int32_t> bytes;
  for (unsigned i = 0; i < 4; ++i)
    bytes.push_back(int32_t(selector.extractBitsAsZExtValue(8, 8 * i)));
  if (llvm::any_of(bytes, [](int32_t byte) { return byte > 7; })) return false;
  Value all = LLVM::ShuffleVectorOp::create(b_, LLVM::BitcastOp::create(b_, four, call.getArgs()[1]),
                                            LLVM::BitcastOp::create(b_, four, call.getArgs()[0]), bytes);
  return replace(asI32(all));
}

bool VendorRewriter::blockBarrier(Value number, Value count, bool waits) {
  return become("tsr_emu_barrier", {number, count, constant(waits), site_()});
}

/// Each lane of the warp gets the value of another one: of `lane`, or of its own number xor `lane`.
bool VendorRewriter::exchange(Value value, Value lane, bool isXor) {
  if (value.getType().getIntOrFloatBitWidth() != 32) return false;
  return replace(call_("tsr_emu_exchange", i32(), {asI32(value), lane, constant(isXor), site_()}, false));
}

bool VendorRewriter::shuffle(NVVM::ShflOp op) {
  if (op.getReturnValueAndIsValid()) return false;
  return replace(call_("tsr_emu_shuffle", i32(),
                       {constant(int32_t(op.getKind())), op.getThreadMask(), asI32(op.getVal()),
                        op.getOffset(), op.getMaskAndClamp(), site_()},
                       false));
}

/// Intel's built-in functions.
bool VendorRewriter::builtinForThreads(LLVM::CallOp call) {
  const StringRef name = call.getCallee().value_or("");
  if (auto first = builtinCoordinate(name)) {
    Value which = LLVM::AddOp::create(b_, call.getArgOperands()[0], constant(*first));
    return replace(call_("tsr_emu_coordinate", i32(), which, true));
  }
  if (name == "_Z7barrierj") return blockBarrier(constant(0), constant(0));
  if (StringRef rest = name; rest.consume_front("_Z27intel_sub_group_shuffle_xor") && rest.size() == 2)
    return exchange(call.getArgOperands()[0], call.getArgOperands()[1], true);
  if (StringRef rest = name; rest.consume_front("_Z23intel_sub_group_shuffle") && rest.size() == 2)
    return exchange(call.getArgOperands()[0], call.getArgOperands()[1], false);
  return false;
}

} // namespace tessera::emulate
