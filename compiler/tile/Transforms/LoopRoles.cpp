// What warps of a block with roles do in a loop, and the roles that are impossible (tile-pipeline-loops has
// the forms).
#include "compiler/layout/Fragments.h"
#include "compiler/tile/Transforms/LoopPipeline.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera::tile {

std::string Pipelining::whyNotRoles() {
  auto holdsSums = [](MmaOp mma) {
    return mma.getFragment() && cast<RankedTensorType>(mma.getResult().getType()).getEncoding();
  };
  auto products = loop_.getBody()->getOps<MmaOp>();
  if (products.empty() || !llvm::all_of(products, holdsSums))
    return "its loop has a product without sums in registers";
  SmallVector<Value> needed = {loop_.getLowerBound(), loop_.getUpperBound()};
  for (Operation *op : indices_)
    llvm::append_range(needed, op->getOperands());
  for (const StepCopy &copy : copies_)
    llvm::append_range(needed, copy.starts);
  return BlockParts::whyNot(kernel_, loop_, needed);
}

/// Could the value differ between programs whose positions differ along this axis of the grid?
bool Pipelining::dependsOnAxis(Value value, int64_t axis) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (values[i] == loop_.getInductionVar()) {
      values.insert(loop_.getLowerBound());
    } else if (!op) {
      if (!isa<KernelOp>(cast<BlockArgument>(values[i]).getOwner()->getParentOp())) return true;
    } else if (auto id = dyn_cast<ProgramIdOp>(op)) {
      if (int64_t(id.getAxis()) == axis) return true;
    } else {
      if (op->getNumRegions()) return true;
      values.insert(op->operand_begin(), op->operand_end());
    }
  }
  return false;
}

std::string Pipelining::whyNotCluster(schedule::BlockAttr roles) {
  constexpr int64_t kRows = 8; // after which a swizzle repeats
  const int64_t programs = roles.programsOfCluster(), axes = int64_t(kernel_.getGrid().size());
  if (axes < 2)
    return llvm::formatv("a cluster has rows and columns of programs; the grid needs two axes and has {0}",
                         axes);
  const int64_t axis = axes - (roles.getClusterRows() > 1 ? 2 : 1);
  const auto count = cast<IndexExprAttr>(kernel_.getGrid()[axis]).getExpr().asConstant();
  if (count && *count % programs)
    return llvm::formatv("the grid has {0} programs along axis {1}, which is no multiple of a cluster's {2}",
                         *count, axis, programs);
  if (dependsOnAxis(loop_.getLowerBound(), axis) || dependsOnAxis(loop_.getUpperBound(), axis))
    return "the programs of a cluster may have different numbers of steps";
  bool sharesAny = false;
  for (StepCopy &copy : copies_) {
    copy.isShared = llvm::none_of(copy.starts, [&](Value start) { return dependsOnAxis(start, axis); });
    sharesAny |= copy.isShared;
    if (const int64_t rows = copy.buffer.getShape().front(); copy.isShared && rows % (programs * kRows))
      return llvm::formatv(
          "{0} rows of {1} that a cluster shares do not divide into {2} parts of a multiple of {3}", rows,
          copy.buffer, programs, kRows);
  }
  return sharesAny ? "" : "the programs of a cluster copy no tile in common";
}

std::string Pipelining::whyNotPersistent() {
  bool asks = false, multipliesOutside = false;
  kernel_.walk([&](Operation *op) {
    asks |= isa<GroupInfoOp>(op);
    multipliesOutside |= isa<MmaOp>(op) && !loop_->isAncestor(op);
  });
  if (asks)
    return "the kernel asks for its group, which is a block; a persistent block runs several programs";
  return multipliesOutside
             ? "the kernel has products outside of the loop whose copies have warps of their own"
             : "";
}

std::pair<MmaOp, MmaOp> Pipelining::productsOfTurn() {
  llvm::SmallPtrSet<Operation *, 32> computed; // from sums of the step's products
  MmaOp before;
  for (Operation &op : loop_.getBody()->without_terminator()) {
    auto product = dyn_cast<MmaOp>(op);
    auto isComputed = [&](Value v) { return computed.contains(v.getDefiningOp()); };
    const bool uses = product ? isComputed(product.getA()) || isComputed(product.getB())
                              : op.walk([&](Operation *inner) {
                                    return llvm::any_of(inner->getOperands(), isComputed)
                                               ? WalkResult::interrupt()
                                               : WalkResult::advance();
                                  }).wasInterrupted();
    if (product && uses) return {before, product};
    if (product || uses) computed.insert(&op);
    if (product) before = product;
  }
  return {};
}

std::string Pipelining::whyNotPingpong() {
  const auto [first, second] = productsOfTurn();
  if (!second)
    return "with pingpong warps take turns between two products of a step, of which one uses what was "
           "computed from the sums of the other; the loop has none";
  // Sums in registers, which roles need, are those of a matrix instruction.
  for (MmaOp product : loop_.getBody()->getOps<MmaOp>())
    if (const layout::WarpGrid grid = product.getFragment()->getWarpGrid(); grid.n > 1)
      return llvm::formatv("with pingpong each group of warps has its own rows; the warps of a product are "
                           "[{0}, {1}], so that groups share rows and meet",
                           grid.m, grid.n);
  // In its turn a group must not wait for the others. Products wait for factors that the step writes to
  // memory; those that a copy has brought are buffers, which are awaited otherwise.
  auto mayMeet = [&](Operation &op) {
    auto isStored = [](Value v) { return isTile(v) && inMemory(v); };
    auto isWritten = [&](Value v) { return isStored(v) && !loop_.isDefinedOutsideOfLoop(v); };
    auto convert = dyn_cast<ConvertOp>(op);
    if (auto mma = dyn_cast<MmaOp>(op)) return isWritten(mma.getA()) || isWritten(mma.getB());
    return (op.getNumRegions() || isa<ReduceOp, BarrierOp>(op) ||
            (convert && !isInRegisters(convert.getResult())) || llvm::any_of(op.getOperands(), isStored) ||
            llvm::any_of(op.getResults(), isStored));
  };
  bool isTurn = true;
  for (Operation &op : loop_.getBody()->without_terminator()) {
    if (&op == second) isTurn = true;
    const bool isCopy =
        isa<BarrierOp>(op) ||
        llvm::is_contained(llvm::map_range(copies_, [](StepCopy &copy) { return copy.op; }), &op);
    if (isTurn && !isCopy && mayMeet(op))
      return llvm::formatv("with pingpong a group multiplies without the others; {0} between the last "
                           "product of a step and the first one of the next may wait for them",
                           op.getName());
    if (&op == first) isTurn = false;
  }
  return "";
}

int64_t Pipelining::sumsOfLane() {
  int64_t sums = 0;
  for (MmaOp product : loop_.getBody()->getOps<MmaOp>())
    sums += cast<LayoutAttr>(tileType(product.getResult()).getEncoding()).getValue().registers();
  return sums;
}

ValueRange Pipelining::emitCopyRole(BlockParts::Part &part, int64_t stages) {
  OpBuilder &b = part.b;
  Location loc = loop_.getLoc();
  IRMapping map;
  auto bring = [&](Value v) {
    if (loop_.isDefinedOutsideOfLoop(v)) map.map(v, part.valueOf(v));
  };
  for (Operation *op : indices_)
    llvm::for_each(op->getOperands(), bring);
  for (const StepCopy &copy : copies_)
    llvm::for_each(copy.starts, bring);
  Value lower = part.valueOf(loop_.getLowerBound()), upper = part.valueOf(loop_.getUpperBound()),
        step = part.valueOf(loop_.getStep());
  auto loop = scf::ForOp::create(b, loc, lower, upper, step, part.start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value slot = loop.getRegionIterArg(0), phase = loop.getRegionIterArg(1);
  // The phase before the first one counts as ended: all buffers are free.
  Value before = arith::SubIOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, 1), phase);
  AwaitBytesOp::create(b, loc, free_, slot, before);
  map.map(loop_.getInductionVar(), loop.getInductionVar());
  emitCopies(b, map, slot);
  const auto [next, nextPhase] = advance(b, slot, phase, stages);
  scf::YieldOp::create(b, loc, ValueRange{next, nextPhase});
  return loop.getResults();
}

bool Pipelining::sumsInTensorMemory() {
  auto products = loop_.getBody()->getOps<MmaOp>();
  return !products.empty() && llvm::all_of(products, [](MmaOp mma) { return hasTensorMemory(mma); });
}

std::string Pipelining::whyNotTensorRoles(schedule::BlockAttr roles, int64_t warps) {
  constexpr int64_t kMostRegisters = 255; // of a thread
  if (!roles.getMultiplyWarps())
    return "its sums are in tensor memory: role multiply, whose warps start the products, has 0 warps";
  if (roles.getMathWarps() != warps)
    return llvm::formatv("role math has {0} warps, and {1} warps compute the kernel", roles.getMathWarps(),
                         warps);
  if (roles.programsOfCluster() > 1)
    return llvm::formatv("a cluster of {0} programs with sums in tensor memory is not implemented "
                         "(TSR_UNIMPLEMENTED)",
                         roles.programsOfCluster());
  if (!onlyAddsToSums() || loop_.getNumRegionIterArgs() != 1)
    return "beside role multiply a loop only adds products to sums; this one does more";
  const bool multipliesOutside =
      kernel_
          .walk([&](MmaOp mma) {
            return loop_->isAncestor(mma) ? WalkResult::advance() : WalkResult::interrupt();
          })
          .wasInterrupted();
  if (multipliesOutside)
    return "the kernel has products outside of the loop whose products have warps of their own";
  MmaOp product = *loop_.getBody()->getOps<MmaOp>().begin();
  if (!product.getLimits().empty())
    return "its product keeps the sums past the ends of its factors, which the warps that start it do not "
           "have";
  auto type = tileType(product.getResult());
  const int64_t columns = type.getDimSize(0) / product.getFragment()->getM() * type.getDimSize(1);
  if (const int64_t all = columns * roles.getSums(); all > layout::kTensorColumns)
    return llvm::formatv("{0} sets of sums need {1} columns of tensor memory, {2} each; a block has {3}",
                         roles.getSums(), all, columns, layout::kTensorColumns);
  const int64_t sums = sumsOfLane();
  return sums + kBesideSums <= kMostRegisters
             ? ""
             : llvm::formatv("a thread that stores has {0} sums and needs {1} registers; it has at most {2}",
                             sums, sums + kBesideSums, kMostRegisters)
                   .str();
}

/// Emits the part that starts products: they add to one set of sums in a program, which is passed when they
/// are done. Returns the buffer, set and phases that they end with.
SmallVector<Value> Pipelining::emitMultiplyRole(BlockParts::Part &part, int64_t stages, Value done,
                                                Value unused) {
  OpBuilder &b = part.b;
  Location loc = loop_.getLoc();
  Value set = part.start[2], setPhase = part.start[3];
  // The phase before the first one counts as ended: all sets are free.
  Value before = arith::SubIOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, 1), setPhase);
  AwaitBytesOp::create(b, loc, unused, set, before);
  MmaOp product = *loop_.getBody()->getOps<MmaOp>().begin();
  auto type = tileType(product.getResult());
  Value zero = arith::ConstantOp::create(
      b, loc, b.getZeroAttr(RankedTensorType::get(type.getShape(), type.getElementType())));
  Value none = ConvertOp::create(b, loc, type, zero); // sums that stay in tensor memory
  Value lower = part.valueOf(loop_.getLowerBound()), upper = part.valueOf(loop_.getUpperBound()),
        step = part.valueOf(loop_.getStep());
  auto loop = scf::ForOp::create(b, loc, lower, upper, step, ValueRange{none, part.start[0], part.start[1]});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = loop.getRegionIterArg(1), phase = loop.getRegionIterArg(2);
    AwaitBytesOp::create(b, loc, arrivals_, slot, phase);
    IRMapping map;
    map.map(product.getAcc(), loop.getRegionIterArg(0));
    for (auto [copy, ring] : llvm::zip(copies_, rings_))
      map.map(copy.alloc ? Value(copy.alloc.getResult()) : Value(copy.op->getResult(0)),
              SlotOp::create(b, copy.op->getLoc(), copy.buffer, ring, slot));
    Value sums = b.clone(*product, map)->getResult(0);
    CommitProductsOp::create(b, product.getLoc(), free_, slot, Value());
    const auto [next, nextPhase] = advance(b, slot, phase, stages);
    scf::YieldOp::create(b, loc, ValueRange{sums, next, nextPhase});
  }
  CommitProductsOp::create(b, product.getLoc(), done, set, loop.getResult(0));
  const auto [next, nextPhase] = advance(b, set, setPhase, roles_.getSums());
  return {loop.getResult(1), loop.getResult(2), next, nextPhase};
}

void Pipelining::applyTensorRoles(int64_t stages) {
  OpBuilder b(loop_);
  Location loc = loop_.getLoc();
  allocateRings(b, stages);
  arrivals_ = allocateWords(b, stages), free_ = allocateWords(b, stages);
  Value done = allocateWords(b, roles_.getSums()), unused = allocateWords(b, roles_.getSums());
  SmallVector<Operation *> shared = {InitArrivalsOp::create(
      b, loc, ValueRange{arrivals_, free_, done, unused}, ArrayRef<int64_t>{1, 1, 1, roles_.getMathWarps()})};
  for (Value ring : rings_)
    shared.push_back(ring.getDefiningOp());
  for (Value words : {arrivals_, free_, done, unused})
    shared.push_back(words.getDefiningOp());
  BlockParts parts(kernel_, roles_, b);
  // The barriers of the loop, which would have completed other copies, go with it.
  if (copiesBefore()) BarrierOp::create(b, loc);
  const SmallVector<Value> copyEnd = llvm::to_vector_of<Value>(emitCopyRole(parts.copy, stages)),
                           multiplyEnd = emitMultiplyRole(parts.multiply, stages, done, unused);
  // The sums are loaded before anything is stored, so that a later program can use their set.
  Value set = parts.math.start[0], phase = parts.math.start[1];
  AwaitBytesOp::create(b, loc, done, set, phase);
  Value any =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop_.getLowerBound(), loop_.getUpperBound());
  Value sums = TakeSumsOp::create(b, loc, loop_.getResult(0).getType(), set, any, loop_.getInitArgs()[0]);
  ArriveOp::create(b, loc, unused, set, /*in_cluster=*/false);
  const auto [next, nextPhase] = advance(b, set, phase, roles_.getSums());
  loop_.getResult(0).replaceAllUsesWith(sums);
  SmallVector<AllocSharedOp> replaced;
  for (StepCopy &copy : copies_)
    if (copy.alloc) replaced.push_back(copy.alloc);
  loop_->erase();
  for (AllocSharedOp alloc : replaced)
    alloc->erase();
  parts.finish(shared, copyEnd, multiplyEnd, {next, nextPhase});
}

} // namespace tessera::tile
