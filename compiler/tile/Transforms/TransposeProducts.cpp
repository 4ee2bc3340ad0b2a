// tile-transpose-products (normative phase 3): computes products of products with their transposes, so that
// lanes run along the rows of the first product (docs/decisions/0063).
//
//   %q = ... : 48xD                                %qt = tile.transpose %q : Dx48
//   scf.for ... iter_args(%acc : 48xD)             scf.for ... iter_args(%acc : Dx48)
//     %s = tile.mma %q, %k {trans_b} : 48x64         %s = tile.mma %k, %qt : 64x48
//     %m = tile.reduce max %s axis 1          ->     %m = tile.reduce max %s axis 0
//     %p = f(%s, %m) : 48x64                         %p = f(%s, %m) : 64x48
//     %o = tile.mma %p, %v, %acc : 48xD              %o = tile.mma %v, %p, %acc {trans_a} : Dx48
//
// A target that broadcasts the elements of the left operand can then read %k and %v where they are, whatever
// their strides; the right operands are tiles that the program has computed. Reductions along the keys
// combine whole vectors. With few rows the vectors would be nearly empty, so the loop as it is remains for
// them, if the number of rows is not known. It runs after bounds have become explicit, because it must not
// change what they mean, and before register blocks are chosen.
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_TILETRANSPOSEPRODUCTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Operations on one element that are transposed to reach an operand; what is further away is transposed as
/// a tile.
constexpr int kDeepest = 16;

bool isPlane(Value v) { return isTile(v) && tileType(v).getRank() == 2; }

RankedTensorType transposed(Value v) {
  auto type = tileType(v);
  return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
}

/// The tiles of one loop that are computed with their axes exchanged. Lives for one loop.
class Chain {
public:
  explicit Chain(scf::ForOp loop) : loop_(loop) {}

  /// Finds the tiles that the product determines. Returns false if one of them cannot be transposed, or no
  /// other product uses them.
  bool find(MmaOp first);
  /// Emits the loop with transposed tiles before `b`'s position, and returns the values of the loop's
  /// results.
  SmallVector<Value> emit(OpBuilder &b);
  /// The extent of the tensor that the rows of the first product are read from; null: not found.
  Value countRows(OpBuilder &b);

private:
  bool add(Value v);
  bool isIn(Value v) const { return tiles_.contains(v); }
  Value at(Value v) const { return map_.lookupOrDefault(v); }
  void emit(OpBuilder &b, Operation *op);
  void emitMma(OpBuilder &b, MmaOp op);
  Value turned(OpBuilder &b, Value v, int depth = 0);
  /// The transpose of `v`, computed before the new loop if the old one does not compute it.
  Value transpose(OpBuilder &b, Value v);

  scf::ForOp loop_;
  MmaOp first_;
  llvm::SetVector<Value> tiles_;
  IRMapping map_;                    // of what is computed as before
  llvm::DenseMap<Value, Value> new_; // transposed tiles
  scf::ForOp copy_;
};

bool Chain::add(Value v) {
  if (!isPlane(v)) return false;
  tiles_.insert(v);
  return true;
}

/// Does the loop write the shared buffer?
bool isWritten(Value buffer, scf::ForOp loop) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    return loop->isAncestor(user) && !isa<MmaOp, BufferReadOp>(user);
  });
}

/// Lanes of a fixed order along the first axis are code for each element.
static bool canTurn(ReduceOp op) {
  constexpr int64_t kMostTurned = 256;
  return !op.getOrder() || op.getOrder()->getLanes() == 1 ||
         tileType(op.getInput()).getDimSize(static_cast<unsigned>(op.getAxis())) <= kMostTurned;
}

bool Chain::find(MmaOp first) {
  first_ = first;
  if (!add(first.getResult())) return false;
  Block *body = loop_.getBody();
  int products = 1;
  for (size_t i = 0; i < tiles_.size(); ++i) { // grows
    Value v = tiles_[i];
    for (OpOperand &use : v.getUses()) {
      Operation *user = use.getOwner();
      if (v.getParentBlock() != body) continue; // a result of the loop
      if (user->getBlock() != body) return false;
      if (isa<scf::YieldOp>(user)) {
        const unsigned n = use.getOperandNumber();
        if (!add(loop_.getRegionIterArg(n))) return false;
        continue;
      }
      if (auto mma = dyn_cast<MmaOp>(user)) {
        const Type sums = tileType(mma.getAcc()).getElementType();
        if (v == mma.getB() || mma.getTransA() || !(sums.isF32() || sums.isF64())) return false;
        products += !isIn(mma.getResult());
        if (!add(mma.getResult())) return false;
      } else if (isElementwise(user)) {
        if (!add(user->getResult(0))) return false;
      } else if (auto reduce = dyn_cast<ReduceOp>(user); !reduce || !canTurn(reduce)) {
        return false;
      }
    }
    // What a transposed variable becomes is transposed, too.
    auto arg = dyn_cast<BlockArgument>(v);
    if (!arg) continue;
    Value next = loop_.getTiedLoopYieldedValue(arg)->get();
    if (next.getParentBlock() != body || isa<BlockArgument>(next)) continue;
    Operation *from = next.getDefiningOp();
    if (!isIn(next) && (!(isElementwise(from) || isa<MmaOp>(from)) || !add(next))) return false;
  }
  return products > 1;
}

Value Chain::countRows(OpBuilder &b) {
  Value a = first_.getA(), view;
  ArrayRef<int64_t> extents;
  if (auto cast = a.getDefiningOp<CastOp>()) a = cast.getInput();
  if (auto load = a.getDefiningOp<LoadOp>()) view = load.getView(), extents = load.getExtents();
  if (isa<BufferType>(a.getType())) {
    CpAsyncOp copy;
    for (Operation *user : a.getUsers())
      if (auto other = dyn_cast<CpAsyncOp>(user)) {
        if (copy) return {};
        copy = other;
      }
    if (copy) view = copy.getView(), extents = copy.getExtents();
  }
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (extent > 1 || (extent == 1 && dim + 2 == extents.size()))
      return b.createOrFold<DimOp>(loop_.getLoc(), b.getIndexType(), view, dim);
  return {};
}

Value Chain::transpose(OpBuilder &b, Value v) {
  const bool isOutside = loop_.isDefinedOutsideOfLoop(v);
  OpBuilder::InsertionGuard guard(b);
  if (isOutside && copy_) b.setInsertionPoint(copy_);
  return TransposeOp::create(b, loop_.getLoc(), transposed(v), isOutside ? v : at(v));
}

Value Chain::turned(OpBuilder &b, Value v, int depth) {
  Value &known = new_[v];
  if (known) return known;
  Operation *op = v.getDefiningOp();
  Location loc = v.getLoc();
  Value result;
  auto type = transposed(v);
  DenseElementsAttr constant;
  if (op && matchPattern(op, m_Constant(&constant)) && constant.isSplat()) {
    result = arith::ConstantOp::create(b, loc, constant.resizeSplat(type));
  } else if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op); broadcast && depth < kDeepest) {
    Value input = broadcast.getInput();
    result = BroadcastOp::create(b, loc, type, isTile(input) ? turned(b, input, depth + 1) : at(input));
  } else if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
    result = ExpandDimsOp::create(b, loc, type, at(expand.getInput()), 1 - expand.getAxis());
  } else if (auto turn = dyn_cast_or_null<TransposeOp>(op)) {
    result = at(turn.getInput());
  } else if (op && isElementwise(op) && !isa<MaskOp>(op) && depth < kDeepest) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? turned(b, operand, depth + 1) : at(operand));
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    result = copy->getResult(0);
  } else {
    result = transpose(b, v);
  }
  return new_[v] = result; // `known` may have moved
}

void Chain::emitMma(OpBuilder &b, MmaOp op) {
  Value left = at(op.getB()), right;
  bool transB = false;
  Value a = op.getA();
  if (isIn(a)) {
    right = turned(b, a);
  } else if (auto buffer = dyn_cast<BufferType>(a.getType())) {
    right = a, transB = !op.getTransA();
    if (transB && !isWritten(a, loop_)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(copy_);
      Type element = tileType(op.getAcc()).getElementType();
      auto memory = buffer.getElementType();
      if (!memory.isIntOrIndex()) element = memory;
      Value read = BufferReadOp::create(b, op.getLoc(), RankedTensorType::get(buffer.getShape(), element), a);
      right = TransposeOp::create(b, op.getLoc(), transposed(read), read);
      transB = false;
    }
  } else if (op.getTransA()) {
    right = at(a);
  } else {
    right = transpose(b, a);
  }
  SmallVector<Value> limits;
  for (Value limit : op.getLimits())
    limits.push_back(at(limit));
  if (!limits.empty()) std::swap(limits[0], limits[1]);
  auto flag = [&](bool set) { return set ? b.getUnitAttr() : UnitAttr(); };
  Value acc = turned(b, op.getAcc());
  auto product = MmaOp::create(b, op.getLoc(), acc.getType(), left, right, acc, limits, flag(!op.getTransB()),
                               flag(transB), UnitAttr(), FragmentAttr(), UnitAttr());
  product->setAttr(kStrided, b.getUnitAttr());
  new_[op.getResult()] = product;
}

void Chain::emit(OpBuilder &b, Operation *op) {
  if (auto mma = dyn_cast<MmaOp>(op); mma && isIn(mma.getResult())) return emitMma(b, mma);
  if (op->getNumResults() == 1 && isIn(op->getResult(0))) {
    if (auto mask = dyn_cast<MaskOp>(op)) {
      SmallVector<Value> lower, upper;
      for (Value v : llvm::reverse(mask.getLower()))
        lower.push_back(at(v));
      for (Value v : llvm::reverse(mask.getUpper()))
        upper.push_back(at(v));
      new_[mask.getResult()] = MaskOp::create(b, mask.getLoc(), transposed(mask.getResult()),
                                              turned(b, mask.getInput()), at(mask.getFill()), lower, upper);
      return;
    }
    turned(b, op->getResult(0));
    return;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && isIn(reduce.getInput())) {
    Value input = turned(b, reduce.getInput());
    auto copy = cast<ReduceOp>(b.clone(*op));
    copy.getInputMutable().assign(input);
    copy.setAxis(1 - reduce.getAxis());
    map_.map(reduce.getResult(), copy.getResult());
    return;
  }
  b.clone(*op, map_);
}

SmallVector<Value> Chain::emit(OpBuilder &b) {
  Location loc = loop_.getLoc();
  SmallVector<Value> inits;
  for (auto [init, arg] : llvm::zip(loop_.getInitArgs(), loop_.getRegionIterArgs()))
    inits.push_back(isIn(arg) ? turned(b, init) : init);
  copy_ = scf::ForOp::create(b, loc, loop_.getLowerBound(), loop_.getUpperBound(), loop_.getStep(), inits);
  copy_->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
  map_.map(loop_.getInductionVar(), copy_.getInductionVar());
  for (auto [from, to] : llvm::zip(loop_.getRegionIterArgs(), copy_.getRegionIterArgs()))
    isIn(from) ? void(new_[from] = to) : map_.map(from, to);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(copy_.getBody());
    for (Operation &op : loop_.getBody()->without_terminator())
      emit(b, &op);
    SmallVector<Value> next;
    for (auto [arg, v] :
         llvm::zip(loop_.getRegionIterArgs(), loop_.getBody()->getTerminator()->getOperands()))
      next.push_back(isIn(arg) ? turned(b, v) : at(v));
    scf::YieldOp::create(b, loc, next);
  }
  SmallVector<Value> results;
  for (auto [arg, result] : llvm::zip(loop_.getRegionIterArgs(), copy_.getResults()))
    results.push_back(isIn(arg) ? Value(TransposeOp::create(b, loc, transposed(result), result)) : result);
  // What only transposed tiles used is left over.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*copy_.getBody())))
    if (isOpTriviallyDead(&op)) op.erase();
  return results;
}

class TransposeProducts : public impl::TileTransposeProductsBase<TransposeProducts> {
public:
  using impl::TileTransposeProductsBase<TransposeProducts>::TileTransposeProductsBase;

private:
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (auto mma : loop.getBody()->getOps<MmaOp>())
        if (isFirst(mma, loop)) {
          Chain chain(loop);
          if (!chain.find(mma)) continue;
          replace(loop, chain);
          break;
        }
  }

  /// Would the transposed product need no transpose in each iteration?
  bool isFirst(MmaOp mma, scf::ForOp loop) const {
    auto type = tileType(mma.getAcc());
    const Type element = type.getElementType();
    if (!element.isF32() && !element.isF64()) return false;
    const int64_t lanes = vectorBytes / (type.getElementTypeBitWidth() / 8);
    return mma.getTransB() && !mma.getTransA() && type.getDimSize(0) % lanes == 0 &&
           type.getDimSize(0) <= kMostVectors * lanes && loop.isDefinedOutsideOfLoop(mma.getA());
  }

  static constexpr int64_t kMostVectors = 8;

  void replace(scf::ForOp loop, Chain &chain) const {
    OpBuilder b(loop);
    Location loc = loop.getLoc();
    Value rows = chain.countRows(b);
    std::optional<int64_t> known = rows ? getConstantIntValue(rows) : std::nullopt;
    if (known && *known <= fewRows) return;
    if (!rows || known) {
      SmallVector<Value> results = chain.emit(b);
      loop.replaceAllUsesWith(results);
      loop.erase();
      return;
    }
    Value most = arith::ConstantIndexOp::create(b, loc, fewRows);
    Value isFew = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, rows, most);
    auto choice = scf::IfOp::create(b, loc, loop.getResultTypes(), isFew, true);
    loop.replaceAllUsesWith(choice.getResults());
    b.setInsertionPointToStart(choice.elseBlock());
    SmallVector<Value> results = chain.emit(b);
    scf::YieldOp::create(b, loc, results);
    loop->moveBefore(choice.thenBlock(), choice.thenBlock()->end());
    b.setInsertionPointToEnd(choice.thenBlock());
    scf::YieldOp::create(b, loc, loop.getResults());
  }
};

} // namespace
} // namespace tessera
