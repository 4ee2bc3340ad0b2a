// tile-pipeline-loops (normative phase 4): copies what a loop multiplies some steps ahead, into rings of
// buffers.
//
//   %a = tile.alloc_shared                       %r = tile.alloc_shared : ring of 3 buffers
//   scf.for %k = %lo to %hi step %s {            copy step 0 to %r[0], commit; copy step 1 to %r[1], commit
//     tile.cp_async %A[%k] to %a                 scf.for %k = %lo to %hi step %s iter_args(%i = 0) {
//     tile.barrier                        ->       tile.wait_group 1
//     tile.mma %a, ...                             if (%k + 2 * %s < %hi) copy that step to %r[%i + 2 mod 3]
//     tile.barrier                                 tile.commit_group
//   }                                              tile.mma %r[%i], ...
//                                                  yield %i + 1 mod 3 }
//
// A step past the end copies nothing and ends its group, so that each wait has the same number. The wait is a
// barrier, too: what the step before has read may be overwritten after it. It runs after the first plan of
// memory and after fusion, when it is known how much shared memory is free and which tiles are factors in
// memory, and before the last plan.
//
// If the target copies boxes of tensors, a kernel gets a variant whose rings are filled that way, for
// launches that allow it:
//
//   scf.for ... iter_args(%i = 0, %phase = 0) {
//     tile.await_bytes %full[%i] phase %phase
//     tile.mma %r[%i], ... {in_flight}
//     tile.barrier
//     if (%k + 2 * %s < %hi) { tile.expect_bytes in %full[%i - 1]; tile.copy_box that step to %r[%i - 1] }
//   }
//
// A step that does more than add to sums has the barrier before its product.
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/Transforms/BoxCopies.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_TILEPIPELINELOOPS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

constexpr int64_t kRingAlign = 1024; // of a ring that this pass adds: what swizzled bulk copies need
constexpr int64_t kWord = 8;         // bytes of a word that counts arrivals

/// A copy of each step: a tile.cp_async, or a tile.load of a factor, which becomes one.
struct Copy {
  Operation *op;
  Value view;
  ValueRange starts;
  DenseI64ArrayAttr extents;
  bool inBounds;
  BufferType buffer;        // of one step
  AllocSharedOp alloc = {}; // of a tile.cp_async

  int64_t align() { return alloc ? int64_t(alloc.getAlign()) : kRingAlign; }
  int64_t bytes() { return llvm::alignTo(buffer.getSizeInBytes(), align()); }
};

class Pipelining {
public:
  Pipelining(scf::ForOp loop, KernelOp kernel) : loop_(loop), kernel_(kernel) {}

  /// Finds the copies of the loop. Returns why the loop cannot be pipelined, or an empty text.
  std::string analyse();
  /// Returns why the copies that analyse() has found cannot be those of boxes, or an empty text.
  std::string whyNotBoxes();
  void useBoxes(bool uses) { usesBoxes_ = uses; }
  /// The tensors that are copied.
  SmallVector<Value> views() {
    return llvm::map_to_vector(copies_, [](const Copy &copy) { return copy.view; });
  }

  /// Bytes that `stages` stages take beyond those of the buffers that the loop has.
  int64_t bytesOf(int64_t stages) {
    int64_t bytes = 0;
    for (Copy &copy : copies_)
      bytes += copy.bytes() * (stages - (copy.alloc ? 1 : 0));
    return usesBoxes_ ? bytes + llvm::alignTo(stages * kWord, kRingAlign) : bytes;
  }

  void apply(int64_t stages);

private:
  std::string analyseCopy(CpAsyncOp);
  bool isFactor(LoadOp);
  bool isKnownAhead(Value);
  bool onlyAddsToSums();
  void emitCopies(OpBuilder &b, Value inRange, Value variable, Value slot);

  scf::ForOp loop_;
  KernelOp kernel_;
  SmallVector<Copy> copies_;
  llvm::SetVector<Operation *> indices_; // that compute where the copies start
  SmallVector<Value> rings_;             // by copy
  bool usesBoxes_ = false;
  Value arrivals_; // of boxes: a word for each stage
};

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
    copies_.push_back({load, load.getView(), load.getStarts(), load.getExtentsAttr(), load.getInBounds(),
                       BufferType::get(op.getContext(), type.getShape(),
                                       load.getView().getType().getElementType(), Swizzle::Xor)});
  }
  if (!why.empty()) return why;
  for (const Copy &copy : copies_)
    for (Value start : copy.starts)
      if (!isKnownAhead(start)) return "where it copies from depends on the step before";
  return copies_.empty() ? "it copies no factor of a product into shared memory" : "";
}

std::string Pipelining::whyNotBoxes() {
  // The words that count arrivals are prepared before the loop, and may be prepared once.
  if (loop_->getParentOfType<scf::ForOp>()) return "it is inside another loop";
  for (Copy &copy : copies_) {
    if (std::string why = whyNoBoxes(kernel_, copy.view, copy.extents, copy.buffer); !why.empty()) return why;
    if (copy.alloc && !canSwizzle(copy.alloc))
      return "a buffer that it copies to is read by other operations than products of matrix instructions";
  }
  return "";
}

/// Is the body one product that reads shared memory and adds to its own sums, beside copies and scalars? Such
/// a product runs until the next one has started.
bool Pipelining::onlyAddsToSums() {
  MmaOp product;
  for (Operation &op : loop_.getBody()->without_terminator()) {
    if (auto mma = dyn_cast<MmaOp>(op)) {
      const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
      if (product || !row || !row->readsShared() || sumOfLoop(mma) != loop_) return false;
      product = mma;
      continue;
    }
    const bool isCopy = isa<BarrierOp>(op) ||
                        llvm::is_contained(llvm::map_range(copies_, [](Copy &copy) { return copy.op; }), &op);
    if (!isCopy && (op.getNumRegions() || llvm::any_of(op.getResults(), [](Value v) { return isTile(v); })))
      return false;
  }
  return static_cast<bool>(product);
}

/// Emits, if `inRange`, the copies of the step with this value of the loop's variable, and ends their group.
void Pipelining::emitCopies(OpBuilder &b, Value inRange, Value variable, Value slot) {
  Location loc = loop_.getLoc();
  auto branch = scf::IfOp::create(b, loc, inRange, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping map;
    map.map(loop_.getInductionVar(), variable);
    for (Operation *op : indices_)
      b.clone(*op, map);
    int64_t bytes = 0;
    for (const Copy &copy : copies_)
      bytes += copy.buffer.getSizeInBytes();
    if (usesBoxes_) ExpectBytesOp::create(b, loc, arrivals_, slot, bytes);
    for (auto [copy, ring] : llvm::zip(copies_, rings_)) {
      Value buffer = SlotOp::create(b, copy.op->getLoc(), copy.buffer, ring, slot);
      SmallVector<Value> starts =
          llvm::map_to_vector(copy.starts, [&](Value v) { return map.lookupOrDefault(v); });
      if (usesBoxes_)
        CopyBoxOp::create(b, copy.op->getLoc(), copy.view, starts, copy.extents, buffer, arrivals_, slot);
      else
        CpAsyncOp::create(b, copy.op->getLoc(), copy.view, starts, copy.extents, buffer, copy.inBounds);
    }
  }
  if (!usesBoxes_) CommitGroupOp::create(b, loc);
}

void Pipelining::apply(int64_t stages) {
  OpBuilder b(loop_);
  Location loc = loop_.getLoc();
  llvm::DenseMap<int64_t, Value> constants;
  auto index = [&](int64_t i) -> Value {
    Value &known = constants[i];
    OpBuilder atStart = OpBuilder::atBlockBegin(loop_->getBlock());
    if (!known) known = arith::ConstantIndexOp::create(atStart, loc, i);
    return known;
  };
  for (Copy &copy : copies_) {
    SmallVector<int64_t> shape = {stages};
    llvm::append_range(shape, copy.buffer.getShape());
    auto type =
        BufferType::get(b.getContext(), shape, copy.buffer.getElementType(), copy.buffer.getSwizzle());
    rings_.push_back(AllocSharedOp::create(b, copy.op->getLoc(), type,
                                           usesBoxes_ ? std::max(copy.align(), kRingAlign) : copy.align(),
                                           IntegerAttr()));
  }
  if (usesBoxes_) {
    auto type = BufferType::get(b.getContext(), {stages}, b.getI64Type(), Swizzle::None);
    arrivals_ = AllocSharedOp::create(b, loc, type, kWord, IntegerAttr());
    InitArrivalsOp::create(b, loc, arrivals_);
  }
  Value lower = loop_.getLowerBound(), upper = loop_.getUpperBound();
  const int64_t step = *getConstantIntValue(loop_.getStep());
  // The distance of bounds in order is right as an unsigned number, whatever the bounds are.
  auto isFurther = [&](Value variable, int64_t steps) -> Value {
    Value distance = arith::SubIOp::create(b, loc, upper, variable);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, distance, index(steps * step));
  };
  Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lower, upper);
  for (int64_t i = 0; i + 1 < stages; ++i) {
    Value inRange = i ? arith::AndIOp::create(b, loc, runs, isFurther(lower, i)).getResult() : runs;
    Value variable = i ? arith::AddIOp::create(b, loc, lower, index(i * step)).getResult() : lower;
    emitCopies(b, inRange, variable, index(i));
  }

  const bool staysInFlight = usesBoxes_ && onlyAddsToSums();
  SmallVector<Value> inits(loop_.getInitArgs());
  inits.push_back(index(0));
  if (usesBoxes_) inits.push_back(index(0));
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
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, slot, index(0));
  Value before = arith::SubIOp::create(b, loc, slot, index(1));
  Value target = arith::SelectOp::create(b, loc, isFirst, index(stages - 1), before);
  Operation *firstOfCopies = target.getDefiningOp();
  BarrierOp barrier; // of all threads: what the step before has read may be overwritten
  if (usesBoxes_) barrier = BarrierOp::create(b, loc);
  Value ahead = arith::AddIOp::create(b, loc, loop.getInductionVar(), index((stages - 1) * step));
  emitCopies(b, isFurther(loop.getInductionVar(), stages - 1), ahead, target);
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
  Value next = arith::AddIOp::create(b, loc, slot, index(1));
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next, index(stages));
  yield->insertOperands(yield->getNumOperands(),
                        arith::SelectOp::create(b, loc, isLast, index(0), next).getResult());
  if (usesBoxes_) { // the words of all stages have had one more phase when the first one is used again
    Value other = arith::SubIOp::create(b, loc, index(1), phase);
    yield->insertOperands(yield->getNumOperands(),
                          arith::SelectOp::create(b, loc, isLast, other, phase).getResult());
  }
  for (auto [from, to] : llvm::zip(loop_.getResults(), loop.getResults()))
    from.replaceAllUsesWith(to);
  for (Copy &copy : copies_) {
    copy.op->erase();
    if (copy.alloc) copy.alloc->erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if ((isExplicit && isa<BarrierOp>(op) && &op != barrier) || isOpTriviallyDead(&op)) op.erase();
  loop_->erase();
}

/// How the copies of a kernel's loops are to be done.
enum class Kind { Async, Boxes };

struct PipelineLoops : impl::TilePipelineLoopsBase<PipelineLoops> {
  using impl::TilePipelineLoopsBase<PipelineLoops>::TilePipelineLoopsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      OwningOpRef<KernelOp> other;
      if (boxes && mayHaveVariants(kernel)) other = kernel.clone();
      if (failed(pipeline(kernel, Kind::Async))) return signalPassFailure();
      if (!other) continue;
      if (failed(pipeline(*other, Kind::Boxes))) return signalPassFailure();
      if (!views_.empty()) addVariant(kernel, std::move(other));
    }
  }

private:
  /// A kernel with reports has no variants, nor has a variant.
  static bool mayHaveVariants(KernelOp kernel) {
    return !kernel->hasAttr(kVariants) &&
           llvm::none_of(kernel.getParams().getAsRange<ParamAttr>(), [](auto param) {
             return param.getPolicy() && param.getPolicy().contains("reports");
           });
  }

  /// Pipelines the kernel's loops. With Kind::Boxes, `views_` are the tensors that are copied so.
  LogicalResult pipeline(KernelOp kernel, Kind kind) {
    kind_ = kind;
    used_ =
        kernel.getScratchBytes().value_or(0) + exchangeBytes(kernel, kernel.getThreads().value_or(threads));
    lines_.clear();
    views_.clear();
    int64_t deepest = 1;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(kLanes)) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      FailureOr<int64_t> depth = pipeline(kernel, loop);
      if (failed(depth)) return failure();
      deepest = std::max(deepest, *depth);
    }
    Builder b(&getContext());
    NamedAttrList decisions(kernel.getDecisionsAttr());
    if (!loops.empty()) decisions.set("stages", b.getI64IntegerAttr(deepest));
    if (!decisions.empty()) kernel.setDecisionsAttr(decisions.getDictionary(&getContext()));
    addFallbacks(kernel, lines_);
    return success();
  }

  /// Makes `boxes` a variant of `general`, for the launches in which its copies are possible.
  void addVariant(KernelOp general, OwningOpRef<KernelOp> boxes) {
    KernelOp kernel = boxes.release();
    MetadataVariant variant;
    variant.name = variant.body = kBoxes.str();
    variant.entry = general.getSymName().str() + "." + variant.name;
    variant.when = boxConditions(general, views_.getArrayRef());
    kernel.setSymName(variant.entry);
    general->getBlock()->getOperations().insert(std::next(general->getIterator()), kernel);
    MetadataVariant last;
    last.name = last.body = "async";
    general->setAttr(kVariants, describeVariants(&getContext(), {variant, last}));
  }

  /// Returns the number of stages that the loop has then.
  FailureOr<int64_t> pipeline(KernelOp kernel, scf::ForOp loop) {
    auto decided = dyn_cast_or_null<IntegerAttr>(loop->removeAttr(schedule::kStages)),
         hint = dyn_cast_or_null<IntegerAttr>(loop->removeAttr(schedule::kMostStages));
    auto copy = dyn_cast_or_null<StringAttr>(loop->removeAttr(schedule::kCopy));
    const int64_t wanted = decided ? decided.getInt() : hint ? hint.getInt() : int64_t(stages);
    auto report = [&](const llvm::Twine &what) {
      if (decided || hint) lines_.insert(llvm::formatv("{0}: stages={1} {2}", backend, wanted, what.str()));
    };
    auto refuse = [&](const llvm::Twine &decision, const llvm::Twine &why, const llvm::Twine &how) {
      InFlightDiagnostic error = loop.emitError() << decision << ": " << why;
      setCode(error, "E_IR_INVALID");
      setHint(error, how.str());
      return error;
    };
    Pipelining pipelining(loop, kernel);
    const bool demandsBoxes = copy && copy.getValue() == kBoxes;
    std::string why = wanted < 2 ? "it has one stage" : pipelining.analyse(), whyNoBoxes = why;
    if (whyNoBoxes.empty() && !(copy && !demandsBoxes) && (kind_ == Kind::Boxes || demandsBoxes))
      whyNoBoxes = !boxes                     ? backend + " does not copy boxes of tensors"
                   : !mayHaveVariants(kernel) ? "the kernel has reports, or variants of its own"
                   : !views_.empty()          ? "another loop of the kernel copies boxes"
                                              : pipelining.whyNotBoxes();
    if (demandsBoxes && !whyNoBoxes.empty())
      return refuse("schedule.copy = \"tma\"", whyNoBoxes,
                    "\"async\", or no decision, copies pieces of rows by every thread");
    if (wanted < 2) return 1;
    if (!why.empty()) return report("has no effect: " + why), 1;
    const bool usesBoxes = kind_ == Kind::Boxes && whyNoBoxes.empty() && (!copy || demandsBoxes);
    pipelining.useBoxes(usesBoxes);
    int64_t depth = wanted;
    while (depth > 1 && used_ + pipelining.bytesOf(depth) > sharedBytes)
      --depth;
    if (usesBoxes && depth < wanted && decided && !demandsBoxes) return 1; // the other variant has them
    if (depth < wanted) {
      const std::string amount = llvm::formatv("it needs {0} bytes of shared memory, {1} has {2}",
                                               used_ + pipelining.bytesOf(wanted), backend, sharedBytes);
      if (decided)
        return refuse("schedule.stages = " + llvm::Twine(wanted), amount,
                      llvm::formatv("at most {0} fit; smaller tiles leave room for more", depth).str());
      report(depth > 1 ? "is reduced to " + std::to_string(depth) + ": " + amount
                       : "has no effect: " + amount);
    }
    if (depth < 2 && demandsBoxes)
      return refuse("schedule.copy = \"tma\"", "two stages do not fit into shared memory",
                    "smaller tiles do");
    if (depth < 2) return 1;
    used_ += pipelining.bytesOf(depth);
    if (usesBoxes) views_.insert_range(pipelining.views());
    pipelining.apply(depth);
    return depth;
  }

  static constexpr llvm::StringLiteral kBoxes = "tma";
  Kind kind_ = Kind::Async;
  int64_t used_ = 0; // bytes of shared memory
  std::set<std::string> lines_;
  llvm::SmallSetVector<Value, 4> views_;
};

} // namespace
} // namespace tessera
