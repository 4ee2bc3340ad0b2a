#include "compiler/tile/Transforms/BoxStores.h"
#include "compiler/layout/BoxStore.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/Transforms/BoxCopies.h"
#include "compiler/tile/Transforms/LoopPipeline.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// The tile that is stored, before lanes exchange elements for wide stores.
Value tileOf(StoreOp store) {
  auto exchange = store.getValue().getDefiningOp<ConvertOp>();
  return exchange && isInRegisters(exchange.getInput()) ? exchange.getInput() : store.getValue();
}

std::optional<layout::BoxStore> planOf(StoreOp store) {
  LayoutAttr layout = layoutOf(tileOf(store));
  if (!layout || !isInRegisters(store.getValue())) return std::nullopt;
  const int64_t bytes = storageBytes(store.getView().getType().getElementType());
  return layout::boxStore(layout.getValue(), unsigned(bytes));
}

bool isAtLeast(Value v, int64_t least) {
  const std::optional<int64_t> known = getConstantIntValue(v);
  return known && *known >= least;
}

/// Is `end` past the tile, or where the tensor ends along `dim`: max(min(extent of the tensor - start, n),
/// 0)?
bool isEndOfTensor(Value end, int64_t tile, StoreOp store, size_t dim) {
  if (isAtLeast(end, tile)) return true;
  if (auto most = end.getDefiningOp<arith::MaxSIOp>()) {
    Value other = getConstantIntValue(most.getRhs()) == 0 ? most.getLhs() : most.getRhs();
    return getConstantIntValue(other == most.getLhs() ? most.getRhs() : most.getLhs()) == 0 &&
           isEndOfTensor(other, tile, store, dim);
  }
  if (auto least = end.getDefiningOp<arith::MinSIOp>())
    return isEndOfTensor(least.getLhs(), tile, store, dim) && isEndOfTensor(least.getRhs(), tile, store, dim);
  auto rest = end.getDefiningOp<arith::SubIOp>();
  if (!rest || rest.getRhs() != store.getStarts()[dim]) return false;
  auto kernel = store->getParentOfType<KernelOp>();
  const StringRef extent = kernel.getParam(store.getView()).getDim(dim);
  if (const auto known = getConstantIntValue(rest.getLhs())) return std::to_string(*known) == extent;
  return rest.getLhs() == findDim(kernel, kernel.getParams(), extent);
}

/// Does nothing but the tensor limit what is stored?
bool isWhole(StoreOp store) {
  if (store.getFlags()) return false;
  auto shape = tileType(store.getValue()).getShape();
  size_t axis = 0;
  for (auto [dim, extent] : llvm::enumerate(store.getExtents())) {
    if (extent < 0) continue;
    if (!store.getLower().empty() && (getConstantIntValue(store.getLower()[axis]) != 0 ||
                                      !isEndOfTensor(store.getUpper()[axis], shape[axis], store, dim)))
      return false;
    ++axis;
  }
  return true;
}

/// Is the tensor accessed by nothing but this store and loads before it?
bool isLastAccess(StoreOp store) {
  return llvm::all_of(store.getView().getUsers(), [&](Operation *user) {
    if (user == store || isa<DimOp>(user)) return true;
    Operation *outer = store->getBlock()->findAncestorOpInBlock(*user);
    return isa<LoadOp>(user) && outer && outer->isBeforeInBlock(store);
  });
}

} // namespace

SmallVector<StoreOp> findBoxStores(KernelOp kernel) {
  const bool orders =
      kernel
          .walk([](Operation *op) {
            return isa<FenceOp, AtomicOp, AtomicCasOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  SmallVector<StoreOp> found;
  if (orders) return found; // other programs may wait for the elements
  for (auto store : kernel.getBody().getOps<StoreOp>()) {
    auto view = dyn_cast<BlockArgument>(store.getView());
    if (!view || view.getOwner() != store->getBlock() || !isWhole(store) || !isLastAccess(store)) continue;
    const auto plan = planOf(store);
    if (!plan) continue;
    auto box = BufferType::get(kernel.getContext(), {plan->rows, plan->columns},
                               store.getView().getType().getElementType(), Swizzle::None);
    if (whyNoBoxes(kernel, view, store.getExtents(), store.getStarts().back(), box).empty())
      found.push_back(store);
  }
  return found;
}

SmallVector<Value> storeBoxes(KernelOp kernel, ArrayRef<StoreOp> stores, int64_t room) {
  constexpr int64_t kMostBoxes = 2; // of a warp: it writes one while the other one is stored
  SmallVector<Value> views;
  for (StoreOp store : stores) {
    const auto plan = planOf(store);
    const int64_t warps = layoutOf(tileOf(store)).getValue().warps();
    auto typeOf = [&](int64_t boxes) {
      return BufferType::get(kernel.getContext(), {boxes, warps * plan->rows, plan->columns},
                             store.getView().getType().getElementType(), Swizzle::None);
    };
    auto bytesOf = [&](int64_t boxes) { return llvm::alignTo(typeOf(boxes).getSizeInBytes(), kRingAlign); };
    int64_t boxes = std::min(kMostBoxes, std::ssize(plan->boxes));
    while (boxes && int64_t(bytesOf(boxes)) > room)
      --boxes;
    if (!boxes) continue;
    room -= int64_t(bytesOf(boxes));
    OpBuilder atStart = OpBuilder::atBlockBegin(&kernel.getBody().front()), b(store);
    Value buffer = AllocSharedOp::create(atStart, store.getLoc(), typeOf(boxes), kRingAlign, IntegerAttr());
    StoreBoxOp::create(b, store.getLoc(), tileOf(store), store.getView(), store.getStarts(),
                       store.getExtentsAttr(), buffer);
    views.push_back(store.getView());
    Operation *exchange = store.getValue().getDefiningOp();
    store->erase();
    if (exchange && isOpTriviallyDead(exchange)) exchange->erase();
  }
  return views;
}

bool areStricter(ArrayRef<std::string> all, ArrayRef<std::string> some) {
  // "K % 8 == 0": the size, and of what it is a multiple
  auto multipleOf = [](StringRef condition) -> std::pair<StringRef, int64_t> {
    const auto [size, rest] = condition.split(" % ");
    int64_t number = 0;
    return rest.split(' ').first.getAsInteger(10, number) ? std::pair(StringRef(), int64_t(0))
                                                          : std::pair(size, number);
  };
  return llvm::any_of(all, [&](StringRef condition) {
    const auto [size, number] = multipleOf(condition);
    return number && llvm::none_of(some, [&](StringRef other) {
             const auto [known, multiple] = multipleOf(other);
             return known == size && multiple % number == 0;
           });
  });
}

} // namespace tessera::tile
