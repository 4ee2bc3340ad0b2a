// cpu-privatize: gives atomic additions to small tensors a table of the thread's own.
//
//   tile.atomic add relaxed device %one, %counts[%bin] : i32, !tile.view<?xi32> -> i32
//   tile.atomic add relaxed device %one, %counts[%bin] {tile.private = 0 : i64} : i32, !tile.view<?xi32> ->
//   i32
//
// The attribute is the table's byte offset in the thread's scratch, which grows by it. The lowering clears
// the table before a range of programs, adds to it without atomics, and adds what it holds to the tensor once
// the range is done, where tensor and range turn out to be worth it. Threads that count the same values
// otherwise wait for each other's cache lines at every element.
//
// Last before the lowering for the CPU: the memory plan is final, and an attribute that a text brought along
// is replaced. A tensor has a table only where nobody can see that additions arrive late: the kernel neither
// reads it nor uses an old value, orders nothing (fences, other memory orders), and waits for nothing
// (`while`).
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera::tile;

namespace tessera::cpu {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kMostBytes = 256 * 1024; // of a kernel's tables: about what a core's L2 has to spare

/// The elements of the tensor's table; 0: it needs none.
int64_t tableElements(BlockArgument arg, bool unorderedFloats) {
  auto type = dyn_cast<ViewType>(arg.getType());
  if (!type || type.getElementType().isInteger(1) || arg.use_empty()) return 0;
  if (isa<FloatType>(type.getElementType()) && !unorderedFloats) return 0;
  bool any = false;
  for (Operation *user : arg.getUsers()) {
    if (isa<DimOp>(user)) continue;
    auto atomic = dyn_cast<AtomicOp>(user);
    bool isLateAddition = atomic && atomic.getKind() == AtomicKind::Add &&
                          atomic.getOrder() == MemoryOrder::Relaxed && atomic.getResult().use_empty();
    if (!isLateAddition) return 0;
    any = true;
  }
  if (!any) return 0;
  if (ShapedType::isDynamicShape(type.getShape())) return kMostPrivateElements;
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(elements, extent, elements)) return 0;
  return elements <= kMostPrivateElements ? elements : 0;
}

struct PrivatizePass : PassWrapper<PrivatizePass, OperationPass<KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrivatizePass)
  StringRef getArgument() const final { return "cpu-privatize"; }
  StringRef getDescription() const final {
    return "give atomic additions to small tensors a table of the thread's own";
  }
  void runOnOperation() final {
    KernelOp kernel = getOperation();
    bool ordersOrWaits = false;
    kernel.walk([&](Operation *op) {
      if (isa<AtomicOp>(op)) op->removeAttr(kPrivate);
      ordersOrWaits |= isa<FenceOp, scf::WhileOp>(op);
    });
    if (ordersOrWaits) return;
    std::optional<NumericsPermissions> permits = permitsOf(kernel);
    Builder b(&getContext());
    int64_t used = 0, end = llvm::alignTo(kernel.getScratchBytes().value_or(0), kAlign);
    for (BlockArgument arg : kernel.getBody().front().getArguments()) {
      int64_t elements = tableElements(arg, permits && permits->unorderedAtomics);
      if (!elements) continue;
      int64_t bytes = llvm::alignTo(
          elements * tessera::storageBytes(cast<ViewType>(arg.getType()).getElementType()), kAlign);
      if (used + bytes > kMostBytes) continue;
      for (Operation *user : arg.getUsers())
        if (isa<AtomicOp>(user)) user->setAttr(kPrivate, b.getI64IntegerAttr(end + used));
      used += bytes;
    }
    if (used) kernel.setScratchBytesAttr(b.getI64IntegerAttr(end + used));
  }
};

} // namespace

std::unique_ptr<Pass> createPrivatizePass() { return std::make_unique<PrivatizePass>(); }

} // namespace tessera::cpu
