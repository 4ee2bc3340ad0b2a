// tile-plan-memory (normative phase 4, and again after fusion): decides where shared buffers and tiles in
// memory are placed in the program's scratch.
//
// Shared buffers live as long as the program. Other tiles live from the op that computes them to the last op
// that reads them (inside a loop that they are defined outside of: to the loop's end). Two tiles that are
// never alive at the same time may share bytes. A tile that has a layout is in registers. A tile carried by a
// loop has one place for the initial value, every iteration and the result. A product whose accumulator is
// not read again works in the accumulator's place.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/MemoryPlan.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_TILEPLANMEMORY
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

constexpr int64_t kAlign = 64; // one cache line, one AVX-512 vector
/// The swizzle of panels repeats after so many bytes, which instructions that read them count from address 0.
constexpr int64_t kPanelAlign = 1024;

int64_t alignOf(Value v) { return isInPanels(v) ? kPanelAlign : kAlign; }

struct Slot {
  int64_t begin, end, bytes, align, offset = -1;
};

class Plan {
public:
  /// Plans the kernel as if the operations `without` were not there.
  explicit Plan(KernelOp kernel, ArrayRef<Operation *> without = {}) : without_(llvm::from_range, without) {
    int64_t n = 0;
    number(kernel, n);
    findLastReads();
    placeShared(kernel);
    for (Block &block : kernel.getBody())
      assign(block);
    total_ = place(shared_);
  }

  /// Bytes of the shared buffers, and of all of the scratch.
  int64_t shared() const { return shared_; }
  int64_t total() const { return total_; }

  /// Writes the places to the operations.
  void annotate(KernelOp kernel) const {
    Builder b(kernel.getContext());
    for (auto [alloc, offset] : buffers_)
      AllocSharedOp(alloc).setOffsetAttr(b.getI64IntegerAttr(offset));
    kernel.walk([&](Operation *op) {
      SmallVector<int64_t> offsets;
      if (auto loop = dyn_cast<scf::WhileOp>(op))
        for (Value arg : loop.getBeforeArguments())
          if (isTile(arg)) offsets.push_back(slots_[slotOf_.lookup(arg)].offset);
      for (Value result : op->getResults())
        if (auto it = slotOf_.find(result); it != slotOf_.end()) offsets.push_back(slots_[it->second].offset);
      op->removeAttr(kScratch);
      if (!offsets.empty()) op->setAttr(kScratch, DenseI64ArrayAttr::get(op->getContext(), offsets));
    });
    kernel.setSharedBytesAttr(b.getI64IntegerAttr(shared_));
    kernel.setScratchBytesAttr(b.getI64IntegerAttr(total_));
  }

private:
  void number(Operation *op, int64_t &n) {
    position_[op] = n++;
    order_.push_back(op);
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        number(&inner, n);
    endPosition_[op] = n++;
  }

  void placeShared(KernelOp kernel) {
    int64_t used = 0;
    kernel.walk([&](AllocSharedOp alloc) {
      if (without_.contains(alloc)) return;
      auto type = cast<BufferType>(alloc.getResult().getType());
      int64_t align = std::max<int64_t>(alignOf(alloc.getResult()), alloc.getAlign());
      used = llvm::alignTo(used, align);
      buffers_.emplace_back(alloc, used);
      used += type.getNumElements() * tessera::storageBytes(type.getElementType());
    });
    shared_ = llvm::alignTo(used, kAlign);
  }

  static int64_t bytesOf(Value v) {
    auto t = tileType(v);
    return std::max<int64_t>(1, t.getNumElements()) * tessera::storageBytes(t.getElementType());
  }

  /// A gather along a line computes its first and last index again from the operands of the index, though the
  /// index has a place.
  static bool isComputedAgain(Value index) {
    Operation *op = index.getDefiningOp();
    return op && op->hasTrait<OpTrait::Elementwise>() && tileType(index).getElementType().isInteger(64);
  }

  /// Returns the last position at which `v` is read, also through values that are computed on the fly; inside
  /// a loop that `v` is defined outside of: the loop's end. The answer for every later value is already
  /// known.
  int64_t readUntil(Value v) {
    Block *home = v.getParentBlock();
    int64_t last = v.getDefiningOp() ? position_[v.getDefiningOp()] : 0;
    for (Operation *user : v.getUsers()) {
      int64_t at = position_[user];
      for (Operation *inner = user; inner->getBlock() != home; inner = inner->getParentOp())
        if (isa<LoopLikeOpInterface>(inner->getParentOp()))
          at = std::max(at, endPosition_[inner->getParentOp()]);
      last = std::max(last, at);
      if (user->getNumRegions()) continue;
      for (Value result : user->getResults())
        if (isTile(result) && (!inMemory(result) || isa<ReshapeOp>(user) || isComputedAgain(result)))
          last = std::max(last, lastRead_.lookup(result));
    }
    return last;
  }

  /// Backwards, so that the answer for each value follows from its users'.
  void findLastReads() {
    for (Operation *op : llvm::reverse(order_)) {
      for (Region &region : op->getRegions())
        for (Value arg : region.getArguments())
          if (isTile(arg)) lastRead_[arg] = readUntil(arg);
      for (Value result : op->getResults())
        if (isTile(result)) lastRead_[result] = readUntil(result);
    }
  }

  int newSlot(int64_t begin, int64_t end, int64_t bytes, int64_t align = kAlign) {
    slots_.push_back({begin, end, bytes, align});
    return static_cast<int>(slots_.size()) - 1;
  }

  void assign(Block &block) {
    for (Operation &op : block) {
      if (without_.contains(&op)) continue;
      if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        assignWhile(loop);
      } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
        assignLoop(loop);
      } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
        // The same bytes with another shape. Before fusion has decided, the operand may have no place yet.
        if (auto it = slotOf_.find(reshape.getInput()); it != slotOf_.end()) {
          int slot = it->second;
          slotOf_[reshape.getResult()] = slot;
        }
      } else if (auto mma = dyn_cast<MmaOp>(op); mma && canAccumulateInPlace(mma)) {
        int slot = slotOf_.lookup(mma.getAcc());
        slots_[slot].end = std::max(slots_[slot].end, lastRead_.lookup(mma.getResult()));
        slotOf_[mma.getResult()] = slot;
      } else {
        for (Value result : op.getResults())
          if (inMemory(result)) {
            int64_t end = std::max(lastRead_.lookup(result), endPosition_[&op]);
            slotOf_[result] = newSlot(position_[&op], end, bytesOf(result), alignOf(result));
          }
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          assign(inner);
    }
  }

  void assignLoop(LoopLikeOpInterface loop) {
    Operation *op = loop.getOperation();
    for (auto [i, init] : llvm::enumerate(loop.getInits())) {
      if (!isTile(init) || isInRegisters(init)) continue;
      Value result = op->getResult(i);
      int slot = newSlot(position_[op], std::max(endPosition_[op], lastRead_.lookup(result)), bytesOf(init));
      slotOf_[result] = slot;
      slotOf_[loop.getRegionIterArgs()[i]] = slot;
    }
  }

  /// The condition may pass on other values than it received, so its operands and its results have separate
  /// places.
  void assignWhile(scf::WhileOp loop) {
    int64_t begin = position_[loop], end = endPosition_[loop];
    for (Value arg : loop.getBeforeArguments())
      if (isTile(arg)) slotOf_[arg] = newSlot(begin, end, bytesOf(arg));
    for (auto [result, arg] : llvm::zip(loop.getResults(), loop.getAfterArguments()))
      if (isTile(arg))
        slotOf_[arg] = slotOf_[result] =
            newSlot(begin, std::max(end, lastRead_.lookup(result)), bytesOf(arg));
  }

  /// Is `v`, which would be in the place of the carried `arg`, read for no other variable at the end of the
  /// iteration? The place may be overwritten before the others are assigned.
  static bool yieldsOnlyTo(BlockArgument arg, Value v) {
    Operation *end = arg.getOwner()->getTerminator();
    auto args = arg.getOwner()->getArguments().take_back(end->getNumOperands());
    return llvm::none_of(llvm::zip(args, end->getOperands()), [&](auto pair) {
      return std::get<0>(pair) != arg && readsOnTheFly(std::get<1>(pair), v);
    });
  }

  static bool readsOnTheFly(Value from, Value v) {
    if (from == v) return true;
    Operation *op = from.getDefiningOp();
    return op && isTile(from) && (!inMemory(from) || isa<ReshapeOp>(op)) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return readsOnTheFly(operand, v); });
  }

  bool canAccumulateInPlace(MmaOp mma) {
    Value acc = mma.getAcc();
    if (!inMemory(acc) || acc.getParentBlock() != mma->getBlock() || !slotOf_.contains(acc)) return false;
    if (isa_and_nonnull<ReshapeOp>(acc.getDefiningOp())) return false;
    if (auto arg = dyn_cast<BlockArgument>(acc); arg && !yieldsOnlyTo(arg, mma.getResult())) return false;
    int uses = llvm::count(acc.getUsers(), mma.getOperation());
    return uses == 1 && lastRead_.lookup(acc) <= position_[mma];
  }

  /// First fit in the order of first use; returns the size of the scratch in bytes.
  int64_t place(int64_t base) {
    std::vector<Slot *> order;
    for (Slot &slot : slots_)
      order.push_back(&slot);
    // Equal ones in the order they were found, which is the order of their addresses.
    llvm::sort(order, [](Slot *x, Slot *y) { return std::pair(x->begin, x) < std::pair(y->begin, y); });
    int64_t total = base;
    std::vector<Slot *> alive; // by offset
    for (Slot *slot : order) {
      llvm::erase_if(alive, [&](Slot *other) { return other->end < slot->begin; });
      int64_t offset = llvm::alignTo(base, slot->align);
      auto after = alive.begin();
      for (; after != alive.end() && offset + slot->bytes > (*after)->offset; ++after)
        offset = std::max<int64_t>(offset, llvm::alignTo((*after)->offset + (*after)->bytes, slot->align));
      slot->offset = offset;
      alive.insert(after, slot);
      total = std::max<int64_t>(total, llvm::alignTo(offset + slot->bytes, kAlign));
    }
    return total;
  }

  llvm::SmallPtrSet<Operation *, 4> without_;
  DenseMap<Operation *, int64_t> position_, endPosition_;
  std::vector<Operation *> order_; // by position
  DenseMap<Value, int64_t> lastRead_;
  DenseMap<Value, int> slotOf_;
  std::vector<Slot> slots_;
  SmallVector<std::pair<AllocSharedOp, int64_t>> buffers_; // with their offsets
  int64_t shared_ = 0, total_ = 0;
};

struct PlanMemory : impl::TilePlanMemoryBase<PlanMemory> {
  void runOnOperation() override { Plan(getOperation()).annotate(getOperation()); }
};

} // namespace

int64_t tile::scratchBytesWithout(KernelOp kernel, ArrayRef<Operation *> without) {
  return Plan(kernel, without).total();
}

} // namespace tessera
