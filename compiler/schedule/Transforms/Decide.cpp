// Phase 2, first half: makes the decisions that are still open. ScheduleOps.td describes each attribute
// beside the operation that has it.
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"
#include <limits>

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEDECIDE
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

struct ScheduleDecide : impl::ScheduleDecideBase<ScheduleDecide> {
  using ScheduleDecideBase::ScheduleDecideBase;

  void runOnOperation() override {
    // One fusion group per op that must have memory, unless the IR says otherwise.
    if (!getOperation()->hasAttr(tile::kFusion))
      getOperation()->setAttr(tile::kFusion, StringAttr::get(&getContext(), "auto"));
    if (warps) decideWarps(getOperation());
    getOperation().walk([&](Operation *op) {
      if (auto grid = dyn_cast<GridOp>(op)) decide(grid);
      if (auto lanes = dyn_cast<LanesOp>(op)) decide(lanes);
      if (auto loop = dyn_cast<scf::ForOp>(op)) decide(loop);
    });
  }

private:
  static constexpr int64_t kSumsOfLane = 32, kMostSumsOfWarp = 1024, kLeastWarps = 4;

  /// The program's request, if a block may have as many. Else, of products by matrix instructions, as many
  /// warps as have enough sums each of the smallest product; of other kernels, as many as have an element of
  /// the largest tile for each lane, up to the target's own number.
  void decideWarps(KernelOp kernel) {
    if (kernel.getWarps()) return;
    Builder b(&getContext());
    DictionaryAttr tunables = kernel.getTunablesAttr();
    if (auto asked = tunables ? tunables.getAs<IntegerAttr>("num_warps") : IntegerAttr()) {
      const int64_t number = asked.getInt();
      SmallVector<Attribute> lines;
      for (Attribute line : kernel.getFallbacks().value_or(b.getArrayAttr({})))
        if (!cast<StringAttr>(line).getValue().starts_with("tunable num_warps=")) lines.push_back(line);
      const bool isLegal = number > 0 && number <= mostWarps && llvm::has_single_bit(uint64_t(number));
      if (isLegal)
        kernel.setWarps(number);
      else
        lines.push_back(b.getStringAttr("num_warps=" + std::to_string(number) +
                                        " has no effect: a program has a power of two of warps, at most " +
                                        std::to_string(mostWarps)));
      kernel.setFallbacksAttr(lines.empty() ? ArrayAttr() : b.getArrayAttr(lines));
      if (isLegal) return;
    }
    std::optional<int64_t> sums;
    kernel.walk([&](tile::MmaOp mma) {
      auto type = tile::tensorOf(mma.getResult());
      auto buffer = dyn_cast<tile::BufferType>(mma.getA().getType());
      std::optional<DType> dtype =
          dtypeOfMemory(buffer ? buffer.getElementType() : getElementTypeOrSelf(mma.getA().getType()));
      if (!dtype || !llvm::is_contained(factors, name(*dtype))) return;
      sums = std::min(sums.value_or(type.getNumElements()), type.getNumElements());
    });
    if (!sums || *sums < kLeastWarps * lanes) { // too few for an instruction of each warp
      const int64_t number = llvm::bit_ceil(uint64_t(llvm::divideCeil(largestTile(kernel), lanes)));
      if (number < warps && !kernel->hasAttr(kBlock)) kernel.setWarps(number);
      return;
    }
    const int64_t sumsOfWarp = std::min(kSumsOfLane * lanes, kMostSumsOfWarp);
    int64_t number = std::clamp<int64_t>(llvm::bit_floor(uint64_t(*sums / sumsOfWarp)), kLeastWarps, warps);
    if (number < warps) kernel.setWarps(number);
  }

  /// Elements of the kernel's largest tile or buffer, 1 where it has scalars alone. The lanes of
  /// `schedule.lanes` are as many as a target likes.
  static int64_t largestTile(KernelOp kernel) {
    int64_t largest = 1;
    kernel.walk([&](Operation *op) {
      if (isa<LanesOp>(op)) largest = std::numeric_limits<int32_t>::max();
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          largest = std::max(largest, tensor.getNumElements());
        else if (auto buffer = dyn_cast<tile::BufferType>(type))
          largest = std::max(largest, buffer.getNumElements());
    });
    return largest;
  }

  /// Which variables of the grid, one bit each, a position of a load may follow from.
  static uint64_t axesOf(ValueRange positions, GridOp grid) {
    uint64_t axes = 0;
    llvm::SetVector<Value> values(positions.begin(), positions.end());
    for (size_t i = 0; i < values.size(); ++i) {
      auto arg = dyn_cast<BlockArgument>(values[i]);
      if (arg && arg.getOwner() == &grid.getBody().front()) {
        axes |= uint64_t(1) << arg.getArgNumber();
      } else if (auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()) : scf::ForOp()) {
        if (arg != loop.getInductionVar()) return ~uint64_t(0);
        values.insert(loop.getLowerBound());
      } else if (Operation *op = values[i].getDefiningOp()) {
        if (op->getNumRegions()) return ~uint64_t(0);
        values.insert(op->operand_begin(), op->operand_end());
      }
    }
    return axes;
  }

  /// Of a product's grid, whose rows and columns each read a factor. The programs that run at the same time,
  /// one on each unit, read the least if their sums form a square.
  void decideRows(GridOp grid) {
    ArrayRef<int64_t> order = *grid.getOrder();
    if (!units || grid.getGroupRows() || order.size() < 2 || order.size() > 64) return;
    const int64_t row = order[order.size() - 2], column = order.back();
    bool readsRows = false, readsColumns = false;
    grid.walk([&](tile::MmaOp mma) {
      auto loop = mma->getParentOfType<scf::ForOp>();
      if (!loop) return;
      auto read = [&](ValueRange starts) {
        const uint64_t axes = axesOf(starts, grid), ofRow = axes >> row & 1, ofColumn = axes >> column & 1;
        readsRows |= ofRow && !ofColumn;
        readsColumns |= ofColumn && !ofRow;
      };
      for (auto load : loop.getOps<tile::LoadOp>())
        read(load.getStarts());
      for (auto copy : loop.getOps<tile::CpAsyncOp>())
        read(copy.getStarts());
    });
    if (!readsRows || !readsColumns) return;
    auto stepOf = [&](int64_t axis) {
      return cast<tile::IndexExprAttr>(grid.getStep()[axis]).getExpr().asConstant().value_or(1);
    };
    int64_t rows = 1;                                                // a power of two next to the square's
    const int64_t together = units / grid.getChiplets().value_or(1); // that share a cache
    while (2 * rows * rows * stepOf(row) < together * stepOf(column))
      rows *= 2;
    grid.setGroupRows(rows);
  }

  /// Neighbours read the same rows or columns of a product's factors, so that they should share a cache.
  void decideChiplets(GridOp grid) {
    if (chiplets < 2 || grid.getChiplets()) return;
    const bool multiplies =
        grid.walk([](tile::MmaOp mma) {
              return mma->getParentOfType<scf::ForOp>() ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
    if (multiplies) grid.setChiplets(chiplets);
  }

  /// The order as written: consecutive programs differ in the last axis and share the rows that they read.
  void decide(GridOp grid) {
    if (!grid.getPlacement()) grid.setPlacement("any");
    if (!grid.getOrder())
      grid.setOrder(llvm::to_vector(llvm::seq<int64_t>(0, grid.getBody().getNumArguments())));
    decideChiplets(grid);
    decideRows(grid);
  }

  /// Enough lanes that a program outweighs its dispatch (some microseconds of streaming), and few enough that
  /// a million elements still make hundreds of programs.
  void decide(LanesOp lanes) {
    if (!lanes.getPlacement()) lanes.setPlacement("any");
    if (!lanes.getLanesPerProgram()) lanes.setLanesPerProgram(lanesPerProgram);
  }

  /// A target that pipelines loops chooses the number of stages when the use of shared memory is known.
  void decide(scf::ForOp loop) {
    if (!pipelines && !loop->hasAttr(schedule::kStages) && !loop->hasAttr(schedule::kMostStages))
      loop->setAttr(schedule::kStages, Builder(loop.getContext()).getI64IntegerAttr(1));
  }
};

} // namespace
} // namespace tessera
