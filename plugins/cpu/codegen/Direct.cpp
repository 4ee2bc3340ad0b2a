// Products of few rows or few columns: packing or transposing an operand takes longer than the product. The
// operands stay in the tensor and are read with its strides.
//
//   chain   lanes along the columns of B, one step of k after the other: the sums have the order, and the
//           bits, of the register block
//   dot     lanes along k, folded at the end; for operands that are contiguous along k, as when a row is
//           multiplied by the transpose of a matrix
//   columns lanes along the rows of A, one column of the result after the other; for a transposed A, whose
//           rows are contiguous. The order is that of a chain
//   transposed
//           a chain whose B is contiguous along k: its columns are transposed in registers. For profiles that
//           permit no dots
//   pairs   several rows of bf16, by a body of the archive of products; lanes along the columns of B, a chain
//
// A dot has an order of its own, so only the extents of the whole product may select it: each element has one
// order. The functions take the extents at run time, and a module has one function per combination of element
// types.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {

using target::inMemoryElement;

namespace {

/// Up to this many rows of a tile, a chain is faster than the packed product, and up to as many rows or
/// columns of the whole product dots are: with vectors of 64 bytes, and with others.
constexpr int64_t kFewWideRows = 24, kFewRows = 12;
/// Up to this many rows of a tile, columns that are contiguous along k are transposed in registers where the
/// order of a chain is promised; more rows use a transposed copy often enough.
constexpr int64_t kTransposedRows = 4;
/// Up to this many columns of a tile, a chain is faster than the packed product.
constexpr int64_t kFewColumns = 64;
/// From this many rows on, pairs of bf16 are worth packing.
constexpr int64_t kRowsOfPairs = 3;
/// From this many elements of the accumulator on, the cost of the choice is negligible.
constexpr int64_t kWorthAChoice = 1024;

bool writesMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool writes =
            isa<tile::StoreOp, tile::ScatterOp, tile::StoreElemOp, tile::CpAsyncOp, tile::BufferWriteOp,
                tile::AtomicOp, tile::AtomicCasOp, tile::BarrierOp, tile::FenceOp>(inner);
        return writes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether the operand is read from a tensor or a shared buffer in a way that a Factor can describe.
bool isRead(Value v) {
  auto inner = [](Value x) {
    if (auto turn = x.getDefiningOp<tile::TransposeOp>()) x = turn.getInput();
    if (auto cast = x.getDefiningOp<tile::CastOp>(); cast && !tile::inMemory(cast.getInput()))
      x = cast.getInput();
    return x;
  }(v);
  if (inner != v && tile::inMemory(inner)) return false;
  if (auto read = inner.getDefiningOp<tile::BufferReadOp>()) return read.getStarts().empty();
  return bool(inner.getDefiningOp<tile::LoadOp>());
}

} // namespace

std::optional<KernelLowering::Factor> KernelLowering::readInPlace(Value v) {
  if (!isRead(v)) return std::nullopt;
  Factor f;
  auto turn = v.getDefiningOp<tile::TransposeOp>();
  if (turn) v = turn.getInput();
  f.cast = v.getDefiningOp<tile::CastOp>();
  if (f.cast) v = f.cast.getInput();
  if (auto read = v.getDefiningOp<tile::BufferReadOp>()) {
    Place p = bufferPlace(read.getBuffer());
    if (p.shape.size() != 2) return std::nullopt;
    f.data = p.data, f.element = p.element, f.rowStride = constant(p.shape[1]), f.columnStride = constant(1);
  } else {
    auto load = v.getDefiningOp<tile::LoadOp>();
    Window w = window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds());
    if (w.dimOfAxis.size() != 2) return std::nullopt;
    if (!w.inBounds && (f.ends = windowEnds(w)).empty()) return std::nullopt;
    Value origin[] = {constant(0), constant(0)};
    f.data = windowAddress(w, origin), f.element = w.view.element;
    f.rowStride = w.view.strides[w.dimOfAxis[0]], f.columnStride = w.view.strides[w.dimOfAxis[1]];
  }
  if (turn) {
    std::swap(f.rowStride, f.columnStride);
    if (!f.ends.empty()) std::swap(f.ends[0], f.ends[1]);
  }
  return f;
}

/// Returns whether the product is at an edge whose position is known only at run time.
bool KernelLowering::mayBeDirect(tile::MmaOp op) {
  if (tile::tileType(op.getAcc()).getNumElements() < kWorthAChoice) return false;
  if (!isRead(op.getA()) && !isRead(op.getB())) return false;
  auto isBounded = [](const target::DemandedExtents::Axis &axis) {
    return !axis.whole && !axis.ends.empty();
  };
  return !op.getLimits().empty() || llvm::any_of(demanded_.of(op.getResult()), isBounded);
}

bool KernelLowering::isDeferred(Operation *op) {
  if (known_.contains(op)) return true;
  if (op->getNumResults() != 1 || !tile::inMemory(op->getResult(0)) || !op->hasOneUse()) return false;
  auto mma = dyn_cast<tile::MmaOp>(*op->user_begin());
  if (!mma || mma.getAcc() == op->getResult(0) || mma->getBlock() != op->getBlock()) return false;
  if (!isRead(op->getResult(0))) return false;
  if (mma->hasAttr(tile::kStrided)) {
    // converted once in scratch, rather than for each vector of columns
    if (op->getResult(0) != mma.getA() || isa<tile::CastOp>(op)) return false;
  } else if (!mayBeDirect(mma)) {
    return false;
  }
  for (Operation *between = op->getNextNode(); between != mma; between = between->getNextNode())
    if (writesMemory(between)) return false;
  deferred_.insert(op);
  return true;
}

/// Returns the rows or columns of the whole product.
Value KernelLowering::sizeOf(tile::MmaOp op, unsigned axis) {
  auto demand = demanded_.of(op.getResult());
  if (axis < demand.size() && !demand[axis].whole && demand[axis].ends.size() == 1) {
    const auto &end = demand[axis].ends.front();
    if (end.view) return views_[end.view].sizes[end.dim];
  }
  return constant(tile::tileType(op.getResult()).getDimSize(axis));
}

/// Are both operands bf16 that were widened, and the sums ones that begin with zeros? Others might be
/// subnormal, which the instruction for pairs takes for 0.
bool KernelLowering::multipliesPairs(tile::MmaOp op) const {
  auto isWidened = [](Value v) {
    if (auto turn = v.getDefiningOp<tile::TransposeOp>()) v = turn.getInput();
    auto cast = v.getDefiningOp<tile::CastOp>();
    return cast && cast.getFrom() == "bf16" && cast.getTo() == "f32";
  };
  return pairsOfBf16_ && target::isZeroTile(op.getAcc()) && isWidened(op.getA()) && isWidened(op.getB());
}

LogicalResult KernelLowering::lowerDirect(tile::MmaOp op, const Place &c, ArrayRef<Value> limits,
                                          llvm::function_ref<LogicalResult()> otherwise) {
  Vec<Operation *> waiting; // the operations that fill the scratch of an operand
  bool failedBefore = false;
  auto inScratch = [&](Value operand) {
    Place p = place(operand);
    Factor factor{p.data, constant(p.shape[1]), constant(1), p.element, {}, {}};
    if (auto filled = partlyRead_.find(operand); filled != partlyRead_.end()) factor.ends = filled->second;
    return factor;
  };
  auto factorOf = [&](Value operand) {
    Operation *from = operand.getDefiningOp();
    if (from && deferred_.erase(from)) {
      if (auto factor = readInPlace(operand)) {
        waiting.push_back(from);
        return *factor;
      }
      failedBefore |= failed(lowerOp(from));
    }
    return inScratch(operand);
  };
  auto less = [&](Value x, Value y) { return b_.createOrFold<arith::MinSIOp>(x, y); };
  auto isFew = [&](Value n, int64_t few) {
    return b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, n, constant(few));
  };
  auto isOne = [&](Value stride) {
    return b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, stride, constant(1));
  };
  auto either = [&](Value x, Value y) { return b_.createOrFold<arith::OrIOp>(x, y); };
  Factor a = factorOf(op.getA()), b = factorOf(op.getB());
  if (failedBefore) return failure();
  Value rows = less(limits[0], constant(c.shape[0])), columns = less(limits[1], constant(c.shape[1]));
  Value depth = less(limits[2], constant(tile::tileType(op.getA()).getDimSize(1)));
  if (!a.ends.empty()) rows = less(rows, a.ends[0]), depth = less(depth, a.ends[1]);
  if (!b.ends.empty()) columns = less(columns, b.ends[1]), depth = less(depth, b.ends[0]);

  OpBuilder::InsertionGuard guard(b_);
  // Emits `body` under the condition; emission then continues in the else branch. Returns true when the
  // condition is known to hold.
  auto branch = [&](Value condition, llvm::function_ref<void()> body) {
    if (matchPattern(condition, m_One())) {
      body();
      return true;
    }
    auto choice = scf::IfOp::create(b_, TypeRange(), condition, true);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    body();
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    return false;
  };
  if (b.cast && b.element.isBF16() && multipliesPairs(op)) {
    Value isSeveral =
        b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, sizeOf(op, 0), constant(kRowsOfPairs));
    Vec<Value> arguments = {a.data,      a.rowStride,    a.columnStride, constant(a.cast ? 0 : 1), b.data,
                            b.rowStride, b.columnStride, c.data,         constant(c.shape[1]),     rows,
                            columns,     depth};
    // The archive of products has it: products/bodies/NarrowRows.cpp.
    bool isSure = branch(isSeveral, [&] {
      func::CallOp::create(b_, declareBody("tsr.p.bf16.dot.rows", ValueRange(arguments).getTypes()),
                           arguments);
    });
    if (isSure) return success();
  }
  const int64_t most = vectorBytes_ == 64 ? kFewWideRows : kFewRows;
  Value few = either(isFew(sizeOf(op, 0), most), isFew(sizeOf(op, 1), most));
  Value along = b_.createOrFold<arith::AndIOp>(isOne(a.columnStride), isOne(b.rowStride));
  if (Value isDot = b_.createOrFold<arith::AndIOp>(few, along);
      !matchPattern(isDot, m_Zero()) && !permits_.fixedReductions) {
    bool isSure = branch(isDot, [&] {
      Vec<Value> arguments = {a.data, a.rowStride, b.data, b.columnStride, rows, columns};
      Vec<Value> strides = {constant(c.shape[1]), constant(1)};
      if (a.element == b.element && !a.cast == !b.cast) { // blocks along the longer axis
        Value isTall = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, rows, columns);
        auto exchange = [&](Value &x, Value &y) {
          Value first = arith::SelectOp::create(b_, isTall, y, x);
          y = arith::SelectOp::create(b_, isTall, x, y);
          x = first;
        };
        exchange(arguments[0], arguments[2]);
        exchange(arguments[1], arguments[3]);
        exchange(arguments[4], arguments[5]);
        exchange(strides[0], strides[1]);
      }
      arguments.append({c.data, strides[0], strides[1], depth});
      func::CallOp::create(b_, dotFunction(a, b, c), arguments);
    });
    if (isSure) return success();
  }
  if (permits_.fixedReductions && vectorBytes_ >= 32 && isa<FloatType>(c.element)) {
    Value isFewRows = isFew(rows, kTransposedRows);
    Value isTransposed = b_.createOrFold<arith::AndIOp>(isFewRows, isOne(b.rowStride));
    if (!matchPattern(isTransposed, m_Zero())) {
      Vec<Value> arguments = {a.data, a.rowStride, a.columnStride, b.data, b.columnStride,
                              c.data, rows,        columns,        depth};
      bool isSure = branch(isTransposed,
                           [&] { func::CallOp::create(b_, transposedChainFunction(a, b, c), arguments); });
      if (isSure) return success();
    }
  }
  // Without masked loads of these elements, the remainder of a block would be code for each element.
  auto canMask = [&](Type element) {
    const unsigned bits = inMemoryElement(element).getIntOrFloatBitWidth();
    return (vectorBytes_ >= 32 && bits >= 32) || (vectorBytes_ >= 64 && bits == 16);
  };
  if (canMask(a.element) && getConstantIntValue(a.rowStride) == 1) {
    int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    // A is read again for each column. The rows must fill a few vectors to hide the latency of their sums.
    Value enough = b_.createOrFold<arith::MulIOp>(columns, constant(lanes));
    Value isTall = b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, rows, enough);
    Vec<Value> arguments = {a.data, a.columnStride, b.data,  b.rowStride, b.columnStride,
                            c.data, rows,           columns, depth};
    bool isSure = branch(isTall, [&] { func::CallOp::create(b_, columnsFunction(a, b, c), arguments); });
    if (isSure) return success();
  }
  auto fill = [&] {
    for (Operation *from : waiting)
      if (failed(lowerOp(from))) return failure();
    return success();
  };
  auto chain = [&](Value condition, BlockOptions blocks = {}) {
    Vec<Value> arguments = {a.data, a.rowStride, a.columnStride, b.data, b.rowStride,
                            c.data, rows,        columns,        depth};
    return branch(condition, [&] { func::CallOp::create(b_, chainFunction(a, b, c, blocks), arguments); });
  };
  const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
  const bool hasWholeBlocks = vectorBytes_ == 32 && c.shape[1] % (kChainVectors * lanes) == 0;
  Value isWhole; // null: unknown
  if (hasWholeBlocks)
    isWhole = b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, columns, constant(c.shape[1]));
  BlockOptions options;
  if (canMask(b.element)) {
    // The masks of a block would take half of 16 registers.
    options.allColumns = hasWholeBlocks && matchPattern(isWhole, m_One());
    if (getConstantIntValue(b.columnStride) == 1 &&
        chain(either(isFew(rows, most), isFew(columns, kFewColumns)), options))
      return success();
    return failed(fill()) ? failure() : otherwise();
  }
  // Vectors of 32 bytes have no masks for 16 bits; tiles whose columns all exist need none.
  if (hasWholeBlocks && isa<FloatType>(b.element) && b.element.getIntOrFloatBitWidth() == 16 &&
      getConstantIntValue(b.columnStride) == 1) {
    options.allColumns = true;
    if (chain(b_.createOrFold<arith::AndIOp>(isFew(rows, most), isWhole), options)) return success();
  }
  // Other elements are converted in scratch once.
  if (failed(fill())) return failure();
  a = inScratch(op.getA()), b = inScratch(op.getB());
  if (canMask(b.element) && chain(isFew(rows, most))) return success();
  return otherwise();
}

} // namespace tessera::cpu
