// Products of few rows or few columns: packing or transposing an operand takes longer than the product. The
// operands stay in the tensor and are read with its strides.
//
//   chain   lanes along the columns of B, one step of k after the other: the sums have the order, and the
//           bits, of the register block
//   dot     lanes along k, folded at the end; for operands that are contiguous along k, as when a row is
//           multiplied by the transpose of a matrix
//   columns lanes along the rows of A, one column of the result after the other; for a transposed A, whose
//           rows are contiguous. The order is that of a chain
//   pairs   several rows of bf16, by a body of the archive of products; lanes along the columns of B, a chain
//
// A dot has an order of its own, so only the extents of the whole product may select it: each element has one
// order. The functions take the extents at run time, and a module has one function per combination of element
// types.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

using target::inMemoryElement;

namespace {

/// Up to this many rows of a tile, a chain is faster than the packed product, and up to as many rows or
/// columns of the whole product dots are: with vectors of 64 bytes, and with others.
constexpr int64_t kFewWideRows = 24, kFewRows = 12;
/// Up to this many columns of a tile, a chain is faster than the packed product.
constexpr int64_t kFewColumns = 64;
/// From this many rows on, pairs of bf16 are worth packing.
constexpr int64_t kRowsOfPairs = 3;
/// A block: several results along one axis, which hide the latency of their additions, and vectors along the
/// other.
constexpr int64_t kBlock = 4, kVectors = 2;
/// The block of a chain of more rows on targets with 32 registers.
constexpr int64_t kWideRows = 6, kWideVectors = 4;
/// A single row of at most this many vectors is a block.
constexpr int64_t kRowVectors = 8;
/// Products of few rows prefetch rows of B this many rows before their use.
constexpr int64_t kRowsAhead = 8;
/// Strided products prefetch rows of A this many blocks before their use.
constexpr int64_t kBlocksAhead = 2, kLineBytes = 64;
/// Locality of a prefetch into the second-level cache: columns at a stride of rows fill few sets of the
/// first, and what comes from memory passes through the second, which awaits more lines at a time.
constexpr int32_t kSecondLevel = 2;
/// Dots prefetch columns of B this many columns before their use; of long columns, elements this far ahead.
constexpr int64_t kColumnsAhead = 32, kDepthAhead = 512;
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
  if (Value isDot = b_.createOrFold<arith::AndIOp>(few, along); !matchPattern(isDot, m_Zero())) {
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
  auto chain = [&](Value condition) {
    Vec<Value> arguments = {a.data, a.rowStride, a.columnStride, b.data, b.rowStride,
                            c.data, rows,        columns,        depth};
    return branch(condition, [&] { func::CallOp::create(b_, chainFunction(a, b, c), arguments); });
  };
  if (canMask(b.element)) {
    if (getConstantIntValue(b.columnStride) == 1 &&
        chain(either(isFew(rows, most), isFew(columns, kFewColumns))))
      return success();
    return failed(fill()) ? failure() : otherwise();
  }
  // Other elements are converted in scratch once.
  if (failed(fill())) return failure();
  a = inScratch(op.getA()), b = inScratch(op.getB());
  if (canMask(b.element) && chain(isFew(rows, most))) return success();
  return otherwise();
}

Value KernelLowering::readFactor(const Factor &f, Value index, int64_t lanes, Value mask) {
  Value v = load(f.element, address(f.data, index, f.element), lanes, mask);
  if (tile::CastOp cast = f.cast)
    v = tile::emitCast(b_, b_.getLoc(), v, *parseDType(cast.getFrom()), *parseDType(cast.getTo()));
  const bool isNarrow = getElementTypeOrSelf(v.getType()).isInteger(16);
  return isNarrow ? widened(v, b_.getI32Type()) : v;
}

void KernelLowering::prefetch(const Factor &f, Value index, int32_t locality) {
  LLVM::Prefetch::create(b_, byteAddress(f.element, address(f.data, index, f.element)), 0, locality, 1);
}

Value KernelLowering::roundDown(Value n, int64_t step) {
  return arith::MulIOp::create(b_, arith::DivSIOp::create(b_, n, constant(step)), constant(step));
}

void KernelLowering::upTo(Value from, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b_, from, end, constant(step));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

std::string elementName(Type element, tile::CastOp cast) {
  std::string name;
  llvm::raw_string_ostream text(name);
  if (cast)
    text << cast.getFrom() << "." << cast.getTo();
  else
    text << element;
  return name;
}

func::FuncOp KernelLowering::productFunction(const char *kind, const char *suffix, const Factor &a,
                                             const Factor &b, const Place &c, EmitProduct emit) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), index = b_.getIndexType();
  std::string name = "mma." + std::string(kind) + "." + elementName(a.element, a.cast) + "." +
                     elementName(b.element, b.cast) + "." + std::to_string(c.shape[1]) + suffix;
  return sharedFunction(name, {pointer, index, index, pointer, index, pointer, index, index, index},
                        [&](func::FuncOp f) {
                          f.setArgAttr(5, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
                          auto in = f.getArguments();
                          emit(Factor{in[0], in[1], in[2], a.element, a.cast, {}},
                               Factor{in[3], in[4], constant(1), b.element, b.cast, {}},
                               Place{in[5], c.shape, c.element}, in[6], in[7], in[8]);
                        });
}

func::FuncOp KernelLowering::chainFunction(const Factor &a, const Factor &b, const Place &c) {
  auto emit = [&](const Factor &x, const Factor &y, const Place &sum, Value rows, Value columns,
                  Value depth) {
    Value isRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, rows, constant(1));
    auto choice = scf::IfOp::create(b_, TypeRange(), isRow, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    if (c.shape[1] <= kRowVectors * lanes) // the row stays in registers
      chainBlocks(x, y, sum, {1, (c.shape[1] + lanes - 1) / lanes}, {constant(0), columns}, rows, columns,
                  depth);
    else
      emitChainRow(x, y, sum, columns, depth);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    emitChainBlocks(x, y, sum, rows, columns, depth);
  };
  return productFunction("chain", "", a, b, c, emit);
}

/// Computes one row. Adds several rows of B to all of C in each pass, so that B is read along its rows.
void KernelLowering::emitChainRow(const Factor &a, const Factor &b, const Place &c, Value columns,
                                  Value depth) {
  int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
  bool isPadded = c.shape[1] % lanes == 0;
  Value zero = constant(0), wholeDepth = roundDown(depth, kBlock);
  // Past the columns there are zeros, whose products with infinities are NaN.
  auto keepPadding = [&](Value sum, Value place, Value mask) {
    isPadded ? replaceMasked(c.element, sum, place, mask) : store(c.element, sum, place, mask);
  };
  auto steps = [&](Value k, int64_t count) {
    Vec<Value> xs, starts;
    for (int64_t u = 0; u < count; ++u) {
      Value at = u ? arith::AddIOp::create(b_, k, constant(u)).getResult() : k;
      xs.push_back(splat(readFactor(a, arith::MulIOp::create(b_, at, a.columnStride), 0), lanes));
      starts.push_back(arith::MulIOp::create(b_, at, b.rowStride));
    }
    // Each row of B is on other pages, where processors do not prefetch by themselves.
    Value ahead = arith::MulIOp::create(b_, b.rowStride, constant(kRowsAhead));
    upTo(zero, columns, lanes, [&](Value j) {
      for (Value start : starts)
        prefetch(b, arith::AddIOp::create(b_, arith::AddIOp::create(b_, start, j), ahead), kSecondLevel);
      Value mask = rangeMask(j, {}, columns, lanes), onlyC = isPadded ? Value() : mask;
      Value place = address(c.data, j, c.element), sum = load(c.element, place, lanes, onlyC);
      for (auto [x, start] : llvm::zip(xs, starts))
        sum = multiplyAdd(x, readFactor(b, arith::AddIOp::create(b_, start, j), lanes, mask), sum);
      keepPadding(sum, place, mask);
    });
  };
  upTo(zero, wholeDepth, kBlock, [&](Value k) { steps(k, kBlock); });
  upTo(wholeDepth, depth, 1, [&](Value k) { steps(k, 1); });
}

/// Computes blocks of rows by vectors in registers. A last block that lacks rows repeats the last row and
/// stores the same values again.
void KernelLowering::emitChainBlocks(const Factor &a, const Factor &b, const Place &c, Value rows,
                                     Value columns, Value depth) {
  const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
  Value from = constant(0);
  // With 32 registers a block spans whole cache lines of B and keeps both multipliers busy.
  if (vectorBytes_ == 64 && c.shape[1] >= kWideVectors * lanes) {
    Value wide = roundDown(columns, kWideVectors * lanes);
    // the blocks that repeat fewer rows: eight rows are two blocks of four
    auto computed = [&](int64_t height) {
      return roundDown(arith::AddIOp::create(b_, rows, constant(height - 1)), height);
    };
    Value isTall =
        arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, computed(kWideRows), computed(kBlock));
    auto choice = scf::IfOp::create(b_, TypeRange(), isTall, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    chainBlocks(a, b, c, {kWideRows, kWideVectors}, {from, wide}, rows, columns, depth);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    chainBlocks(a, b, c, {kBlock, kWideVectors}, {from, wide}, rows, columns, depth);
    from = wide;
  }
  chainBlocks(a, b, c, {kBlock, kVectors}, {from, columns}, rows, columns, depth);
}

/// Computes the columns of a range in blocks of rows by vectors.
void KernelLowering::chainBlocks(const Factor &a, const Factor &b, const Place &c,
                                 std::array<int64_t, 2> block, std::array<Value, 2> range, Value rows,
                                 Value columns, Value depth, BlockOptions options) {
  const auto [count, vectors] = block;
  const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8), width = vectors * lanes;
  Value zero = constant(0), last = arith::SubIOp::create(b_, rows, constant(1));
  auto plus = [&](Value x, Value y) { return b_.createOrFold<arith::AddIOp>(x, y); };
  auto times = [&](Value x, Value y) { return b_.createOrFold<arith::MulIOp>(x, y); };
  bool isPadded = c.shape[1] % width == 0;
  auto keepPadding = [&](Value sum, Value place, Value mask) {
    isPadded ? replaceMasked(c.element, sum, place, mask) : store(c.element, sum, place, mask);
  };
  Value ahead = times(b.rowStride, constant(kRowsAhead));
  upTo(range[0], range[1], width, [&](Value column) {
    Vec<Value> at, masks;
    for (int64_t g = 0; g < vectors; ++g) {
      at.push_back(plus(column, constant(g * lanes)));
      masks.push_back(rangeMask(at.back(), {}, columns, lanes));
    }
    auto maskOfC = [&](int64_t g) { return isPadded ? Value() : masks[g]; };
    upTo(zero, rows, count, [&](Value row) {
      Vec<Value> ofA, places, sums;
      for (int64_t r = 0; r < count; ++r) {
        Value i = b_.createOrFold<arith::MinSIOp>(plus(row, constant(r)), last);
        ofA.push_back(times(i, a.rowStride));
        for (int64_t g = 0; g < vectors; ++g) {
          places.push_back(address(c.data, plus(times(i, constant(c.shape[1])), at[g]), c.element));
          sums.push_back(options.fresh ? zeroOf(VectorType::get({lanes}, c.element))
                                       : load(c.element, places.back(), lanes, maskOfC(g)));
        }
      }
      if (options.ahead == BlockOptions::Rows) {
        Value later = times(plus(row, constant(kBlocksAhead * count)), a.rowStride);
        upTo(zero, depth, kLineBytes * 8 / a.element.getIntOrFloatBitWidth(), [&](Value k) {
          for (int64_t r = 0; r < count; ++r)
            prefetch(a, plus(plus(later, times(constant(r), a.rowStride)), times(k, a.columnStride)));
        });
      }
      auto loop = scf::ForOp::create(b_, zero, depth, constant(1), sums);
      {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar(), inA = times(k, a.columnStride), inB = times(k, b.rowStride);
        if (options.ahead == BlockOptions::Depth)
          prefetch(a, plus(times(row, a.rowStride), times(plus(k, depth), a.columnStride)), kSecondLevel);
        Vec<Value> line, next;
        for (int64_t g = 0; g < vectors; ++g) {
          line.push_back(readFactor(b, plus(inB, at[g]), lanes, masks[g]));
          // More rows wait for the multiplications, not for B.
          if (count <= kBlock) prefetch(b, plus(plus(inB, at[g]), ahead), kSecondLevel);
        }
        for (int64_t r = 0; r < count; ++r) {
          Value x = splat(readFactor(a, plus(ofA[r], inA), 0), lanes);
          for (int64_t g = 0; g < vectors; ++g)
            next.push_back(multiplyAdd(x, line[g], loop.getRegionIterArg(r * vectors + g)));
        }
        scf::YieldOp::create(b_, next);
      }
      for (int64_t r = 0, i = 0; r < count; ++r)
        for (int64_t g = 0; g < vectors; ++g, ++i)
          keepPadding(loop.getResult(i), places[i], masks[g]);
    });
  });
}

/// dot(a, the stride of its rows, b, the stride of its columns, rows, columns, c, its strides, depth)
func::FuncOp KernelLowering::dotFunction(const Factor &a, const Factor &b, const Place &c) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), index = b_.getIndexType();
  std::string name = "mma.dot." + elementName(a.element, a.cast) + "." + elementName(b.element, b.cast);
  Vec<Type> inputs = {pointer, index, pointer, index, index, index, pointer, index, index, index};
  return sharedFunction(name, inputs, [&](func::FuncOp f) {
    f.setArgAttr(6, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    auto in = f.getArguments();
    Factor x{in[0], in[1], constant(1), a.element, a.cast, {}};
    Factor y{in[2], constant(1), in[3], b.element, b.cast, {}};
    Value rows = in[4], columns = in[5], depth = in[9];
    int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    Value zero = constant(0), last = arith::SubIOp::create(b_, columns, constant(1));
    Value whole = roundDown(depth, lanes), lastRow = arith::SubIOp::create(b_, rows, constant(1));
    auto plus = [&](Value p, Value q) { return arith::AddIOp::create(b_, p, q).getResult(); };
    auto times = [&](Value p, Value q) { return arith::MulIOp::create(b_, p, q).getResult(); };
    auto less = [&](Value p, Value q) { return arith::MinSIOp::create(b_, p, q).getResult(); };
    auto add = [&](Value p, Value q) { return combine(tile::ReduceKind::Sum, false, p, q); };
    Value none = zeroOf(VectorType::get({lanes}, c.element));
    Value isLong = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, depth, constant(kDepthAhead));
    Value ahead = arith::SelectOp::create(b_, isLong, constant(kDepthAhead),
                                          times(y.columnStride, constant(kColumnsAhead)));
    // Sums of a row are stored together where no term is left to add and the row is contiguous.
    Value isPlain =
        arith::AndIOp::create(b_, arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, whole, depth),
                              arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, in[8], constant(1)));
    // A last block that lacks rows or columns repeats the last one.
    auto block = [&](Value row, Value column, int64_t height, int64_t width) {
      Vec<Value> ofA, ofB, places, sums;
      for (int64_t u = 0; u < width; ++u)
        ofB.push_back(times(less(plus(column, constant(u)), last), y.columnStride));
      for (int64_t r = 0; r < height; ++r) {
        Value i = height == 1 ? row : less(plus(row, constant(r)), lastRow);
        ofA.push_back(times(i, x.rowStride));
        for (int64_t u = 0; u < width; ++u) {
          Value j = less(plus(column, constant(u)), last);
          places.push_back(address(in[6], plus(times(i, in[7]), times(j, in[8])), c.element));
        }
      }
      // Adds the products of `step` terms at a time (0: scalars).
      auto along = [&](Value from, Value end, int64_t step) {
        auto loop = scf::ForOp::create(b_, from, end, constant(std::max<int64_t>(step, 1)), sums);
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar();
        Vec<Value> lines, next;
        for (Value start : ofB) {
          lines.push_back(readFactor(y, plus(start, k), step));
          if (step > 1) prefetch(y, plus(plus(start, k), ahead), kSecondLevel);
        }
        for (int64_t r = 0; r < height; ++r) {
          Value factor = readFactor(x, plus(ofA[r], k), step);
          for (int64_t u = 0; u < width; ++u)
            next.push_back(multiplyAdd(factor, lines[u], loop.getRegionIterArg(r * width + u)));
        }
        scf::YieldOp::create(b_, next);
        sums.assign(loop.getResults().begin(), loop.getResults().end());
      };
      sums.assign(height * width, none);
      along(zero, whole, lanes);
      const Vec<Value> folded = foldTogether(sums, add);
      const int64_t each = cast<VectorType>(folded[0].getType()).getDimSize(0), part = std::min(each, width);
      Value isInside =
          arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, plus(column, constant(width)), columns);
      auto choice = scf::IfOp::create(b_, TypeRange(), arith::AndIOp::create(b_, isInside, isPlain), true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&choice.getThenRegion().front());
      Vec<Value> lines;
      for (int64_t i = 0; i < height * width; i += part) {
        Vec<int64_t> of(part);
        std::iota(of.begin(), of.end(), i % each);
        Value sum = vector::ShuffleOp::create(b_, folded[i / each], folded[i / each], of);
        lines.push_back(add(load(c.element, places[i], part), sum));
      }
      for (auto [i, line] : llvm::enumerate(lines))
        store(c.element, line, places[i * part]);
      b_.setInsertionPointToStart(&choice.getElseRegion().front());
      for (auto [i, place] : llvm::enumerate(places))
        sums[i] = add(load(c.element, place, 0), lane(folded[i / each], static_cast<int64_t>(i) % each));
      along(whole, depth, 0);
      for (auto [sum, place] : llvm::zip(sums, places))
        store(c.element, sum, place);
    };
    Value isRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, rows, constant(1));
    auto choice = scf::IfOp::create(b_, TypeRange(), isRow, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    upTo(zero, rows, 1, [&](Value row) {
      Value wide = roundDown(columns, 2 * kBlock);
      upTo(zero, wide, 2 * kBlock, [&](Value column) { block(row, column, 1, 2 * kBlock); });
      upTo(wide, columns, kBlock, [&](Value column) { block(row, column, 1, kBlock); });
    });
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    auto blocks = [&](Value from, Value end, int64_t height) {
      upTo(from, end, height, [&](Value row) {
        upTo(zero, columns, kBlock, [&](Value column) { block(row, column, height, kBlock); });
      });
    };
    // Blocks of four rows where they repeat at most one.
    Value tall = vectorBytes_ == 64 ? roundDown(plus(rows, constant(1)), kBlock) : zero;
    if (vectorBytes_ == 64) blocks(zero, tall, kBlock);
    blocks(tall, rows, 2);
  });
}

} // namespace tessera::cpu
