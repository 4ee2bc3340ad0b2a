// cpu-privatize: gives atomic additions to small tensors a table of the thread's own.
//
//   tile.atomic add relaxed device %one, %counts[%bin] : i32, !tile.view<?xi32> -> i32
//   tile.atomic add relaxed device %one, %counts[%bin] {tile.private = 0 : i64}
//       : i32, !tile.view<?xi32> -> i32
//
// The attribute is the table's byte offset in the thread's scratch, which grows accordingly. The lowering
// clears the table before a range of programs, adds to it without atomics, and adds its contents to the
// tensor after the range, if tensor and range turn out to be worth it at run time. Without the table, threads
// that count the same values would wait for each other's cache lines at every element.
//
// Updates of elements whose indices are constants need no table:
//
//   tile.atomic add relaxed device %part, %total[%c0] : f32, !tile.view<1xf32> -> f32
//   tile.atomic add relaxed device %part, %total[%c0] {tile.private_value} : f32, !tile.view<1xf32> -> f32
//
// The lowering gives each such element a variable, which LLVM keeps in a register. Sums, maxima and minima
// are gathered in this way.
//
// This is the last pass before the lowering for the CPU: the memory plan is final, and attributes already
// present in the input are replaced. A tensor gets a table only if nothing can observe that additions arrive
// late: the kernel neither reads the tensor nor uses an old value, orders nothing (fences, other memory
// orders), and waits for nothing (`while`).
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera::tile;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUPRIVATIZE
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

constexpr int64_t kAlign = 64;
constexpr size_t kMostPrivateValues = 8;   // per tensor: what fits in registers next to the other values
constexpr int64_t kMostBytes = 256 * 1024; // for all tables of a kernel: about what a core's L2 can spare

/// Returns the updates of the tensor if all of them are of one kind and may arrive late and in any order;
/// else none.
SmallVector<AtomicOp> lateUpdates(BlockArgument arg, bool unorderedFloats) {
  auto type = dyn_cast<ViewType>(arg.getType());
  if (!type || type.getElementType().isInteger(1)) return {};
  if (isa<FloatType>(type.getElementType()) && !unorderedFloats) return {};
  SmallVector<AtomicOp> updates;
  for (Operation *user : arg.getUsers()) {
    if (isa<DimOp>(user)) continue;
    auto atomic = dyn_cast<AtomicOp>(user);
    if (!atomic || atomic.getKind() == AtomicKind::Xchg || atomic.getOrder() != MemoryOrder::Relaxed ||
        !atomic.getResult().use_empty())
      return {};
    if (!updates.empty() && atomic.getKind() != updates.front().getKind()) return {};
    updates.push_back(atomic);
  }
  return updates;
}

/// Returns whether every update has constant indices, of at most kMostPrivateValues different elements.
bool haveConstantIndices(ArrayRef<AtomicOp> updates) {
  llvm::SmallSetVector<Attribute, 8> places;
  for (AtomicOp update : updates) {
    SmallVector<Attribute> place;
    for (Value index : update.getIndices()) {
      std::optional<int64_t> known = getConstantIntValue(index);
      if (!known || *known < 0) return false;
      place.push_back(IntegerAttr::get(IndexType::get(update.getContext()), *known));
    }
    places.insert(ArrayAttr::get(update.getContext(), place));
  }
  return places.size() <= kMostPrivateValues;
}

/// Returns the number of elements of the tensor's table; 0: it needs none.
int64_t tableElements(ViewType type, AtomicKind kind) {
  if (kind != AtomicKind::Add) return 0;
  if (ShapedType::isDynamicShape(type.getShape())) return kMostPrivateElements;
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(elements, extent, elements)) return 0;
  return elements <= kMostPrivateElements ? elements : 0;
}

struct PrivatizePass : impl::CpuPrivatizeBase<PrivatizePass> {
  void runOnOperation() final {
    KernelOp kernel = getOperation();
    bool ordersOrWaits = false;
    kernel.walk([&](Operation *op) {
      for (StringRef name : {kPrivate, kPrivateValue})
        if (isa<AtomicOp>(op)) op->removeAttr(name);
      ordersOrWaits |= isa<FenceOp, scf::WhileOp>(op);
    });
    if (ordersOrWaits) return;
    std::optional<NumericsPermissions> permits = permitsOf(kernel);
    Builder b(&getContext());
    int64_t used = 0, end = llvm::alignTo(kernel.getScratchBytes().value_or(0), kAlign);
    for (BlockArgument arg : kernel.getBody().front().getArguments()) {
      SmallVector<AtomicOp> updates = lateUpdates(arg, permits && permits->unorderedAtomics);
      if (updates.empty()) continue;
      if (haveConstantIndices(updates)) {
        for (AtomicOp update : updates)
          update->setAttr(kPrivateValue, b.getUnitAttr());
        continue;
      }
      auto type = cast<ViewType>(arg.getType());
      // A table is addressed like its tensor, which must therefore be contiguous.
      const bool isStrided = static_cast<bool>(kernel.getParam(arg).getStrides());
      int64_t elements = isStrided ? 0 : tableElements(type, updates.front().getKind());
      int64_t bytes = llvm::alignTo(elements * tessera::storageBytes(type.getElementType()), kAlign);
      if (!elements || used + bytes > kMostBytes) continue;
      for (AtomicOp update : updates)
        update->setAttr(kPrivate, b.getI64IntegerAttr(end + used));
      used += bytes;
    }
    if (used) kernel.setScratchBytesAttr(b.getI64IntegerAttr(end + used));
  }
};

} // namespace

} // namespace tessera::cpu
