// Phase 2, second half: schedule.kernel becomes tile.kernel. Every decision is an attribute at this point,
// and this pass carries them out.
#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEEXPAND
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

/// Expands one kernel; lives for one call of run().
class KernelExpansion {
public:
  KernelExpansion(KernelOp source, int64_t warpSize) : source_(source), warpSize_(warpSize), b_(source) {}

  LogicalResult run() {
    Operation *construct = nullptr;
    for (Operation &op : source_.getBody().front())
      if (isa<GridOp, LanesOp>(op)) construct = &op;
    if (auto grid = dyn_cast<GridOp>(construct); grid && failed(checkGrid(grid))) return failure();
    if (auto lanes = dyn_cast<LanesOp>(construct); lanes && !lanes.getLanesPerProgram())
      return lanes.emitOpError("has no lanes_per_program yet; run schedule-decide first");

    createKernel(construct);
    for (Operation &op : source_.getBody().front().without_terminator()) {
      if (auto grid = dyn_cast<GridOp>(op))
        expand(grid);
      else if (auto lanes = dyn_cast<LanesOp>(op))
        expand(lanes);
      else
        b_.clone(op, map_);
    }
    tile::ReturnOp::create(b_, source_.getLoc());
    source_.erase();
    return success();
  }

private:
  LogicalResult checkGrid(GridOp grid) {
    if (grid.getOrder()) return success();
    return grid.emitOpError("has no order yet; run schedule-decide first");
  }

  static IndexExpr ceilDiv(const IndexExpr &count, const IndexExpr &step) {
    return IndexExpr::binary(IndexExpr::Code::CeilDiv, count, step);
  }

  /// Returns the number of programs per axis, in the decided order.
  ArrayAttr gridOf(Operation *construct) {
    auto attr = [&](const IndexExpr &expr) { return tile::IndexExprAttr::get(b_.getContext(), expr); };
    if (auto lanes = dyn_cast<LanesOp>(construct))
      return b_.getArrayAttr(
          attr(ceilDiv(lanes.getCount().getExpr(), IndexExpr::constant(*lanes.getLanesPerProgram()))));
    auto grid = cast<GridOp>(construct);
    SmallVector<Attribute> axes;
    ArrayRef<int64_t> order = *grid.getOrder();
    for (int64_t axis : order) {
      IndexExpr count = exprOf(grid.getTo(), axis);
      const IndexExpr &from = exprOf(grid.getFrom(), axis), &step = exprOf(grid.getStep(), axis);
      const bool startsAtZero = from.asConstant() == 0;
      if (!startsAtZero) count = IndexExpr::binary(IndexExpr::Code::Sub, std::move(count), from);
      axes.push_back(attr(startsAtZero && step.asConstant() == 1 ? count : ceilDiv(count, step)));
    }
    return b_.getArrayAttr(axes);
  }

  static const IndexExpr &exprOf(ArrayAttr exprs, int64_t axis) {
    return cast<tile::IndexExprAttr>(exprs[axis]).getExpr();
  }

  void createKernel(Operation *construct) {
    OperationState state(source_.getLoc(), tile::KernelOp::getOperationName());
    state.addAttributes(source_->getAttrs());
    state.attributes.erase(source_.getWarpsAttrName());
    if (source_.getWarps() && warpSize_)
      state.addAttribute("threads", b_.getI64IntegerAttr(int64_t(*source_.getWarps()) * warpSize_));
    state.addAttribute("grid", gridOf(construct));
    for (NamedAttribute order : orderOf(construct))
      state.addAttribute(order.getName(), order.getValue());
    if (auto lanes = dyn_cast<LanesOp>(construct))
      state.addAttribute("lanes_per_program", lanes.getLanesPerProgramAttr());
    if (DictionaryAttr decisions = decisionsOf(construct)) state.addAttribute("decisions", decisions);
    Region *body = state.addRegion();
    Block &block = body->emplaceBlock();
    for (BlockArgument arg : source_.getBody().getArguments()) {
      args_.push_back(block.addArgument(arg.getType(), arg.getLoc()));
      map_.map(arg, args_.back());
    }
    b_.create(state);
    b_.setInsertionPointToEnd(&block);
  }

  /// What decides in which order the programs of a grid run, beside the order of its axes.
  static SmallVector<NamedAttribute> orderOf(Operation *construct) {
    SmallVector<NamedAttribute> all;
    if (auto grid = dyn_cast<GridOp>(construct))
      for (StringAttr name : {grid.getGroupRowsAttrName(), grid.getChipletsAttrName()})
        if (Attribute value = grid->getAttr(name)) all.emplace_back(name, value);
    return all;
  }

  /// Reports the kernel's deepest pipeline and the order of its programs in the metadata.
  DictionaryAttr decisionsOf(Operation *construct) {
    int64_t stages = 0;
    construct->walk([&](scf::ForOp loop) {
      for (StringRef name : {schedule::kStages, schedule::kMostStages})
        if (auto attr = loop->getAttrOfType<IntegerAttr>(name)) stages = std::max(stages, attr.getInt());
    });
    NamedAttrList decisions;
    if (stages) decisions.set("stages", b_.getI64IntegerAttr(stages));
    for (NamedAttribute order : orderOf(construct))
      decisions.set(order.getName(), order.getValue());
    return decisions.empty() ? DictionaryAttr() : decisions.getDictionary(b_.getContext());
  }

  Value index(Location loc, const IndexExpr &expr) {
    return emitIndexExpr(b_, loc, source_.getParams(), args_, expr);
  }

  /// `%i` becomes from + program_id * step.
  void expand(GridOp grid) {
    Location loc = grid.getLoc();
    for (auto [position, axis] : llvm::enumerate(*grid.getOrder())) {
      Value program = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), b_.getI64IntegerAttr(position));
      Value offset = arith::MulIOp::create(b_, loc, program, index(loc, exprOf(grid.getStep(), axis)));
      Value start = arith::AddIOp::create(b_, loc, index(loc, exprOf(grid.getFrom(), axis)), offset);
      map_.map(grid.getBody().getArgument(axis), start);
    }
    for (Operation &op : grid.getBody().front().without_terminator())
      b_.clone(op, map_);
  }

  /// Emits a loop in which one program runs the lanes [p * L, min(p * L + L, count)).
  void expand(LanesOp lanes) {
    Location loc = lanes.getLoc();
    Value perProgram = arith::ConstantIndexOp::create(b_, loc, *lanes.getLanesPerProgram());
    Value program = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), b_.getI64IntegerAttr(0));
    Value first = arith::MulIOp::create(b_, loc, program, perProgram);
    Value last = arith::MinSIOp::create(b_, loc, arith::AddIOp::create(b_, loc, first, perProgram),
                                        index(loc, lanes.getCount().getExpr()));
    Value one = arith::ConstantIndexOp::create(b_, loc, 1);
    auto loop = scf::ForOp::create(b_, loc, first, last, one);
    loop->setAttr(tile::kLanes, b_.getUnitAttr());
    map_.map(lanes.getBody().getArgument(0), loop.getInductionVar());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    for (Operation &op : lanes.getBody().front().without_terminator())
      b_.clone(op, map_);
  }

  KernelOp source_;
  const int64_t warpSize_;
  OpBuilder b_;
  IRMapping map_;
  SmallVector<Value> args_; // of the new kernel
};

struct ScheduleExpand : impl::ScheduleExpandBase<ScheduleExpand> {
  using ScheduleExpandBase::ScheduleExpandBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>()))
      if (failed(KernelExpansion(kernel, warpSize).run())) return signalPassFailure();
  }
};

} // namespace
} // namespace tessera
