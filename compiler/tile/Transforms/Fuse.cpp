// tile-fuse (normative phase 5): decides which tile values get memory of their own.
//
// Every other tile value is computed on the fly, element by element, inside the loop of the one op that
// consumes it: epilogues in the loop that stores them, masks in the reduction that reads them.
//
//   %s = arith.mulf %scores, %k            (one use: computed inside the reduction's loop)
//   %m = tile.reduce max %s axis 1         (reductions always have memory)
//   %d = arith.subf %x, %b                 (two uses in one store or reduction: computed there, once)
//   %p = tile.exp %d {tile.materialize}    (uses in two nests: computed once, before them)
//
// It runs after masks have become explicit, so that they are fused too, and before numerics legalization,
// whose casts inherit the decision about the op that they are inserted for.
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_TILEFUSE
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// The longest chain of ops that are computed on the fly. It bounds the registers that a loop needs, and the
/// recursion of lowering.
constexpr int kDeepest = 64;

/// Does it read memory that another op of the program may write?
bool readsMemory(Operation *op) { return isa<LoadOp, GatherOp, BufferReadOp>(op); }

/// The tensor or buffer that a tile is written to; null for other operations.
Value writtenBy(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op)) return store.getView();
  if (auto scatter = dyn_cast<ScatterOp>(op)) return scatter.getMemory();
  if (auto write = dyn_cast<BufferWriteOp>(op)) return write.getBuffer();
  return {};
}

bool writesMemory(Operation *op) {
  bool writes = false;
  op->walk([&](Operation *inner) {
    writes |= isa<StoreOp, ScatterOp, StoreElemOp, CpAsyncOp, BufferWriteOp, AtomicOp, AtomicCasOp>(inner);
  });
  return writes;
}

class Fuse : public impl::TileFuseBase<Fuse> {
  void runOnOperation() override {
    getOperation()->walk([](scf::YieldOp yield) { copyMovedArguments(yield); });
    getOperation()->walk([](MaskOp mask) { readAgain(mask); });
    getOperation()->walk([](RandOp rand) { moveWords(rand); });
    getOperation()->walk([](arith::IndexCastOp cast) { castAtEachUse(cast); });
    depth_.clear();
    ends_.clear();
    auto fusion = getOperation()->getAttrOfType<StringAttr>(tile::kFusion);
    bool fuses = !fusion || fusion.getValue() != "none";
    getOperation()->walk([&](Block *block) {
      // Consumers first, because a producer's decision depends on where its consumers are computed.
      for (Operation &op : llvm::reverse(*block)) {
        if (op.getNumResults() != 1 || !isTile(op.getResult(0)) || alwaysInMemory(op.getResult(0)) ||
            isInRegisters(op.getResult(0)))
          continue;
        const bool isIndex = getElementTypeOrSelf(op.getResult(0).getType()).isIndex();
        int depth = 0;
        for (Operation *user : op.getUsers())
          depth = std::max(depth, depth_.lookup(user) + 1);
        auto keep = op.getAttrOfType<BoolAttr>(tile::kFuse);
        bool apart = !isCheap(&op) && (!fuses || (keep && !keep.getValue()));
        if (!isIndex && (mustMaterialize(op) || depth > kDeepest || (apart && !op.use_empty())))
          op.setAttr(kMaterialize, UnitAttr::get(op.getContext()));
        else
          depth_[&op] = depth;
        ends_[&op] = endOfUses(&op);
      }
    });
  }

  /// Duplicates a masked load (perhaps with a cast) that several reductions use: each then reads the tensor
  /// itself, which is in the nearest cache after the first, and no further than its end.
  ///
  ///   %m = tile.mask %load                          %m = tile.mask %load     %m2 = tile.mask %load2
  ///   %a = tile.reduce max %m                 ->    %a = tile.reduce max %m
  ///   %b = tile.arg_reduce max %m                   %b = tile.arg_reduce max %m2
  static void readAgain(MaskOp mask) {
    SmallVector<Operation *> chain{mask}; // from the mask backwards to the load
    while (!isa<LoadOp>(chain.back())) {
      Operation *from = chain.back()->getOperand(0).getDefiningOp();
      if (!isa_and_nonnull<LoadOp, CastOp>(from) || !from->hasOneUse() ||
          from->getBlock() != mask->getBlock())
        return;
      chain.push_back(from);
    }
    SmallVector<Operation *> users;
    for (Operation *op = chain.back()->getNextNode(); op; op = op->getNextNode()) {
      if (isa<ReduceOp, ArgReduceOp>(op) && op->getOperand(0) == mask.getResult())
        users.push_back(op);
      else if (writesMemory(op))
        break;
    }
    if (users.size() != static_cast<size_t>(std::distance(mask->use_begin(), mask->use_end()))) return;
    for (Operation *user : llvm::drop_begin(users)) {
      OpBuilder b(user);
      IRMapping map;
      for (Operation *op : llvm::reverse(chain))
        b.clone(*op, map);
      user->setOperand(0, map.lookup(mask.getResult()));
    }
  }

  /// Tiles of indices are never in memory: each use casts the integers itself, which may be.
  static void castAtEachUse(arith::IndexCastOp cast) {
    if (!isTile(cast.getOut())) return;
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(cast->getUses())))
      use.set(OpBuilder(use.getOwner()).clone(*cast)->getResult(0));
  }

  /// Are both tiles words of one call of Philox?
  static bool areWords(Operation *x, Operation *y) {
    return isa<RandOp>(x) && isa<RandOp>(y) && isTile(x->getResult(0)) &&
           x->getOperands() == y->getOperands();
  }

  /// Puts the other words of a call after the first one, so that one nest may compute all of them.
  static void moveWords(RandOp rand) {
    Operation *last = rand;
    for (Operation *op = rand->getNextNode(); op;) {
      Operation *next = op->getNextNode();
      if (areWords(rand, op)) {
        op->moveAfter(last);
        last = op;
      }
      op = next;
    }
  }

  /// Would another nest compute the call of Philox again, for another of its words?
  bool isCalledElsewhere(Operation &op) const {
    auto endOf = [&](Operation *word) { return word->hasOneUse() ? endOfUses(word) : nullptr; };
    for (Operation *other : op.getOperand(1).getUsers())
      if (other != &op && areWords(&op, other) && other->getBlock() == op.getBlock() && !other->use_empty() &&
          endOf(other) != endOf(&op))
        return true;
    return false;
  }

  /// Returns the operation whose nest evaluates the value of `op`, at one position for each position of its
  /// own; null if there are several, or if another operation between reads it at other positions.
  Operation *endOfUses(Operation *op) const {
    Operation *end = nullptr;
    for (Operation *user : op->getUsers()) {
      const bool isComputed =
          user->getNumResults() == 1 && isTile(user->getResult(0)) && !inMemory(user->getResult(0));
      if (isComputed && !isElementwise(user) && !op->hasOneUse()) return nullptr;
      Operation *its = isComputed ? ends_.lookup(user) : user;
      if (!its || (end && its != end)) return nullptr;
      end = its;
    }
    return end;
  }

  static Value unreshaped(Value v) {
    while (auto reshape = v.getDefiningOp<ReshapeOp>())
      v = reshape.getInput();
    return v;
  }

  /// Copies a tile in `yield %b` where %a is expected and both are carried (or %b is another shape of a
  /// carried one), since %b may be overwritten first.
  static void copyMovedArguments(scf::YieldOp yield) {
    if (!isa<scf::ForOp>(yield->getParentOp())) return;
    auto args = yield->getBlock()->getArguments().take_back(yield.getNumOperands());
    OpBuilder b(yield);
    for (auto [arg, use] : llvm::zip(args, yield->getOpOperands()))
      if (isTile(arg) && !isInRegisters(arg) && use.get() != arg &&
          isa<BlockArgument>(unreshaped(use.get()))) {
        auto copy = BroadcastOp::create(b, yield.getLoc(), arg.getType(), use.get());
        copy->setAttr(kMaterialize, b.getUnitAttr());
        use.set(copy);
      }
  }

  bool mustMaterialize(Operation &op) const {
    Value v = op.getResult(0);
    if (v.use_empty() || isReadByBlocks(v)) return false;
    if (isa<arith::ConstantOp>(op)) return llvm::any_of(v.getUses(), needsMemoryOperand);
    int uses = 0;
    for (OpOperand &use : v.getUses()) {
      Operation *user = use.getOwner();
      ++uses;
      if (needsMemoryOperand(use)) return true;
      bool elsewhere = user->getBlock() != op.getBlock();
      if (elsewhere && (readsMemory(&op) || !isCheap(&op))) return true;
      if (isSpread(op, user)) return true;
      if (isa<scf::YieldOp>(user) && yieldHazard(v, cast<scf::YieldOp>(user))) return true;
    }
    if (isCheap(&op) || isViewOfMemory(op)) return false;
    return (uses > 1 && !isEvaluatedOnce(op) && !(uses == 2 && isScaledProduct(op))) ||
           (readsMemory(&op) && overtaken(&op)) || (isa<RandOp>(op) && isCalledElsewhere(op));
  }

  /// Is it one operation with a constant on a product, such as the scale of scores? Two nests compute it in
  /// less time than they read it from a copy.
  static bool isScaledProduct(Operation &op) {
    if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op)) return false;
    DenseElementsAttr constant;
    auto isOne = [&](Value product, Value other) {
      return product.getDefiningOp<MmaOp>() && product.hasOneUse() &&
             matchPattern(other, m_Constant(&constant)) && constant.isSplat();
    };
    return isOne(op.getOperand(0), op.getOperand(1)) || isOne(op.getOperand(1), op.getOperand(0));
  }

  /// Does one nest use a value several times at the same position? It computes it once for all of them.
  bool isEvaluatedOnce(Operation &op) const {
    if (!isElementwise(&op) && !isa<LoadOp>(op)) return false;
    Operation *end = endOfUses(&op);
    return isa_and_nonnull<StoreOp, ReduceOp, ArgReduceOp>(end);
  }

  /// Is it a part of a tile that is in memory, so that a copy would be read as the tile is?
  static bool isViewOfMemory(Operation &op) {
    auto slice = dyn_cast<SliceOp>(op);
    if (!slice) return false;
    Value input = slice.getInput();
    return alwaysInMemory(input) || (!input.hasOneUse() && !isCheap(input.getDefiningOp()));
  }

  /// Is it a row of a tensor that is read for each row of a tile, as quickly as from a copy?
  static bool isReadAsRow(Operation &op, Operation *user) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load || !user->hasOneUse()) return false;
    auto broadcast = dyn_cast<BroadcastOp>(user);
    if (!broadcast) broadcast = dyn_cast<BroadcastOp>(*user->user_begin());
    if (!broadcast) return false;
    auto isVector = [](Value v) { return tileType(v).getShape().back() > 1; };
    return isVector(load.getResult()) && isVector(broadcast.getInput());
  }

  /// Is it computed once per row, rather than once per element of the row that it is spread to?
  static bool isSpread(Operation &op, Operation *user) {
    return isa<BroadcastOp, ExpandDimsOp>(user) && !isCheap(&op) && feedsBroadcast(user) &&
           !isReadAsRow(op, user);
  }

  static bool feedsBroadcast(Operation *op) {
    if (isa<BroadcastOp>(op)) return true;
    return llvm::any_of(op->getResult(0).getUsers(), [](Operation *u) { return isa<BroadcastOp>(u); });
  }

  /// Is memory written between the read and the op that would perform it, or would several ops perform it?
  bool overtaken(Operation *read) const {
    Operation *end = endOfUses(read);
    if (!end) return true;
    if (end->getBlock() != read->getBlock()) return true;
    for (Operation *op = read->getNextNode(); op && op != end; op = op->getNextNode())
      if (writesMemory(op)) return true;
    // An op that evaluates and writes at the same time: element by element at the same index is correct only
    // for an unmasked store to another place. A copy keeps `A[i:i+n] = A[i+1:i+n+1]` correct.
    if (isa<ScatterOp>(end) || isa<GatherOp>(read)) return read->getOperand(0) == writtenBy(end);
    if (auto store = dyn_cast<StoreOp>(end))
      if (auto load = dyn_cast<LoadOp>(read))
        return load.getView() == store.getView() &&
               !(load.getStarts() == store.getStarts() && load.getExtents() == store.getExtents());
    return isa<BufferWriteOp>(end) && isa<BufferReadOp>(read);
  }

  /// Tiles carried by an scf.for are overwritten at the yield one after the other. A value computed there may
  /// read the variable that it replaces at the same index, and nothing else that the yield replaces.
  static bool yieldHazard(Value v, scf::YieldOp yield) {
    if (!isa<scf::ForOp>(yield->getParentOp())) return false;
    auto args = yield->getBlock()->getArguments().take_back(yield.getNumOperands());
    llvm::SmallPtrSet<Value, 8> replaced;
    Value own;
    for (auto [arg, value] : llvm::zip(args, yield.getOperands())) {
      if (arg != value) replaced.insert(arg);
      if (value == v) own = arg;
    }
    llvm::SmallPtrSet<Value, 16> seen[2]; // by sameIndex
    return readsReplaced(v, replaced, own, true, seen);
  }

  static bool readsReplaced(Value v, const llvm::SmallPtrSet<Value, 8> &replaced, Value own, bool sameIndex,
                            llvm::SmallPtrSet<Value, 16> *seen) {
    if (replaced.contains(v)) return !(v == own && sameIndex);
    Operation *op = v.getDefiningOp();
    if (!op || alwaysInMemory(v) || op->hasAttr(kMaterialize) || !seen[sameIndex].insert(v).second)
      return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      // It will have memory of its own, which is written before the yield.
      if (Operation *from = operand.getDefiningOp(); from && isTile(operand) && isSpread(*from, op))
        return false;
      return isTile(operand) && readsReplaced(operand, replaced, own, sameIndex && isElementwise(op), seen);
    });
  }

  /// The ops between each value that is computed on the fly and the op whose loop computes it.
  DenseMap<Operation *, int> depth_;
  DenseMap<Operation *, Operation *> ends_; // endOfUses of the values that are computed on the fly
};

} // namespace
} // namespace tessera
