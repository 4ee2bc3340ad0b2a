// Asynchronous copies and what awaits them.
#include "compiler/codegen/emulate/VendorRewriter.h"

using namespace mlir;

namespace tessera::emulate {

bool VendorRewriter::forCopies() {
  if (auto fence = dyn_cast<NVVM::FenceProxyOp>(op_)) {
    if (fence.getKind() != NVVM::ProxyKind::async_shared && fence.getKind() != NVVM::ProxyKind::async)
      return false;
    return become("tsr_emu_fence_proxy", {});
  }
  if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op_)) {
    Value bytes = constant(int32_t(copy.getSize())), copied = copy.getCpSize() ? copy.getCpSize() : bytes;
    return become("tsr_emu_copy_async", {plain(copy.getDst()), plain(copy.getSrc()), bytes, copied, site_()});
  }
  if (isa<NVVM::CpAsyncCommitGroupOp>(op_)) return become("tsr_emu_commit_copies", {});
  if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op_))
    return become("tsr_emu_await_copies", constant(int32_t(wait.getN())));
  if (auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op_)) return copyBox(copy);
  if (auto store = dyn_cast<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(op_)) return storeBox(store);
  if (isa<NVVM::CpAsyncBulkCommitGroupOp>(op_)) return become("tsr_emu_commit_stores", {});
  if (auto wait = dyn_cast<NVVM::CpAsyncBulkWaitGroupOp>(op_))
    return become("tsr_emu_await_stores",
                  {constant(int32_t(wait.getGroup())), constant(wait.getRead().value_or(false))});
  return forArrivals();
}

/// Words of shared memory in which threads and bytes arrive.
bool VendorRewriter::forArrivals() {
  if (auto init = dyn_cast<NVVM::MBarrierInitOp>(op_))
    return !init.getPredicate() &&
           become("tsr_emu_init_arrivals", {plain(init.getAddr()), init.getCount(), site_()});
  if (auto expect = dyn_cast<NVVM::MBarrierArriveExpectTxOp>(op_)) {
    if (expect.getPredicate() || (expect->getNumResults() && !expect->use_empty())) return false;
    return become("tsr_emu_expect_bytes", {plain(expect.getAddr()), expect.getTxcount(), site_()});
  }
  if (auto wait = dyn_cast<NVVM::MBarrierTryWaitParityOp>(op_))
    return become("tsr_emu_await_bytes", {plain(wait.getAddr()), wait.getPhase(), site_()});
  if (auto arrive = dyn_cast<NVVM::MBarrierArriveOp>(op_)) {
    if (arrive.getCount() || arrive.getRelaxed() || (arrive->getNumResults() && !arrive->use_empty()))
      return false;
    return become("tsr_emu_arrive", {plain(arrive.getAddr()), site_()});
  }
  return isa<NVVM::FenceMbarrierInitOp>(op_) && become("tsr_emu_fence_arrivals", {});
}

bool VendorRewriter::copyBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) {
  if (op.getMode() != NVVM::TMALoadMode::TILE || op.getPredicate() || op.getL2CacheHint() || op.getGroup())
    return false;
  Value ranks = op.getMulticastMask() ? LLVM::ZExtOp::create(b_, i32(), op.getMulticastMask()).getResult()
                                      : constant(0);
  call_("tsr_emu_copy_box", nullptr,
        {plain(op.getDstMem()), op.getTmaDescriptor(), spill(op.getCoordinates()), plain(op.getMbar()), ranks,
         site_()},
        false);
  return erase();
}

bool VendorRewriter::storeBox(NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op) {
  if (op.getMode() != NVVM::TMAStoreMode::TILE || op.getPredicate() || op.getL2CacheHint()) return false;
  call_("tsr_emu_store_box", nullptr,
        {op.getTmaDescriptor(), spill(op.getCoordinates()), plain(op.getSrcMem()), site_()}, false);
  return erase();
}

} // namespace tessera::emulate
