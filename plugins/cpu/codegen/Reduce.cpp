// Reductions along an axis. ArgReduce.cpp and Scan.cpp have what else walks an axis.
//
// A sum follows the order of its operation, which tile-order-reductions has decided. A walk ends where the
// tensor does: which partial sum an element belongs to depends on its position in the tile alone.
#include "compiler/tile/IR/DTypes.h"
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Short rows whose minima or maxima are folded together: each step combines halves of two vectors. A step of
/// these is three instructions. Rows of more vectors spend little of their time in folds.
constexpr int64_t kRowsTogether = 4, kShortRow = 4;

} // namespace

Value KernelLowering::foldLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  int64_t n = cast<VectorType>(vector.getType()).getDimSize(0);
  for (; n > 1; n /= 2) {
    Vec<int64_t> low(n / 2), high(n / 2);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), n / 2);
    Value x = vector::ShuffleOp::create(b_, vector, vector, low),
          y = vector::ShuffleOp::create(b_, vector, vector, high);
    vector = combine(x, y);
  }
  return lane(vector, 0);
}

SmallVector<Value> KernelLowering::foldTogether(ArrayRef<Value> vectors,
                                                llvm::function_ref<Value(Value, Value)> combine) {
  const auto width = cast<VectorType>(vectors[0].getType()).getDimSize(0);
  const size_t most = std::min<size_t>(vectors.size(), static_cast<size_t>(width));
  Vec<Value> results;
  for (; !vectors.empty(); vectors = vectors.drop_front(most)) {
    Vec<Value> left(vectors.take_front(most));
    for (int64_t lanes = width; lanes > 1; lanes /= 2) { // of a result
      const bool isJoined = left.size() > 1;
      Vec<int64_t> kept, moved; // lanes that stay where they are, and those that come to them
      for (int64_t at = 0, half = lanes / 2; at < cast<VectorType>(left[0].getType()).getDimSize(0); ++at) {
        const bool isLow = at % lanes < half;
        if (!isJoined && !isLow) continue;
        kept.push_back(isLow ? at : width + at);
        moved.push_back(isLow ? at + half : width + at - half);
      }
      const size_t pairs = isJoined ? left.size() / 2 : 1;
      for (size_t i = 0; i < pairs; ++i) {
        Value x = left[i], y = left[isJoined ? i + pairs : i];
        left[i] =
            combine(vector::ShuffleOp::create(b_, x, y, kept), vector::ShuffleOp::create(b_, x, y, moved));
      }
      left.truncate(pairs);
    }
    results.push_back(left[0]);
  }
  return results;
}

Value KernelLowering::foldLanes(tile::ReduceKind kind, bool isUnsigned, Value vector) {
  return foldLanes(vector, [&](Value x, Value y) { return combine(kind, isUnsigned, x, y); });
}

auto KernelLowering::partOf(Value input, tile::ReduceKind kind, bool isUnsigned) -> Part {
  Part part;
  if (!tile::isTile(input) || tile::inMemory(input)) return part;
  Operation *op = input.getDefiningOp();
  auto type = tile::tileType(input);
  // A mask of narrow floats that are widened is one of what they become.
  if (auto cast = dyn_cast<tile::CastOp>(op); cast && isa<FloatType>(type.getElementType())) {
    auto mask = cast.getInput().getDefiningOp<tile::MaskOp>();
    const bool isWidened = mask && !tile::inMemory(mask) &&
                           isa<FloatType>(tile::tileType(mask).getElementType()) &&
                           tile::tileType(mask).getElementTypeBitWidth() < type.getElementTypeBitWidth();
    if (isWidened) op = mask, type = tile::tileType(mask);
  }
  auto isNeutral = [&](Value fill) {
    auto f = dyn_cast<FloatType>(type.getElementType());
    if (f && kind != tile::ReduceKind::Sum && !APFloat::getInf(f.getFloatSemantics()).isInfinity())
      return false;
    Attribute known;
    return matchPattern(fill, m_Constant(&known)) &&
           known == neutralAttr(kind, isUnsigned, type.getElementType());
  };
  if (auto mask = dyn_cast<tile::MaskOp>(op); mask && isNeutral(mask.getFill())) {
    part.ends = constants(type.getShape());
    cutEnds(part.ends, mask.getUpper());
  } else if (kind == tile::ReduceKind::Sum ||
             (kind == tile::ReduceKind::Max && isUnsigned && !isa<FloatType>(type.getElementType()))) {
    // What is past the edge reads as 0, which is neutral, and has no mask.
    auto cast = dyn_cast<tile::CastOp>(op);
    if (cast && !tile::inMemory(cast.getInput())) op = cast.getInput().getDefiningOp();
    if (auto read = dyn_cast<tile::LoadOp>(op); read && !read.getInBounds())
      part.ends = windowEnds(window(read.getView(), read.getStarts(), read.getExtents(), false));
  }
  part.inside = insideCondition(ValueRange(input), part.ends);
  return part;
}

SmallVector<Value> KernelLowering::alongLine(int64_t from, int64_t to, int64_t step, const Line &line,
                                             Vec<Value> carried, LineBody body) {
  auto walk = [&](Value lo, Value hi, Mode mode) {
    auto loop = scf::ForOp::create(b_, lo, hi, constant(step), carried);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b_, body(loop.getInductionVar(), loop.getRegionIterArgs(), mode));
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  };
  if (!line.end) {
    if (to - from == step) return body(constant(from), carried, {true});
    walk(constant(from), constant(to), {true});
    return carried;
  }
  Value end = b_.createOrFold<arith::MinSIOp>(line.end, constant(to));
  end = b_.createOrFold<arith::MaxSIOp>(end, constant(from));
  Value length = b_.createOrFold<arith::SubIOp>(end, constant(from));
  Value whole = b_.createOrFold<arith::AddIOp>(wholeVectors(length, step, line.inside), constant(from));
  walk(constant(from), whole, {true});
  if (step > 1 || line.inside) walk(whole, end, {false});
  return carried;
}

SmallVector<Value> KernelLowering::alongChains(int64_t from, int64_t to, int64_t chains, int64_t lanes,
                                               const Line &line, bool inParts, Vec<Value> carried,
                                               ChainBody body) {
  const size_t each = carried.size() / static_cast<size_t>(chains);
  auto at = [&](Value k, int64_t chain) {
    return chain ? b_.createOrFold<arith::AddIOp>(k, constant(chain * lanes)) : k;
  };
  auto all = [&](Value k, ValueRange old, Mode mode) {
    Vec<Value> next;
    for (int64_t c = 0; c < chains; ++c)
      llvm::append_range(next, body(at(k, c), old.slice(c * each, each), mode));
    return next;
  };
  auto choose = [&](Value condition, TypeRange types, llvm::function_ref<Vec<Value>()> yes,
                    llvm::function_ref<Vec<Value>()> no) {
    auto choice = scf::IfOp::create(b_, types, condition, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    scf::YieldOp::create(b_, yes());
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    scf::YieldOp::create(b_, no());
    return Vec<Value>(choice.getResults());
  };
  auto compare = [&](arith::CmpIPredicate p, Value x) -> Value {
    return arith::CmpIOp::create(b_, p, x, line.end);
  };
  // The step that contains the end: the vectors of chains from `first` on, whole ones without masks.
  std::function<Vec<Value>(Value, ValueRange, int64_t)> present = [&](Value k, ValueRange old,
                                                                      int64_t first) {
    ValueRange own = old.take_front(each), others = old.drop_front(each);
    Value next = at(k, first + 1);
    return choose(
        compare(arith::CmpIPredicate::sle, next), old.getTypes(),
        [&] {
          Vec<Value> found = body(at(k, first), own, {true});
          if (others.empty()) return found;
          llvm::append_range(found, choose(
                                        compare(arith::CmpIPredicate::slt, next), others.getTypes(),
                                        [&] { return present(k, others, first + 1); },
                                        [&] { return Vec<Value>(others); }));
          return found;
        },
        [&] {
          Vec<Value> found = body(at(k, first), own, {false});
          llvm::append_range(found, others);
          return found;
        });
  };
  return alongLine(from, to, chains * lanes, line, std::move(carried),
                   [&](Value k, ValueRange old, Mode mode) {
                     if (mode.inside || !line.end || !inParts || chains == 1) return all(k, old, mode);
                     if (!line.inside) return present(k, old, 0);
                     return choose(
                         line.inside, old.getTypes(), [&] { return present(k, old, 0); },
                         [&] { return all(k, old, mode); });
                   });
}

void KernelLowering::reduceLines(Value input, Value result, int64_t axis, int64_t lanes, const Part &part,
                                 LineResults reduce, RowResults reduceRows) {
  auto shape = tile::tileType(input).getShape();
  Vec<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  // A line of absent results, and what is absent at the end of one, is not looked at.
  auto lineAt = [&](Indices at, int64_t width, bool isPresent = false) {
    Line line;
    if (part.isWhole()) return line;
    line.inside = part.inside;
    line.end = part.ends.empty() ? constant(shape[axis]) : part.ends[axis];
    if (part.ends.empty() || isPresent) return line;
    for (auto [d, index] : llvm::enumerate(at)) {
      Value end = part.ends[d < static_cast<size_t>(axis) ? d : d + 1];
      Value present = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, index, end);
      line.end = arith::SelectOp::create(b_, present, line.end, constant(0));
      if (width == 1 || d + 1 < at.size()) continue;
      Value last = b_.createOrFold<arith::AddIOp>(index, constant(width));
      line.inside = both(line.inside, arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, last, end));
    }
    return line;
  };
  if (!tile::isTile(result)) return map_.map(result, reduce({}, {}, lineAt({}, 1)).front());
  Place to = place(result);
  Vec<Value> ends = observedEnds(result, result.getDefiningOp());
  if (axis + 1 == static_cast<int64_t>(shape.size())) {
    if (reduceRows && kept.back() % kRowsTogether == 0)
      return nest(
          kept, kRowsTogether,
          [&](Indices at, int64_t width) { storePlace(to, reduceRows(at, lineAt(at, width)), at); }, ends);
    auto row = [&](Indices at, int64_t) {
      storePlace(to, splat(reduce(at, {}, lineAt(at, 1)).front(), 1), at);
    };
    return nest(kept, 1, row, ends);
  }
  // Along another axis lanes are columns. A few vectors of them side by side hide latency and use what a
  // cache line brings, where that is not much code.
  int64_t blocks = tile::isShort(input) ? 4 : 1;
  if (blocks > 1 && kept.back() == 3 * lanes) blocks = 3; // not two and one
  auto blockOf = [&](Indices at, int64_t width, bool isPresent) {
    Vec<int64_t> widths(std::max<int64_t>(width / lanes, 1), std::min(width, lanes));
    Vec<Value> index(at);
    for (auto [i, vector] : llvm::enumerate(reduce(at, widths, lineAt(at, width, isPresent)))) {
      index.back() = b_.createOrFold<arith::AddIOp>(at.back(), constant(static_cast<int64_t>(i) * lanes));
      storePlace(to, vector, index);
    }
  };
  auto block = [&](Indices at, int64_t width) { blockOf(at, width, false); };
  if (blocks == 1 || shape.size() != 2 || part.ends.empty() || part.inside || kept[0] % (lanes * blocks) ||
      getConstantIntValue(part.ends.back()))
    return nest(kept, lanes * blocks, block, ends);
  // Where nothing but its ends masks a tile: blocks whose columns are all present, without masks, then
  // smaller ones. Few columns are not computed four vectors at a time.
  const int64_t rest = lanes * (blocks % 2 ? 1 : blocks / 2);
  Value end = constant(kept[0]);
  if (!ends.empty() && ends[0]) end = b_.createOrFold<arith::MinSIOp>(ends[0], end);
  Value whole = wholeVectors(b_.createOrFold<arith::MinSIOp>(part.ends.back(), end), lanes * blocks);
  upTo(constant(0), whole, lanes * blocks, [&](Value at) { blockOf({at}, lanes * blocks, true); });
  upTo(whole, end, rest, [&](Value at) { block({at}, rest); });
}

/// `outer` with `k` along the axis; `offset` further along the last axis.
SmallVector<Value> KernelLowering::elementAt(Indices outer, int64_t axis, Value k, int64_t offset) {
  Vec<Value> index(outer);
  index.insert(index.begin() + axis, k);
  if (offset) index.back() = b_.createOrFold<arith::AddIOp>(index.back(), constant(offset));
  return index;
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  if (lowerCount(op)) return success();
  if (op.getOrder() && op.getOrder()->isFixed()) return lowerFixedReduce(op);
  Value input = op.getInput();
  Type element = tile::tileType(input).getElementType();
  int64_t axis = op.getAxis(), n = tile::tileType(input).getDimSize(axis), lanes = lanesFor(input);
  auto kind = op.getKind();
  bool isUnsigned = op.getIsUnsigned() || element.isInteger(1);
  auto fold = [&](Value x, Value y) { return combine(kind, isUnsigned, x, y); };
  auto zero = [&](double signedZero) {
    return constantOf(target::registerElement(element),
                      b_.getFloatAttr(target::registerElement(element), signedZero));
  };
  bool addsFloats = kind == tile::ReduceKind::Sum && isa<FloatType>(target::registerElement(element));
  // -0 + x is x, whatever x is.
  auto start = [&](int64_t width) {
    Type type = vectorOf(element, width);
    return addsFloats ? splat(zero(-0.0), width) : neutral(kind, isUnsigned, type);
  };
  // An absent element counts as +0: a sum of nothing but -0 and absent elements is +0, however many of these
  // were looked at.
  auto finished = [&](Value sum, const Line &line) {
    if (!line.end || !addsFloats) return sum;
    Value isCut = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, line.end, constant(n));
    Value rest = arith::SelectOp::create(b_, isCut, zero(0.0), zero(-0.0));
    auto vector = dyn_cast<VectorType>(sum.getType());
    return fold(sum, vector ? splat(rest, vector.getDimSize(0)) : rest);
  };

  // Independent chains of additions hide their latency. How many there are decides the bits of a float sum.
  const bool alongLast = axis + 1 == tile::tileType(input).getRank();
  const int64_t rowLanes = op.getOrder() ? op.getOrder()->getLanes() : 1;
  Vec<int64_t> chainCounts(op.getOrder() ? op.getOrder()->getChains() : ArrayRef<int64_t>());
  if (rowLanes > 1 && (!alongLast || chainCounts.empty()))
    return op.emitOpError() << "has an order that is not implemented on cpu (TSR_UNIMPLEMENTED): "
                            << (alongLast ? "lanes without chains"
                                          : "lanes along another axis than the last");
  if (chainCounts.empty()) chainCounts.push_back(1);
  auto joinChains = [&](Vec<Value> &chains, size_t left) {
    for (size_t count = chains.size(); count > left; count /= 2)
      for (size_t i = 0; i < count / 2; ++i)
        chains[i] = fold(chains[i], chains[i + count / 2]);
    chains.resize(left);
  };

  auto columns = [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
    const size_t count = widths.size();
    Vec<Value> sums;
    int64_t done = 0;
    for (int64_t ways : chainCounts) {
      const int64_t turns = (n - done) / ways;
      if (!turns || (ways > 1 && turns < 2)) continue;
      Vec<Value> chains;
      for (int64_t w = 0; w < ways; ++w)
        for (int64_t width : widths)
          chains.push_back(start(width));
      chains = alongLine(
          done, done + turns * ways, ways, line, chains, [&](Value k, ValueRange carried, Mode mode) {
            Vec<Value> next;
            for (auto [i, chain] : llvm::enumerate(carried)) {
              const int64_t w = i / count, column = i % count;
              Value row = w ? b_.createOrFold<arith::AddIOp>(k, constant(w)) : k;
              next.push_back(fold(
                  chain, evaluate(input, elementAt(at, axis, row, column * lanes), widths[column], mode)));
            }
            return next;
          });
      joinChains(chains, count);
      for (auto [i, sum] : llvm::enumerate(sums))
        chains[i] = fold(sum, chains[i]);
      sums = std::move(chains);
      done += turns * ways;
    }
    for (Value &sum : sums)
      sum = finished(sum, line);
    return sums;
  };
  const bool inParts = !computesFunction(input); // else a vector is too much code to be repeated
  auto row = [&](Indices at, const Line &line) {
    Value result;
    auto join = [&](Value scalar) { result = result ? fold(result, scalar) : scalar; };
    int64_t done = 0;
    for (int64_t ways : chainCounts) {
      int64_t step = ways * rowLanes, count = (n - done) / step;
      if (!count || (ways > 1 && count < 2)) continue;
      Vec<Value> sums(ways, start(rowLanes));
      sums = alongChains(done, done + count * step, ways, rowLanes, line, inParts, sums,
                         [&](Value k, ValueRange sum, Mode mode) {
                           Value x = evaluate(input, elementAt(at, axis, k, 0), rowLanes, mode);
                           return Vec<Value>{fold(sum[0], x)};
                         });
      joinChains(sums, 1);
      join(foldLanes(kind, isUnsigned, sums[0]));
      done += count * step;
    }
    for (int64_t left = n - done; left; left = n - done) {
      int64_t width = llvm::bit_floor(static_cast<uint64_t>(left));
      join(foldLanes(kind, isUnsigned,
                     evaluate(input, elementAt(at, axis, constant(done), 0), width, {!line.end})));
      done += width;
    }
    return finished(result, line);
  };
  auto rows = [&](Indices at, const Line &line) {
    auto step = [&](Value k, ValueRange sums, Mode mode) {
      Vec<Value> next, index(at);
      for (auto [r, sum] : llvm::enumerate(sums)) {
        index.back() = b_.createOrFold<arith::AddIOp>(at.back(), constant(static_cast<int64_t>(r)));
        next.push_back(fold(sum, evaluate(input, elementAt(index, axis, k, 0), rowLanes, mode)));
      }
      return next;
    };
    Vec<Value> sums(kRowsTogether, start(rowLanes));
    sums = alongLine(0, n, rowLanes, line, sums, step);
    return finished(foldTogether(sums, fold)[0], line);
  };
  // A row of one chain, whose lanes are folded once. Sums, of one instruction a step, gain nothing.
  const bool isExtreme = kind == tile::ReduceKind::Max || kind == tile::ReduceKind::Min;
  const bool isOneChain =
      llvm::all_of(chainCounts, [&](int64_t ways) { return ways == 1 || n / (ways * rowLanes) < 2; });
  const bool isShortRow = isa<FloatType>(target::registerElement(element)) && isExtreme && alongLast &&
                          inParts && isOneChain && rowLanes >= kRowsTogether && n % rowLanes == 0 &&
                          n <= kShortRow * rowLanes;
  reduceLines(
      input, op.getResult(), axis, lanes, partOf(input, kind, isUnsigned),
      [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
        return widths.empty() ? Vec<Value>{row(at, line)} : columns(at, widths, line);
      },
      isShortRow ? RowResults(rows) : RowResults());
  return success();
}

} // namespace tessera::cpu
