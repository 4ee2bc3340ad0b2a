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

std::string CopyRole::whyNot(KernelOp kernel, scf::ForOp loop, ArrayRef<Value> needed) {
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

CopyRole::CopyRole(KernelOp kernel, schedule::BlockAttr roles, OpBuilder at) : kernel_(kernel), b_(at) {
  roles_ = RolesOp::create(at, at.getInsertionPoint()->getLoc(), roles.getCopyWarps(),
                           roles.getCopyRegisters(), roles.getMathRegisters());
  copy_ = begin(roles_.getCopy(), roles.getPersistent(), roles_.getLoc());
  math_ = begin(roles_.getMath(), roles.getPersistent(), roles_.getLoc());
  b_.setInsertionPointToEnd(copy_.body);
}

CopyRole::Part CopyRole::begin(Region &region, bool isPersistent, Location loc) {
  Block &block = region.emplaceBlock();
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  const Type index = b.getIndexType();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  if (!isPersistent) return {&block, {}, {zero, zero}};
  auto programs = BlockProgramsOp::create(b, loc, index, index, index);
  auto loop = scf::ForOp::create(b, loc, programs.getFirst(), programs.getCount(), programs.getBlocks(),
                                 ValueRange{zero, zero});
  return {loop.getBody(), loop, llvm::to_vector_of<Value>(loop.getRegionIterArgs())};
}

Value CopyRole::valueOf(Value v) {
  Operation *op = v.getDefiningOp();
  if (map_.contains(v) || !op || op->getBlock() != roles_->getBlock()) return map_.lookupOrDefault(v);
  for (Value operand : op->getOperands())
    (void)valueOf(operand);
  b_.clone(*op, map_);
  return map_.lookup(v);
}

void CopyRole::finish(ArrayRef<Operation *> shared, ValueRange copyEnd, ValueRange mathEnd) {
  for (Operation &op : llvm::make_early_inc_range(kernel_.getBody().front().without_terminator()))
    if (&op != roles_ && !llvm::is_contained(shared, &op)) op.moveBefore(math_.body, math_.body->end());
  if (!math_.programs) return;
  OpBuilder atEnd = OpBuilder::atBlockEnd(math_.body);
  if (!math_.body->getOps<AllocSharedOp>().empty()) // the next program writes what this one has read
    BarrierOp::create(atEnd, roles_.getLoc());
  scf::YieldOp::create(atEnd, roles_.getLoc(), mathEnd);
  scf::YieldOp::create(b_, roles_.getLoc(), copyEnd);
  for (scf::ForOp programs : {copy_.programs, math_.programs})
    programs.walk([&](ProgramIdOp id) { id.getProgramMutable().assign(programs.getInductionVar()); });
}

schedule::BlockAttr usualRoles(MLIRContext *context, int64_t mathWarps, int64_t sums, int64_t registers,
                               bool isPersistent) {
  // With four warps that compute, two blocks share a unit, or a block's threads start with too few registers.
  constexpr int64_t kLeastMathWarps = 8, kMostMathWarps = 28;
  constexpr int64_t kCopyWarps = 4, kMost = 240, kStep = 8;
  const int64_t copyRegisters = isPersistent ? 40 : 24; // for the positions of the next program
  if (mathWarps < kLeastMathWarps || mathWarps > kMostMathWarps || mathWarps % 4) return {};
  const int64_t left = registers / kWarpLanes - kCopyWarps * copyRegisters;
  const int64_t each = std::min(kMost, left / mathWarps / kStep * kStep);
  if (each < copyRegisters) return {};
  auto roles = schedule::BlockAttr::get(context, kCopyWarps, copyRegisters, mathWarps, each,
                                        /*clusterRows=*/1, /*clusterColumns=*/1,
                                        /*pingpong=*/false, isPersistent);
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
