#include "compiler/tile/Transforms/LoopPipeline.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/BoxCopies.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tessera::tile {

/// Can the value be computed some steps ahead: from the loop's variable and what does not change in it?
bool Pipelining::isKnownAhead(Value v) {
  if (loop_.isDefinedOutsideOfLoop(v) || v == loop_.getInductionVar()) return true;
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != loop_.getBody() || op->getNumRegions()) return false;
  if (indices_.contains(op)) return true;
  if (auto load = dyn_cast<LoadElemOp>(op)) {
    if (writes(kernel_.getParam(load.getView()).getAccess())) return false;
  } else if (!isMemoryEffectFree(op)) {
    return false;
  }
  if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isKnownAhead(operand); })) return false;
  indices_.insert(op); // after its operands
  return true;
}

bool Pipelining::isFactor(LoadOp load) {
  return load->hasAttr(kMaterialize) && tileType(load.getResult()).getRank() == 2 &&
         llvm::all_of(load->getUses(), [&](OpOperand &use) {
           auto mma = dyn_cast<MmaOp>(use.getOwner());
           return mma && mma->getBlock() == loop_.getBody() && use.getOperandNumber() < 2 &&
                  mma.getFragment() && mma.getFragment()->getRow();
         });
}

std::string Pipelining::analyseCopy(CpAsyncOp copy) {
  auto alloc = copy.getBuffer().getDefiningOp<AllocSharedOp>();
  if (!alloc || loop_->isAncestor(alloc)) return "it copies to a buffer of its own";
  bool isComplete = false; // after a barrier that follows the copy
  llvm::SmallPtrSet<Operation *, 8> readers;
  for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
    isComplete |= isa<BarrierOp>(op);
    if (isComplete) readers.insert(op);
  }
  for (Operation *user : alloc->getUsers())
    if (user != copy && !readers.contains(loop_.getBody()->findAncestorOpInBlock(*user)))
      return "a buffer that it copies to is used outside of it, or before the barrier that waits for the "
             "copy";
  copies_.push_back({copy, copy.getView(), copy.getStarts(), copy.getExtentsAttr(), copy.getInBounds(),
                     alloc.getType(), alloc});
  return "";
}

std::string Pipelining::analyse() {
  std::optional<int64_t> step = getConstantIntValue(loop_.getStep());
  if (!step || *step <= 0) return "its step is no positive constant";
  std::string why;
  loop_.getBody()->walk([&](Operation *op) {
    if (isa<StoreOp, ScatterOp, StoreElemOp, AtomicOp, AtomicCasOp, BufferWriteOp, FenceOp>(op))
      why = "it writes memory, which copies of later steps might read";
    if (isa<CommitGroupOp, WaitGroupOp>(op)) why = "it waits for groups of copies itself";
    if (isa<CpAsyncOp>(op) && op->getBlock() != loop_.getBody())
      why = "it copies in an inner loop or under a condition";
  });
  for (Operation &op : *loop_.getBody()) {
    if (!why.empty()) return why;
    if (auto copy = dyn_cast<CpAsyncOp>(op)) why = analyseCopy(copy);
    auto load = dyn_cast<LoadOp>(op);
    if (!load || !isFactor(load)) continue;
    auto type = tileType(load.getResult());
    const DType dtype = *dtypeOfMemory(load.getView().getType().getElementType());
    copies_.push_back({load, load.getView(), load.getStarts(), load.getExtentsAttr(), load.getInBounds(),
                       BufferType::get(op.getContext(), type.getShape(),
                                       elementTypeInBuffer(op.getContext(), dtype), Swizzle::Xor)});
  }
  if (!why.empty()) return why;
  for (const StepCopy &copy : copies_)
    for (Value start : copy.starts)
      if (!isKnownAhead(start)) return "where it copies from depends on the step before";
  return copies_.empty() ? "it copies no factor of a product into shared memory" : "";
}

std::string Pipelining::whyNotBoxes() {
  // The words that count arrivals are prepared before the loop, and may be prepared once.
  if (loop_->getParentOfType<scf::ForOp>()) return "it is inside another loop";
  for (StepCopy &copy : copies_) {
    std::string why =
        whyNoBoxes(kernel_, copy.view, copy.extents, copy.starts.back(), copy.buffer, &columns_);
    if (!why.empty()) return why;
    if (copy.alloc && !canSwizzle(copy.alloc))
      return "a buffer that it copies to is read by other operations than products of matrix instructions";
  }
  return "";
}

bool Pipelining::onlyAddsToSums() {
  MmaOp product;
  for (Operation &op : loop_.getBody()->without_terminator()) {
    if (auto mma = dyn_cast<MmaOp>(op)) {
      const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
      if (product || !row || !row->readsShared() || sumOfLoop(mma) != loop_) return false;
      product = mma;
      continue;
    }
    const bool isCopy =
        isa<BarrierOp>(op) ||
        llvm::is_contained(llvm::map_range(copies_, [](StepCopy &copy) { return copy.op; }), &op);
    if (!isCopy && (op.getNumRegions() || llvm::any_of(op.getResults(), [](Value v) { return isTile(v); })))
      return false;
  }
  return static_cast<bool>(product);
}

/// Emits the copies of a step for what `map` has for the loop's values.
void Pipelining::emitCopies(OpBuilder &b, IRMapping map, Value slot) {
  for (Operation *op : indices_)
    if (auto load = dyn_cast<LoadElemOp>(b.clone(*op, map)))
      load.setInBounds(false); // the step may be past the last
  int64_t bytes = 0;
  for (const StepCopy &copy : copies_)
    bytes += copy.buffer.getSizeInBytes();
  if (usesBoxes_) ExpectBytesOp::create(b, loop_.getLoc(), arrivals_, slot, bytes);
  for (auto [copy, ring] : llvm::zip(copies_, rings_)) {
    Value buffer = SlotOp::create(b, copy.op->getLoc(), copy.buffer, ring, slot);
    SmallVector<Value> starts =
        llvm::map_to_vector(copy.starts, [&](Value v) { return map.lookupOrDefault(v); });
    if (usesBoxes_)
      CopyBoxOp::create(b, copy.op->getLoc(), copy.view, starts, copy.extents.asArrayRef(), buffer, arrivals_,
                        slot, hasCluster() && copy.isShared);
    else
      CpAsyncOp::create(b, copy.op->getLoc(), copy.view, starts, copy.extents, buffer, copy.inBounds);
  }
}

/// Emits, if `inRange`, the copies of the step with this value of the loop's variable, and ends their group.
void Pipelining::emitCopiesIf(OpBuilder &b, Value inRange, Value variable, Value slot) {
  Location loc = loop_.getLoc();
  auto branch = scf::IfOp::create(b, loc, inRange, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping map;
    map.map(loop_.getInductionVar(), variable);
    emitCopies(b, map, slot);
  }
  if (!usesBoxes_) CommitGroupOp::create(b, loc);
}

/// The buffer of the next step, and the phase of its words: they have all had one more phase when the first
/// buffer is used again.
std::pair<Value, Value> Pipelining::advance(OpBuilder &b, Value slot, Value phase, int64_t stages) {
  Location loc = loop_.getLoc();
  auto index = [&](int64_t i) -> Value { return arith::ConstantIndexOp::create(b, loc, i); };
  Value next = arith::AddIOp::create(b, loc, slot, index(1));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next, index(stages));
  Value first = arith::SelectOp::create(b, loc, isLast, index(0), next);
  if (!phase) return {first, {}};
  Value other = arith::SubIOp::create(b, loc, index(1), phase);
  return {first, arith::SelectOp::create(b, loc, isLast, other, phase)};
}

/// Does the kernel start copies before the loop, also under a condition or in another loop?
bool Pipelining::copiesBefore() {
  bool copies = false;
  kernel_->walk<WalkOrder::PreOrder>([&](Operation *op) {
    copies |= isa<CpAsyncOp>(op);
    return op == loop_ || copies ? WalkResult::interrupt() : WalkResult::advance();
  });
  return copies;
}

void Pipelining::allocateRings(OpBuilder &b, int64_t stages) {
  for (StepCopy &copy : copies_) {
    SmallVector<int64_t> shape = {stages};
    llvm::append_range(shape, copy.buffer.getShape());
    auto type =
        BufferType::get(b.getContext(), shape, copy.buffer.getElementType(), copy.buffer.getSwizzle());
    rings_.push_back(AllocSharedOp::create(b, copy.op->getLoc(), type,
                                           usesBoxes_ ? std::max(copy.align(), kRingAlign) : copy.align(),
                                           IntegerAttr()));
  }
}

Value Pipelining::allocateWords(OpBuilder &b, int64_t count) {
  auto type = BufferType::get(b.getContext(), {count}, b.getI64Type(), Swizzle::None);
  return AllocSharedOp::create(b, loop_.getLoc(), type, kArrivalsWord, IntegerAttr());
}

void Pipelining::apply(int64_t stages) {
  if (roles_ && roles_.getMultiplyWarps()) return applyTensorRoles(stages);
  OpBuilder b(loop_);
  Location loc = loop_.getLoc();
  llvm::DenseMap<int64_t, Value> constants;
  auto index = [&](int64_t i) -> Value {
    Value &known = constants[i];
    OpBuilder atStart = OpBuilder::atBlockBegin(loop_->getBlock());
    if (!known) known = arith::ConstantIndexOp::create(atStart, loc, i);
    return known;
  };
  allocateRings(b, stages);
  std::optional<BlockParts> parts;
  ValueRange copyEnd;
  SmallVector<Operation *> shared = llvm::map_to_vector(rings_, [](Value v) { return v.getDefiningOp(); });
  if (usesBoxes_) {
    SmallVector<Value> all = {arrivals_ = allocateWords(b, stages)};
    SmallVector<int64_t> counts = {1};
    if (roles_)
      all.push_back(free_ = allocateWords(b, stages)),
          counts.push_back(roles_.getMathWarps() * roles_.programsOfCluster());
    shared.append({InitArrivalsOp::create(b, loc, all, counts), arrivals_.getDefiningOp()});
    if (roles_) {
      shared.push_back(free_.getDefiningOp());
      copyEnd = emitCopyRole(parts.emplace(kernel_, roles_, b).copy, stages);
    }
  }
  Value lower = loop_.getLowerBound(), upper = loop_.getUpperBound();
  const int64_t step = *getConstantIntValue(loop_.getStep());
  // The distance of bounds in order is right as an unsigned number, whatever the bounds are.
  auto isFurther = [&](Value variable, int64_t steps) -> Value {
    Value distance = arith::SubIOp::create(b, loc, upper, variable);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, distance, index(steps * step));
  };
  Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lower, upper);
  // The loop may run again while other threads read what its last step has in the ring.
  const bool runsAgain = loop_->getParentOfType<scf::ForOp>() || loop_->getParentOfType<scf::WhileOp>();
  if (!roles_ && runsAgain) BarrierOp::create(b, loc);
  for (int64_t i = 0; !roles_ && i + 1 < stages; ++i) {
    Value inRange = i ? arith::AndIOp::create(b, loc, runs, isFurther(lower, i)).getResult() : runs;
    Value variable = i ? arith::AddIOp::create(b, loc, lower, index(i * step)).getResult() : lower;
    emitCopiesIf(b, inRange, variable, index(i));
  }

  const bool staysInFlight = usesBoxes_ && onlyAddsToSums();
  SmallVector<Value> inits(loop_.getInitArgs());
  if (parts)
    llvm::append_range(inits, parts->math.start);
  else
    inits.append(usesBoxes_ ? 2 : 1, index(0));
  // The barriers of the body, which would have completed other copies, are erased, or come after the product.
  if ((roles_ || staysInFlight) && copiesBefore()) BarrierOp::create(b, loc);
  if (roles_ && roles_.getPingpong()) {
    auto [first, second] = productsOfTurn();
    AwaitTurnOp::create(b, loc);
    OpBuilder after(first->getContext());
    after.setInsertionPointAfter(first);
    PassTurnOp::create(after, first.getLoc());
    OpBuilder inTurn(second);
    AwaitTurnOp::create(inTurn, second.getLoc());
  }
  auto loop = scf::ForOp::create(b, loc, lower, upper, loop_.getStep(), inits);
  loop->setAttrs(loop_->getAttrDictionary());
  Block *body = loop.getBody();
  Value slot = body->getArgument(loop_.getBody()->getNumArguments());
  Value phase = usesBoxes_ ? Value(body->getArguments().back()) : Value();
  // The body's operations move behind what starts a step.
  b.setInsertionPointToStart(body);
  if (usesBoxes_)
    AwaitBytesOp::create(b, loc, arrivals_, slot, phase);
  else
    WaitGroupOp::create(b, loc, stages - 2);
  auto before = [&](OpBuilder &at, Value next) -> Value {
    Value isFirst = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, next, index(0));
    Value less = arith::SubIOp::create(at, loc, next, index(1));
    return arith::SelectOp::create(at, loc, isFirst, index(stages - 1), less);
  };
  Value target = before(b, slot);
  Operation *firstOfCopies = target.getDefiningOp();
  BarrierOp barrier;             // of all threads: what the step before has read may be overwritten
  if (roles_ && staysInFlight) { // the product of the step before has ended
    Value isLater = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), lower);
    auto branch = scf::IfOp::create(b, loc, isLater, /*withElseRegion=*/false);
    OpBuilder inner = OpBuilder::atBlockBegin(branch.thenBlock());
    ArriveOp::create(inner, loc, free_, target, hasCluster());
  } else if (!roles_) {
    if (usesBoxes_) barrier = BarrierOp::create(b, loc);
    Value ahead = arith::AddIOp::create(b, loc, loop.getInductionVar(), index((stages - 1) * step));
    emitCopiesIf(b, isFurther(loop.getInductionVar(), stages - 1), ahead, target);
  }
  Operation *lastOfCopies = &*std::prev(b.getInsertionPoint());
  bool isExplicit = false;
  for (auto [copy, ring] : llvm::zip(copies_, rings_)) {
    Value buffer = SlotOp::create(b, copy.op->getLoc(), copy.buffer, ring, slot);
    if (copy.alloc) {
      isExplicit = true;
      copy.alloc.getResult().replaceAllUsesWith(buffer);
    } else {
      copy.op->getResult(0).replaceAllUsesWith(buffer);
    }
  }
  for (auto [from, to] : llvm::zip(loop_.getBody()->getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  body->getOperations().splice(body->end(), loop_.getBody()->getOperations());
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  // Products that read shared memory by themselves run while the copies are started. Boxes are started by one
  // thread, as early as their buffers are free.
  const bool runsBeside = llvm::any_of(body->getOps<MmaOp>(), [](MmaOp mma) {
    const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
    return row && row->readsShared();
  });
  if (usesBoxes_ ? staysInFlight : runsBeside)
    body->getOperations().splice(yield->getIterator(), body->getOperations(), firstOfCopies->getIterator(),
                                 std::next(lastOfCopies->getIterator()));
  if (staysInFlight) (*body->getOps<MmaOp>().begin()).setInFlight(true);
  b.setInsertionPoint(yield);
  if (roles_ && !staysInFlight) ArriveOp::create(b, loc, free_, slot, hasCluster()); // all has been read
  const auto [next, nextPhase] = advance(b, slot, phase, stages);
  yield->insertOperands(yield->getNumOperands(), next);
  if (nextPhase) yield->insertOperands(yield->getNumOperands(), nextPhase);
  for (auto [from, to] : llvm::zip(loop_.getResults(), loop.getResults()))
    from.replaceAllUsesWith(to);
  if (roles_ && roles_.getPingpong()) {
    b.setInsertionPointAfter(loop);
    PassTurnOp::create(b, loc);
  }
  const ValueRange mathEnd = roles_ ? ValueRange(loop.getResults().take_back(2)) : ValueRange();
  if (roles_ && roles_.getPersistent() && staysInFlight) {
    // The last product has ended; the next program's copies wait for its buffer.
    b.setInsertionPointAfter(loop);
    auto branch = scf::IfOp::create(b, loc, runs, /*withElseRegion=*/false);
    OpBuilder inner = OpBuilder::atBlockBegin(branch.thenBlock());
    ArriveOp::create(inner, loc, free_, before(inner, mathEnd.front()), hasCluster());
  }
  for (StepCopy &copy : copies_) {
    copy.op->erase();
    if (copy.alloc) copy.alloc->erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if ((isExplicit && isa<BarrierOp>(op) && &op != barrier) || isOpTriviallyDead(&op)) op.erase();
  loop_->erase();
  if (parts) parts->finish(shared, copyEnd, {}, mathEnd);
}

} // namespace tessera::tile
