// Matrix products of tiles in scratch: a register block of C per micro-kernel, in the shape that
// `tile-vectorize` chose.
//
// C[m x n] += A[m x K] * B[K x n]: the rows of A are read one element at a time and broadcast, a row of B as
// n/lanes vectors, so that every step of k is m * n/lanes independent FMAs on accumulators that stay in
// registers for all of K. The loop over columns is outermost: all rows reuse a panel of B while it is in the
// near cache. Each shape has a function of its own, which all products of that shape call.
//
// Operands of i16 take two steps of k at once: an instruction of x86 (pmaddwd) multiplies pairs of them and
// adds both products to one i32. The pairs of B are put together in registers, once for all rows of the
// block.
#include "mlir/Dialect/Math/IR/Math.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

LogicalResult KernelLowering::lowerMma(tile::MmaOp op) {
  if (op->hasAttr(tile::kLeaf))
    return op.emitOpError() << "in leaves of " << op->getAttrOfType<IntegerAttr>(tile::kLeaf).getInt()
                            << " steps"
                            << " is not implemented on cpu (TSR_UNIMPLEMENTED): no body computes its product";
  if (op->hasAttr(tile::kStrided)) return lowerStrided(op);
  Place a = place(op.getA()), b = place(op.getB()), c = place(op.getResult());
  Type element = c.element;
  const bool inPairs = a.element.isInteger(16) && b.element.isInteger(16) && element.isInteger(32);
  const bool isSame = a.element == element && b.element == element;
  if (!(isSame || inPairs) ||
      !(element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64)))
    return op.emitOpError() << "of " << a.element << " into " << element
                            << " is not implemented on cpu (TSR_UNIMPLEMENTED)";
  // Rows and columns that are never observed need not be computed.
  Vec<Value> observed = observedEnds(op.getResult(), op), ends;
  bool limited = !op.getLimits().empty() || !observed.empty();
  bool fresh = target::isZeroTile(op.getAcc()) && !limited;
  if (!fresh) assign(op.getAcc(), c, op); // does nothing if the memory planner put both in one place
  for (int i = 0; i < 3; ++i) {
    int64_t extent = i < 2 ? c.shape[i] : a.shape[1];
    Value end = op.getLimits().empty() ? constant(extent) : scalar(op.getLimits()[i]);
    if (i < 2 && !observed.empty() && observed[i]) end = b_.createOrFold<arith::MinSIOp>(end, observed[i]);
    ends.push_back(end);
  }
  auto inScratch = [&]() -> LogicalResult {
    func::FuncOp product = productFunction(a, b, c, *op.getFragment(), limited, fresh);
    Vec<Value> arguments = {a.data, b.data, c.data};
    for (int i = 0; limited && i < 3; ++i) {
      Value end = ends[i];
      // An operand that was filled only as far as products read it ends where its tensor does, even if the
      // promised limit is larger.
      auto within = [&](Value operand, int axis) {
        if (auto filled = partlyRead_.find(operand); filled != partlyRead_.end())
          end = b_.createOrFold<arith::MinSIOp>(end, filled->second[axis]);
      };
      if (i != 1) within(op.getA(), i == 0 ? 0 : 1);
      if (i != 0) within(op.getB(), i == 1 ? 1 : 0);
      arguments.push_back(end);
    }
    func::CallOp::create(b_, product, arguments);
    return success();
  };
  return mayBeDirect(op) ? lowerDirect(op, c, ends, inScratch) : inScratch();
}

/// Returns the function that computes products of these shapes. A module has one per shape: programs repeat
/// few shapes often, and no other operation needs as much code.
func::FuncOp KernelLowering::productFunction(Place a, Place b, Place c, tile::FragmentAttr fragment,
                                             bool limited, bool fresh) {
  std::string name;
  llvm::raw_string_ostream text(name);
  text << "mma.";
  if (a.element != c.element) text << a.element << ".";
  text << c.element << "." << c.shape[0] << "x" << c.shape[1] << "x" << a.shape[1] << "." << fragment.getM()
       << "x" << fragment.getN()
       << (limited ? ".limits"
           : fresh ? ".fresh"
                   : "");
  SmallVector<Type> inputs(3, LLVM::LLVMPointerType::get(b_.getContext()));
  inputs.append(limited ? 3 : 0, b_.getIndexType());
  return sharedFunction(name, inputs, [&](func::FuncOp function) {
    function.setArgAttr(2, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    a.data = function.getArgument(0), b.data = function.getArgument(1), c.data = function.getArgument(2);
    emitProduct(a, b, c, fragment, limited ? ValueRange(function.getArguments().drop_front(3)) : ValueRange(),
                fresh);
  });
}

/// `limits`: where the operands' zeros begin, for rows, columns and depth; empty: the ends of the tiles.
void KernelLowering::emitProduct(const Place &a, const Place &b, const Place &c, tile::FragmentAttr fragment,
                                 ValueRange limits, bool fresh) {
  int64_t rows = c.shape[0], columns = c.shape[1], m = fragment.getM(), n = fragment.getN();
  int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
  int64_t depth = a.shape[1], unroll = std::gcd(depth, kProductTurn);
  Value depthEnd = constant(depth);
  Ends ends;
  if (!limits.empty()) {
    ends = {limits[0], limits[1]};
    // Iterations divide the depth. The minimum is taken first, because a promised limit may have any value.
    Value end = b_.createOrFold<arith::MinSIOp>(depthEnd, limits[2]);
    Value turns = arith::CeilDivSIOp::create(b_, end, constant(unroll));
    depthEnd = b_.createOrFold<arith::MulIOp>(turns, constant(unroll));
  }
  // Emits steps of `step` up to `whole` and then the remainder, both limited by `end`.
  auto blocks = [&](int64_t whole, int64_t extent, int64_t step, Value end,
                    llvm::function_ref<void(Value, bool)> body) {
    loop(0, whole, step, [&](Value at) { body(at, true); }, end);
    if (whole == extent) return;
    if (!end) return body(constant(whole), false);
    Value reaches = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, end, constant(whole));
    auto rest = scf::IfOp::create(b_, TypeRange(), reaches, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&rest.getThenRegion().front());
    body(constant(whole), false);
  };
  Vec<int64_t> tail;
  for (int64_t left = columns % n; left;) {
    int64_t width = std::min<int64_t>(lanes, llvm::bit_floor(static_cast<uint64_t>(left)));
    tail.push_back(width);
    left -= width;
  }
  blocks(columns / n * n, columns, n, ends.column, [&](Value column, bool full) {
    Vec<int64_t> groups = full ? Vec<int64_t>(n / lanes, lanes) : tail;
    blocks(rows / m * m, rows, m, ends.row, [&](Value row, bool whole) {
      microKernel(a, b, c, row, column, whole ? m : rows % m, groups, depthEnd, unroll, fresh, ends);
    });
  });
}

/// Operands narrower than the accumulator are signed integers.
Value KernelLowering::widened(Value v, Type element) {
  Type type = v.getType();
  if (getElementTypeOrSelf(type) == element) return v;
  auto vector = dyn_cast<VectorType>(type);
  return arith::ExtSIOp::create(b_, vector ? Type(vector.clone(element)) : element, v);
}

/// Targets with vectors of 32 bytes or more have FMA (findCpu). Without it, an fma is many operations, which
/// only fixed reductions ask for.
Value KernelLowering::multiplyAdd(Value x, Value y, Value sum) {
  if (!isa<FloatType>(getElementTypeOrSelf(sum.getType())))
    return b_.createOrFold<arith::AddIOp>(sum, b_.createOrFold<arith::MulIOp>(x, y));
  if (vectorBytes_ >= 32 || permits_.fixedReductions) return math::FmaOp::create(b_, x, y, sum);
  return arith::AddFOp::create(b_, sum, arith::MulFOp::create(b_, x, y));
}

/// sum + x0 * y0 + x1 * y1 in lanes of i32, where each lane of `x` and `y` is a pair of i16: the first in its
/// low half. Sums wrap.
Value KernelLowering::multiplyAddPairs(Value x, Value y, Value sum) {
  auto type = cast<VectorType>(sum.getType());
  const int64_t lanes = type.getDimSize(0);
  if (lanes < 4) { // fewer than the smallest vector
    Value sixteen = splat(constantOf(type.getElementType(), b_.getI32IntegerAttr(16)), lanes);
    auto high = [&](Value v) { return arith::ShRSIOp::create(b_, v, sixteen).getResult(); };
    auto low = [&](Value v) { return high(arith::ShLIOp::create(b_, v, sixteen)); };
    return multiplyAdd(high(x), high(y), multiplyAdd(low(x), low(y), sum));
  }
  const char *instruction = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                            : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                         : "llvm.x86.sse2.pmadd.wd";
  auto pairs = [&](Value v) {
    return LLVM::BitcastOp::create(b_, VectorType::get({2 * lanes}, b_.getI16Type()), v).getResult();
  };
  auto products =
      LLVM::CallIntrinsicOp::create(b_, type, b_.getStringAttr(instruction), ValueRange{pairs(x), pairs(y)});
  return arith::AddIOp::create(b_, sum, products.getResult(0));
}

void KernelLowering::microKernel(const Place &a, const Place &b, const Place &c, Value row, Value column,
                                 int64_t rows, ArrayRef<int64_t> groups, Value depth, int64_t unroll,
                                 bool fresh, const Ends &ends) {
  auto plus = [&](Value x, int64_t d) { return d ? b_.createOrFold<arith::AddIOp>(x, constant(d)) : x; };
  Vec<int64_t> offsets;
  for (int64_t at = 0; int64_t width : groups) {
    offsets.push_back(at);
    at += width;
  }
  Vec<Value> accs;
  for (int64_t r = 0; r < rows; ++r)
    for (auto [offset, width] : llvm::zip(offsets, groups))
      accs.push_back(fresh ? zeroOf(VectorType::get({width}, c.element))
                           : loadPlace(c, {plus(row, r), plus(column, offset)}, width));

  auto step = [&](Value k, Vec<Value> &acc) {
    Vec<Value> line;
    for (auto [offset, width] : llvm::zip(offsets, groups))
      line.push_back(widened(loadPlace(b, {k, plus(column, offset)}, width), c.element));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = widened(load(a.element, placeAddress(a, {plus(row, r), k}), 0), c.element);
      for (size_t g = 0; g < groups.size(); ++g) {
        Value &sum = acc[r * groups.size() + g];
        sum = multiplyAdd(splat(x, groups[g]), line[g], sum);
      }
    }
  };
  const bool inPairs = a.element != c.element && unroll % 2 == 0;
  auto twoSteps = [&](Value k, Vec<Value> &acc) {
    Vec<Value> line;
    for (auto [offset, width] : llvm::zip(offsets, groups)) {
      Type wide = VectorType::get({width}, c.element);
      auto read = [&](int64_t d) {
        return arith::ExtUIOp::create(b_, wide, loadPlace(b, {plus(k, d), plus(column, offset)}, width))
            .getResult();
      };
      Value second =
          arith::ShLIOp::create(b_, read(1), splat(constantOf(c.element, b_.getI32IntegerAttr(16)), width));
      line.push_back(arith::OrIOp::create(b_, read(0), second));
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value x = load(c.element, placeAddress(a, {plus(row, r), k}), 0); // aligned: k and the depth are even
      for (size_t g = 0; g < groups.size(); ++g) {
        Value &sum = acc[r * groups.size() + g];
        sum = multiplyAddPairs(splat(x, groups[g]), line[g], sum);
      }
    }
  };
  auto loopOp = scf::ForOp::create(b_, constant(0), depth, constant(unroll), accs);
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loopOp.getBody());
    Vec<Value> acc(loopOp.getRegionIterArgs());
    for (int64_t u = 0; u < unroll; u += inPairs ? 2 : 1)
      inPairs ? twoSteps(plus(loopOp.getInductionVar(), u), acc)
              : step(plus(loopOp.getInductionVar(), u), acc);
    scf::YieldOp::create(b_, acc);
  }
  // Past the operands' ends there are zeros, whose products with infinities are NaN: those elements keep
  // their values.
  auto storeAll = [&](bool masked) {
    for (int64_t r = 0, i = 0; r < rows; ++r)
      for (auto [offset, width] : llvm::zip(offsets, groups)) {
        Value to = placeAddress(c, {plus(row, r), plus(column, offset)}), v = loopOp.getResult(i++);
        if (!masked) {
          store(c.element, v, to);
          continue;
        }
        Value inside = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, plus(row, r), ends.row);
        Value mask = rangeMask(plus(column, offset), constant(0), ends.column, width);
        replaceMasked(c.element, v, to, arith::AndIOp::create(b_, mask, splat(inside, width)));
      }
  };
  if (!ends.row) return storeAll(false);
  auto reaches = [&](Value end, Value from, int64_t count) -> Value {
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, end, plus(from, count));
  };
  Value whole = arith::AndIOp::create(b_, reaches(ends.row, row, rows),
                                      reaches(ends.column, column, offsets.back() + groups.back()));
  versioned(whole, [&](Mode mode) { storeAll(!mode.inside); });
}

} // namespace tessera::cpu
