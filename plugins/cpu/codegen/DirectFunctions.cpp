// The functions of products that read their operands in place (Direct.cpp): chains and dots. They take the
// extents at run time, and a module has one function per combination of element types.
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {
namespace {

/// A block: several results along one axis, which hide the latency of their additions, and kChainVectors
/// along the other.
constexpr int64_t kBlock = 4;
/// The block of a chain of more rows on targets with 32 registers.
constexpr int64_t kWideRows = 6, kWideVectors = 4;
/// A single row of at most this many vectors is a block.
constexpr int64_t kRowVectors = 8;
/// Products of few rows prefetch rows of B this many rows before their use.
constexpr int64_t kRowsAhead = 8;
/// Strided products prefetch rows of A this many blocks before their use.
constexpr int64_t kBlocksAhead = 2;
/// Locality of a prefetch into the second-level cache: columns at a stride of rows fill few sets of the
/// first, and what comes from memory passes through the second, which awaits more lines at a time.
constexpr int32_t kSecondLevel = 2;
/// Dots prefetch columns of B this many columns before their use; of long columns, elements this far ahead.
constexpr int64_t kColumnsAhead = 32, kDepthAhead = 512;

} // namespace

Value KernelLowering::readFactor(const Factor &f, Value index, int64_t lanes, Value mask) {
  return converted(f, load(f.element, address(f.data, index, f.element), lanes, mask));
}

Value KernelLowering::converted(const Factor &f, Value v) {
  if (tile::CastOp cast = f.cast)
    v = tile::emitCast(b_, b_.getLoc(), v, *parseDType(cast.getFrom()), *parseDType(cast.getTo()));
  const bool isNarrow = getElementTypeOrSelf(v.getType()).isInteger(16);
  return isNarrow ? widened(v, b_.getI32Type()) : v;
}

void KernelLowering::prefetch(const Factor &f, Value index, int32_t locality) {
  LLVM::Prefetch::create(b_, byteAddress(f.element, address(f.data, index, f.element)), 0, locality, 1);
}

bool KernelLowering::readsWordsOfBf16(const Factor &f, const Place &c) const {
  tile::CastOp cast = f.cast;
  return vectorBytes_ == 32 && f.element.isBF16() && cast && cast.getTo() == "f32" && c.element.isF32();
}

std::array<Value, 2> KernelLowering::readWords(const Factor &f, Value index, int64_t lanes) {
  auto words = VectorType::get({lanes}, b_.getI32Type()), floats = VectorType::get({lanes}, b_.getF32Type());
  Value word = LLVM::LoadOp::create(b_, words, address(f.data, index, f.element), /*alignment=*/2);
  Value sixteen = splat(constantOf(b_.getI32Type(), b_.getI32IntegerAttr(16)), lanes);
  Value upper = splat(constantOf(b_.getI32Type(), b_.getI32IntegerAttr(-65536)), lanes);
  Value even = arith::ShLIOp::create(b_, words, word, sixteen),
        odd = arith::AndIOp::create(b_, words, word, upper);
  return {arith::BitcastOp::create(b_, floats, even), arith::BitcastOp::create(b_, floats, odd)};
}

int64_t KernelLowering::vectorsOfLine(const Factor &f, int64_t lanes) {
  const int64_t bits = target::inMemoryElement(f.element).getIntOrFloatBitWidth();
  return std::max<int64_t>(1, kLineBytes * 8 / (lanes * bits));
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

func::FuncOp KernelLowering::chainFunction(const Factor &a, const Factor &b, const Place &c,
                                           BlockOptions options) {
  auto emit = [&](const Factor &x, const Factor &y, const Place &sum, Value rows, Value columns,
                  Value depth) {
    Value isRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, rows, constant(1));
    auto choice = scf::IfOp::create(b_, TypeRange(), isRow, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    if (c.shape[1] <= kRowVectors * lanes) // the row stays in registers
      chainBlocks(x, y, sum, {1, (c.shape[1] + lanes - 1) / lanes}, {constant(0), columns}, rows, columns,
                  depth, options);
    else
      emitChainRow(x, y, sum, columns, depth, options);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    emitChainBlocks(x, y, sum, rows, columns, depth, options);
  };
  return productFunction("chain", options.allColumns ? ".whole" : "", a, b, c, emit);
}

/// Computes one row. Adds several rows of B to all of C in each pass, so that B is read along its rows.
void KernelLowering::emitChainRow(const Factor &a, const Factor &b, const Place &c, Value columns,
                                  Value depth, BlockOptions options) {
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
    auto vectors = [&](Value j, int64_t number, bool isWhole) {
      for (Value start : starts)
        prefetch(b, arith::AddIOp::create(b_, arith::AddIOp::create(b_, start, j), ahead), kSecondLevel);
      for (int64_t g = 0; g < number; ++g) {
        Value at = g ? arith::AddIOp::create(b_, j, constant(g * lanes)).getResult() : j;
        Value mask = isWhole ? Value() : rangeMask(at, {}, columns, lanes), onlyC = isPadded ? Value() : mask;
        Value place = address(c.data, at, c.element), sum = load(c.element, place, lanes, onlyC);
        for (auto [x, start] : llvm::zip(xs, starts))
          sum = multiplyAdd(x, readFactor(b, arith::AddIOp::create(b_, start, at), lanes, mask), sum);
        isWhole ? store(c.element, sum, place) : keepPadding(sum, place, mask);
      }
    };
    // Vectors of a cache line, then single ones.
    const int64_t perLine = vectorsOfLine(b, lanes);
    Value whole = roundDown(columns, perLine * lanes);
    upTo(zero, whole, perLine * lanes, [&](Value j) { vectors(j, perLine, true); });
    upTo(whole, columns, lanes, [&](Value j) { vectors(j, 1, options.allColumns); });
  };
  upTo(zero, wholeDepth, kBlock, [&](Value k) { steps(k, kBlock); });
  upTo(wholeDepth, depth, 1, [&](Value k) { steps(k, 1); });
}

/// Computes blocks of rows by vectors in registers. A last block that lacks rows repeats the last row and
/// stores the same values again.
void KernelLowering::emitChainBlocks(const Factor &a, const Factor &b, const Place &c, Value rows,
                                     Value columns, Value depth, BlockOptions options) {
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
    chainBlocks(a, b, c, {kWideRows, kWideVectors}, {from, wide}, rows, columns, depth, options);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    chainBlocks(a, b, c, {kBlock, kWideVectors}, {from, wide}, rows, columns, depth, options);
    from = wide;
  }
  chainBlocks(a, b, c, {kBlock, kChainVectors}, {from, columns}, rows, columns, depth, options);
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
  const bool isPadded = c.shape[1] % width == 0, isWhole = options.allColumns && isPadded;
  auto keepPadding = [&](Value sum, Value place, Value mask) {
    isPadded && !isWhole ? replaceMasked(c.element, sum, place, mask) : store(c.element, sum, place, mask);
  };
  Value ahead = times(b.rowStride, constant(kRowsAhead));
  const int64_t perLine = vectorsOfLine(b, lanes);
  // Pairs of bf16 become f32 by one operation each, the even elements apart from the odd ones. So are their
  // sums.
  const bool inWords = isWhole && vectors % 2 == 0 && readsWordsOfBf16(b, c);
  auto shuffled = [&](Value x, Value y, int64_t first, int64_t step) -> Value {
    Vec<int64_t> from;
    for (int64_t i = 0; i < lanes; ++i)
      from.push_back(first + i * step);
    return vector::ShuffleOp::create(b_, x, y, from);
  };
  auto interleaved = [&](Value even, Value odd, int64_t first) -> Value {
    Vec<int64_t> from;
    for (int64_t i = 0; i < lanes; ++i)
      from.push_back(first + i / 2 + i % 2 * lanes);
    return vector::ShuffleOp::create(b_, even, odd, from);
  };
  upTo(range[0], range[1], width, [&](Value column) {
    Vec<Value> at, masks;
    for (int64_t g = 0; g < vectors; ++g) {
      at.push_back(plus(column, constant(g * lanes)));
      masks.push_back(isWhole ? Value() : rangeMask(at.back(), {}, columns, lanes));
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
      for (size_t i = 0; inWords && i < sums.size(); i += 2)
        std::tie(sums[i], sums[i + 1]) =
            std::pair(shuffled(sums[i], sums[i + 1], 0, 2), shuffled(sums[i], sums[i + 1], 1, 2));
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
          if (!inWords)
            line.push_back(readFactor(b, plus(inB, at[g]), lanes, options.wholeRows ? Value() : masks[g]));
          else if (g % 2 == 0)
            llvm::append_range(line, readWords(b, plus(inB, at[g]), lanes));
          // More rows wait for the multiplications, not for B.
          if (count <= kBlock && g % perLine == 0) prefetch(b, plus(plus(inB, at[g]), ahead), kSecondLevel);
        }
        for (int64_t r = 0; r < count; ++r) {
          Value x = splat(readFactor(a, plus(ofA[r], inA), 0), lanes);
          for (int64_t g = 0; g < vectors; ++g)
            next.push_back(multiplyAdd(x, line[g], loop.getRegionIterArg(r * vectors + g)));
        }
        scf::YieldOp::create(b_, next);
      }
      Vec<Value> results(loop.getResults());
      for (size_t i = 0; inWords && i < results.size(); i += 2)
        std::tie(results[i], results[i + 1]) = std::pair(interleaved(results[i], results[i + 1], 0),
                                                         interleaved(results[i], results[i + 1], lanes / 2));
      for (int64_t r = 0, i = 0; r < count; ++r)
        for (int64_t g = 0; g < vectors; ++g, ++i)
          keepPadding(results[i], places[i], masks[g]);
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
    const int64_t perLine = vectorsOfLine(y, lanes);
    Value wholeLines = perLine > 1 ? roundDown(depth, lanes * perLine) : zero;
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
      // Adds the products of `step` terms at a time (0: scalars), `count` times in each iteration, which
      // fetches one cache line of each column.
      auto along = [&](Value from, Value end, int64_t step, int64_t count) {
        const int64_t terms = std::max<int64_t>(step, 1);
        auto loop = scf::ForOp::create(b_, from, end, constant(terms * count), sums);
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        Vec<Value> chains(loop.getRegionIterArgs());
        for (int64_t i = 0; i < count; ++i) {
          Value k = i ? plus(loop.getInductionVar(), constant(i * terms)) : loop.getInductionVar();
          Vec<Value> lines;
          for (Value start : ofB) {
            lines.push_back(readFactor(y, plus(start, k), step));
            if (step > 1 && !i) prefetch(y, plus(plus(start, k), ahead), kSecondLevel);
          }
          for (int64_t r = 0; r < height; ++r) {
            Value factor = readFactor(x, plus(ofA[r], k), step);
            for (int64_t u = 0; u < width; ++u)
              chains[r * width + u] = multiplyAdd(factor, lines[u], chains[r * width + u]);
          }
        }
        scf::YieldOp::create(b_, chains);
        sums.assign(loop.getResults().begin(), loop.getResults().end());
      };
      sums.assign(height * width, none);
      if (perLine > 1) along(zero, wholeLines, lanes, perLine);
      along(perLine > 1 ? wholeLines : zero, whole, lanes, 1);
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
      along(whole, depth, 0, 1);
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
