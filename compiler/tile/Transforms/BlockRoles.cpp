#include "compiler/tile/Transforms/BlockRoles.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::tile {

/// Can an operation of the kernel's body be executed by other threads, too?
static bool canBeRepeated(KernelOp kernel, Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != &kernel.getBody().front()) return true;
  if (op->getNumRegions() || isTile(v)) return false;
  if (auto load = dyn_cast<LoadElemOp>(op)) {
    if (writes(kernel.getParam(load.getView()).getAccess())) return false;
  } else if (!isMemoryEffectFree(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) { return canBeRepeated(kernel, operand); });
}

std::string BlockParts::whyNot(KernelOp kernel, scf::ForOp loop, ArrayRef<Value> needed) {
  if (loop->getParentOp() != kernel) return "its loop is in a branch";
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode())
    if (op->walk([](Operation *inner) {
            return isa<FenceOp, AtomicOp, AtomicCasOp>(inner) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
          }).wasInterrupted())
      return "its copies come after a fence or an atomic operation";
  return llvm::all_of(needed, [&](Value v) { return canBeRepeated(kernel, v); })
             ? ""
             : "where its loop copies from depends on what the kernel computes";
}

static void begin(BlockParts::Part &part, Region &region, bool isPersistent, unsigned places, Location loc) {
  Block &block = region.emplaceBlock();
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  const Type index = b.getIndexType();
  part.start.assign(places, Value(arith::ConstantIndexOp::create(b, loc, 0)));
  part.body = &block;
  if (isPersistent) {
    auto programs = BlockProgramsOp::create(b, loc, index, index, index);
    part.programs = scf::ForOp::create(b, loc, programs.getFirst(), programs.getCount(), programs.getBlocks(),
                                       part.start);
    part.body = part.programs.getBody();
    part.start = llvm::to_vector_of<Value>(part.programs.getRegionIterArgs());
  }
  part.b.setInsertionPointToEnd(part.body);
}

BlockParts::BlockParts(KernelOp kernel, schedule::BlockAttr roles, OpBuilder at)
    : copy(kernel), multiply(kernel), math(kernel), kernel_(kernel) {
  const Location loc = at.getInsertionPoint()->getLoc();
  roles_ = RolesOp::create(at, loc, roles.getCopyWarps(), roles.getCopyRegisters(), roles.getMultiplyWarps(),
                           roles.getMathRegisters());
  begin(copy, roles_.getCopy(), roles.getPersistent(), 2, loc);
  if (roles.getMultiplyWarps()) begin(multiply, roles_.getMultiply(), roles.getPersistent(), 4, loc);
  begin(math, roles_.getMath(), roles.getPersistent(), 2, loc);
}

Value BlockParts::Part::valueOf(Value v) {
  Operation *op = v.getDefiningOp();
  if (map.contains(v) || !op || op->getBlock() != &kernel.getBody().front()) return map.lookupOrDefault(v);
  for (Value operand : op->getOperands())
    (void)valueOf(operand);
  b.clone(*op, map);
  return map.lookup(v);
}

void BlockParts::finish(ArrayRef<Operation *> shared, ValueRange copyEnd, ValueRange multiplyEnd,
                        ValueRange mathEnd) {
  for (Operation &op : llvm::make_early_inc_range(kernel_.getBody().front().without_terminator()))
    if (&op != roles_ && !llvm::is_contained(shared, &op)) op.moveBefore(math.body, math.body->end());
  if (!math.programs) return;
  OpBuilder atEnd = OpBuilder::atBlockEnd(math.body);
  if (!math.body->getOps<AllocSharedOp>().empty()) // the next program writes what this one has read
    BarrierOp::create(atEnd, roles_.getLoc());
  for (auto [part, end] :
       {std::pair(&copy, copyEnd), std::pair(&multiply, multiplyEnd), std::pair(&math, mathEnd)}) {
    if (!part->programs) continue;
    OpBuilder b = OpBuilder::atBlockEnd(part->body);
    scf::YieldOp::create(b, roles_.getLoc(), end);
    part->programs.walk(
        [&](ProgramIdOp id) { id.getProgramMutable().assign(part->programs.getInductionVar()); });
  }
}

schedule::BlockAttr usualRoles(MLIRContext *context, int64_t mathWarps, int64_t sums, int64_t registers,
                               bool isPingpong, bool isPersistent) {
  // With four warps that compute, two blocks share a unit, or a block's threads start with too few registers.
  constexpr int64_t kLeastMathWarps = 8, kMostMathWarps = 28;
  constexpr int64_t kCopyWarps = 4, kMost = 240, kStep = 8;
  const int64_t copyRegisters = isPersistent ? 40 : 24; // for the positions of the next program
  if (mathWarps < kLeastMathWarps || mathWarps > kMostMathWarps || mathWarps % 4) return {};
  const int64_t left = registers / kWarpLanes - kCopyWarps * copyRegisters;
  const int64_t each = std::min(kMost, left / mathWarps / kStep * kStep);
  if (each < copyRegisters) return {};
  auto roles =
      schedule::BlockAttr::get(context, kCopyWarps, copyRegisters, /*multiplyWarps=*/0, mathWarps, each,
                               /*clusterRows=*/1, /*clusterColumns=*/1, /*sums=*/1, isPingpong, isPersistent);
  return whyNotOnUnit(roles, mathWarps, sums, registers).empty() ? roles : schedule::BlockAttr();
}

std::string whyNotOnUnit(schedule::BlockAttr roles, int64_t warps, int64_t sums, int64_t registers) {
  if (roles.getMathWarps() != warps)
    return llvm::formatv("role math has {0} warps, and {1} warps compute the kernel", roles.getMathWarps(),
                         warps);
  const int64_t atEntry = roles.registersAtEntry(), needed = atEntry * roles.warps() * kWarpLanes;
  if (needed > registers)
    return llvm::formatv("its roles have {0} registers, a unit has {1}", needed, registers);
  const int64_t fewest = std::min(atEntry, int64_t(roles.getMathRegisters()));
  return fewest >= sums + kBesideSums
             ? ""
             : llvm::formatv(
                   "a thread that computes has {0} sums and needs {1} registers; it starts with {2}, the "
                   "mean of the roles, and then has {3}",
                   sums, sums + kBesideSums, atEntry, roles.getMathRegisters())
                   .str();
}

} // namespace tessera::tile
