#include "plugins/cpu/codegen/LaneShapes.h"
#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::cpu {

namespace {

/// Segments of fewer lanes than this leave most of a vector empty.
constexpr int64_t kLeastDivisor = 16;

LaneShape uniform() { return {}; }
LaneShape varying(bool isNear = false) { return {LaneShape::Varying, std::nullopt, isNear}; }
LaneShape affine(std::optional<int64_t> step) {
  return step == 0 ? uniform() : LaneShape{LaneShape::Affine, step, false};
}

bool isNear(LaneShape s) { return s.isNear || s.isConsecutive(); }

/// The shape of a value that is one or the other in all lanes.
LaneShape join(LaneShape x, LaneShape y) {
  if (x == y && (x.kind != LaneShape::Affine || x.step)) return x;
  return varying(isNear(x) || isNear(y));
}

/// The shape of a value that a region receives. A step that is no constant is not carried.
LaneShape carried(LaneShape s) { return join(s, s); }

unsigned bitsOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

/// May a lane execute `while` until another lane has done something? It may if it reads what lanes write.
bool mayWait(scf::WhileOp loop) {
  auto isWritten = [](Value view) {
    return llvm::any_of(view.getUsers(), [](Operation *user) {
      return isa<tile::StoreElemOp, tile::AtomicOp, tile::AtomicCasOp>(user);
    });
  };
  return loop
      ->walk([&](Operation *op) {
        auto read = dyn_cast<tile::LoadElemOp>(op);
        bool waits =
            isa<tile::AtomicOp, tile::AtomicCasOp, tile::FenceOp>(op) || (read && isWritten(read.getView()));
        return waits ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isArithmetic(Operation *op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) || tile::isFunction(op) ||
          isa<tile::CastOp, tile::RandOp>(op));
}

} // namespace

LaneShapes::LaneShapes(scf::ForOp lanes) : loop_(lanes) {
  loop_.getBody()->walk([&](Operation *op) {
    if (isArithmetic(op)) return;
    bool isKnown =
        isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp, tile::LoadElemOp,
            tile::StoreElemOp, tile::AtomicOp, tile::AtomicCasOp, tile::GroupInfoOp, tile::GroupReduceOp,
            tile::DimOp, tile::ProgramIdOp, tile::BarrierOp, tile::FenceOp>(op);
    auto loop = dyn_cast<scf::WhileOp>(op);
    if (!isKnown || (loop && mayWait(loop))) canShareVector_ = false;
  });
  if (!canShareVector_) return;
  shapes_[loop_.getInductionVar()] = affine(1);
  findDivisions();
  visit(*loop_.getBody());
}

LaneShape LaneShapes::of(Value v) const { return shapes_.lookup(v); }

void LaneShapes::set(ValueRange values, LaneShape shape) {
  for (Value v : values)
    shapes_[v] = shape;
}

/// Can `v` be computed at the start of a segment, from nothing but the lane's index and values from outside?
/// Adds the operations that compute it to `positions_`.
bool LaneShapes::isPosition(Value v) {
  if (v == loop_.getInductionVar() || loop_.isDefinedOutsideOfLoop(v)) return true;
  Operation *op = v.getDefiningOp();
  if (!op) return false;
  if (llvm::is_contained(positions_, op)) return true;
  bool isDivision = isa<arith::DivUIOp, arith::RemUIOp>(op);
  if (isDivision ? !llvm::is_contained(divisions_, op)
                 : !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(op))
    return false;
  if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isPosition(operand); })) return false;
  positions_.push_back(op);
  return true;
}

void LaneShapes::findDivisions() {
  loop_.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<arith::DivUIOp, arith::RemUIOp>(op) || !loop_.isDefinedOutsideOfLoop(op->getOperand(1))) return;
    if (bitsOf(op->getResult(0).getType()) != 64) return; // positions do not wrap
    if (auto divisor = getConstantIntValue(op->getOperand(1)); divisor && *divisor < kLeastDivisor) return;
    // It runs at the start of a segment, whatever branch it is in.
    if (op->getBlock() != loop_.getBody() && !tile::canRunAt(op, &loop_.getBody()->front())) return;
    size_t known = positions_.size();
    if (!isPosition(op->getOperand(0))) return positions_.truncate(known);
    for (size_t i = known; i < positions_.size(); ++i)
      set(positions_[i]->getResult(0), shapeOf(positions_[i]));
    if (!of(op->getOperand(0)).isConsecutive()) return positions_.truncate(known);
    divisions_.push_back(op);
    positions_.push_back(op);
    shapes_[op->getResult(0)] = isa<arith::DivUIOp>(op) ? uniform() : affine(1);
  });
}

void LaneShapes::visit(Block &block) {
  for (Operation &op : block.without_terminator())
    visit(&op);
}

void LaneShapes::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp o) { visitFor(o); })
      .Case([&](scf::WhileOp o) { visitWhile(o); })
      .Case([&](scf::IfOp o) { visitIf(o); })
      .Default([&](Operation *o) {
        if (!llvm::is_contained(divisions_, o)) set(o->getResults(), shapeOf(o));
      });
}

LaneShape LaneShapes::shapeOf(Operation *op) const {
  if (isa<tile::AtomicOp, tile::AtomicCasOp>(op)) return varying();
  if (auto info = dyn_cast<tile::GroupInfoOp>(op))
    return info.getKind() == tile::GroupInfoKind::GroupId ? affine(1) : uniform();
  if (llvm::all_of(op->getOperands(), [&](Value v) { return of(v).kind == LaneShape::Uniform; }))
    return uniform();
  if (isa<arith::IndexCastOp, arith::TruncIOp>(op)) {
    LaneShape from = of(op->getOperand(0));
    bool wraps = bitsOf(op->getResult(0).getType()) > bitsOf(op->getOperand(0).getType());
    if (from.kind == LaneShape::Affine) return wraps ? varying(from.step == 1) : from;
    return varying(from.isNear);
  }
  if (isa<tile::GroupReduceOp>(op)) return of(op->getOperand(0));
  if (op->getNumOperands() < 2) return varying();
  LaneShape x = of(op->getOperand(0)), y = of(op->getOperand(1));
  bool oneIsUniform = x.kind == LaneShape::Uniform || y.kind == LaneShape::Uniform;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    bool subtracts = isa<arith::SubIOp>(op);
    if (x.kind == LaneShape::Varying || y.kind == LaneShape::Varying)
      return varying(y.kind == LaneShape::Uniform ? x.isNear
                                                  : x.kind == LaneShape::Uniform && y.isNear && !subtracts);
    auto step = [](LaneShape s) { return s.kind == LaneShape::Uniform ? std::optional<int64_t>(0) : s.step; };
    if (!step(x) || !step(y)) return affine(std::nullopt);
    return affine(subtracts ? *step(x) - *step(y) : *step(x) + *step(y));
  }
  if (isa<arith::MulIOp>(op)) {
    if (!oneIsUniform || x.kind == LaneShape::Varying || y.kind == LaneShape::Varying) return varying();
    bool isSecond = x.kind == LaneShape::Uniform;
    std::optional<int64_t> factor = getConstantIntValue(op->getOperand(isSecond ? 0 : 1));
    std::optional<int64_t> step = isSecond ? y.step : x.step, product;
    if (factor && step && std::abs(*factor) < 1 << 20 && std::abs(*step) < 1 << 20) product = *factor * *step;
    return affine(product);
  }
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) return varying(isNear(x) && y.kind == LaneShape::Uniform);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) return varying(oneIsUniform && (isNear(x) || isNear(y)));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    LaneShape value = join(of(select.getTrueValue()), of(select.getFalseValue()));
    return x.kind == LaneShape::Uniform ? value : varying(isNear(value));
  }
  return varying();
}

void LaneShapes::visitFor(scf::ForOp op) {
  auto isUniform = [&](Value v) { return of(v).kind == LaneShape::Uniform; };
  const bool isUniformLoop =
      isUniform(op.getLowerBound()) && isUniform(op.getUpperBound()) && isUniform(op.getStep());
  if (isUniformLoop)
    divergentLoops_.erase(op);
  else
    divergentLoops_.insert(op);
  LaneShape first = of(op.getLowerBound());
  shapes_[op.getInductionVar()] =
      isUniformLoop || (isUniform(op.getStep()) && (first.kind == LaneShape::Uniform || first.step))
          ? first
          : varying();
  for (auto [init, arg] : llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs()))
    set(arg, isUniformLoop ? carried(of(init)) : varying());
  for (bool isStable = false; !isStable;) {
    isStable = true;
    visit(*op.getBody());
    for (auto [arg, yielded] : llvm::zip_equal(op.getRegionIterArgs(), op.getYieldedValues())) {
      LaneShape joined = join(of(arg), of(yielded));
      if (joined == of(arg)) continue;
      set(arg, joined);
      isStable = false;
    }
  }
  for (auto [arg, result] : llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    set(result, of(arg));
}

void LaneShapes::visitWhile(scf::WhileOp op) {
  divergentLoops_.erase(op);
  for (auto [init, arg] : llvm::zip_equal(op.getInits(), op.getBeforeArguments()))
    set(arg, carried(of(init)));
  for (bool isStable = false; !isStable;) {
    isStable = true;
    visit(*op.getBeforeBody());
    scf::ConditionOp condition = op.getConditionOp();
    if (of(condition.getCondition()).kind != LaneShape::Uniform && divergentLoops_.insert(op).second) {
      // Lanes leave the loop after different iterations.
      set(op.getBeforeArguments(), varying());
      isStable = false;
      continue;
    }
    const bool isUniform = isUniformLoop(op);
    for (auto [passed, arg, result] :
         llvm::zip_equal(condition.getArgs(), op.getAfterArguments(), op.getResults()))
      set({arg, result}, isUniform ? carried(of(passed)) : varying());
    visit(*op.getAfterBody());
    for (auto [arg, yielded] : llvm::zip_equal(op.getBeforeArguments(), op.getYieldOp().getResults())) {
      LaneShape joined = join(of(arg), of(yielded));
      if (joined == of(arg)) continue;
      set(arg, joined);
      isStable = false;
    }
  }
}

void LaneShapes::visitIf(scf::IfOp op) {
  const bool isUniform = of(op.getCondition()).kind == LaneShape::Uniform;
  visit(*op.thenBlock());
  if (op.elseBlock()) visit(*op.elseBlock());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    LaneShape joined = join(of(op.thenYield().getOperand(i)), of(op.elseYield().getOperand(i)));
    set(result, isUniform ? joined : varying(isNear(joined)));
  }
}

} // namespace tessera::cpu
