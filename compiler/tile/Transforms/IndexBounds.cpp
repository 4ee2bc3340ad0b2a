#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

using namespace mlir;

namespace tessera::tile {
namespace {

using Wide = unsigned __int128;
constexpr Wide kLargest = std::numeric_limits<int64_t>::max();
constexpr int kDeepest = 8;

/// Returns the largest value of the type of an operation's result.
Wide largestOf(Type type) {
  if (type.isIndex()) return kLargest;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() <= 64 ? (Wide(1) << (integer.getWidth() - 1)) - 1 : 0;
}

/// The axis has ceildiv(count, step) programs, so program * step is below count.
bool countsSteps(ProgramIdOp program, int64_t step) {
  auto kernel = program->getParentOfType<KernelOp>();
  if (!kernel || program.getAxis() >= kernel.getGrid().size()) return false;
  return cast<IndexExprAttr>(kernel.getGrid()[program.getAxis()]).getExpr().ceilDivisor() == step;
}

/// Returns the largest value of `v` as if it were computed without wrapping, at most 2^64 - 1; nullopt if it
/// may be negative or larger. Only sums and products may exceed their type.
std::optional<Wide> largest(Value v, int depth = kDeepest);

std::optional<Wide> largestInType(Value v, int depth) {
  std::optional<Wide> most = largest(v, depth);
  return most && *most <= largestOf(v.getType()) ? most : std::nullopt;
}

std::optional<Wide> largestArgument(BlockArgument arg, int depth) {
  Operation *owner = arg.getOwner()->getParentOp();
  if (isa<KernelOp>(owner)) return arg.getType().isIndex() ? std::optional(kLargest) : std::nullopt; // a dim
  auto loop = dyn_cast<scf::ForOp>(owner);
  if (!loop || arg != loop.getInductionVar() || !largestInType(loop.getLowerBound(), depth))
    return std::nullopt;
  return largestInType(loop.getUpperBound(), depth).value_or(kLargest);
}

std::optional<Wide> largest(Value v, int depth) {
  if (auto c = getConstantIntValue(v)) return *c >= 0 ? std::optional(Wide(*c)) : std::nullopt;
  if (depth-- == 0) return std::nullopt;
  if (auto arg = dyn_cast<BlockArgument>(v)) return largestArgument(arg, depth);
  Operation *op = v.getDefiningOp();
  if (isa<ProgramIdOp, DimOp>(op)) return kLargest;
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    std::optional<Wide> from = largestInType(cast.getIn(), depth);
    return from && *from <= largestOf(v.getType()) ? from : std::nullopt;
  }
  auto binary = [&](auto read) {
    return std::pair(read(op->getOperand(0), depth), read(op->getOperand(1), depth));
  };
  if (isa<arith::AddIOp, arith::MulIOp>(op)) {
    if (auto program = op->getOperand(0).getDefiningOp<ProgramIdOp>(); program && isa<arith::MulIOp>(op))
      if (auto step = getConstantIntValue(op->getOperand(1)); step && countsSteps(program, *step))
        return kLargest;
    auto [x, y] = binary(largest);
    if (!x || !y) return std::nullopt;
    if (isa<arith::MulIOp>(op) && *y && *x > std::numeric_limits<uint64_t>::max() / *y) return std::nullopt;
    Wide result = isa<arith::MulIOp>(op) ? *x * *y : *x + *y;
    bool is64 = largestOf(v.getType()) == kLargest; // a narrower value is extended by its sign
    return result <= (is64 ? Wide(std::numeric_limits<uint64_t>::max()) : largestOf(v.getType()))
               ? std::optional(result)
               : std::nullopt;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<Wide> x = largestInType(select.getTrueValue(), depth);
    std::optional<Wide> y = largestInType(select.getFalseValue(), depth);
    return x && y ? std::optional(std::max(*x, *y)) : std::nullopt;
  }
  if (!isa<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
           arith::MinSIOp, arith::MaxSIOp, arith::AndIOp, arith::XOrIOp>(op))
    return std::nullopt;
  auto [x, y] = binary(largestInType);
  if (isa<arith::AndIOp>(op) && (x || y)) return x && y ? std::min(*x, *y) : x ? x : y;
  if (isa<arith::RemUIOp>(op) && x && y && *y) return std::min(*x, *y - 1);
  // Whatever the divisor is; a remainder has the sign of the dividend.
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::RemSIOp>(op) && x) return x;
  if (!x || !y) return std::nullopt;
  if (isa<arith::MaxSIOp>(op)) return std::max(*x, *y);
  if (isa<arith::XOrIOp>(op)) return largestOf(v.getType());
  return isa<arith::MinSIOp>(op) ? std::min(*x, *y) : *x;
}

/// Appends the factors of a product.
void collectFactors(Value v, SmallVectorImpl<Value> &factors) {
  v = uncast(v);
  auto product = v.getDefiningOp<arith::MulIOp>();
  if (!product) return factors.push_back(v);
  collectFactors(product.getLhs(), factors);
  collectFactors(product.getRhs(), factors);
}

/// Is each of `parts` among `all`, as often as it is among `parts`?
bool areAmong(ArrayRef<Value> parts, SmallVector<Value> all) {
  return llvm::all_of(parts, [&](Value part) {
    auto found = llvm::find(all, part);
    if (found == all.end()) return false;
    all.erase(found);
    return true;
  });
}

/// Can `v` not be `excluded`? It cannot if it is another constant, or a chain of `select(x == c, other, x)`
/// that replaces that value.
bool isNever(Value v, int64_t excluded) {
  bool isReplaced = false;
  Value subject; // of the comparisons
  while (auto select = v.getDefiningOp<arith::SelectOp>()) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    APInt with, against;
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
        !matchPattern(select.getTrueValue(), m_ConstantInt(&with)) || with.getSExtValue() == excluded ||
        !matchPattern(compare.getRhs(), m_ConstantInt(&against)))
      return false;
    Value compared = uncast(compare.getLhs());
    if (subject && subject != compared) return false;
    subject = compared;
    isReplaced |= against.getSExtValue() == excluded;
    v = select.getFalseValue();
  }
  if (APInt constant; matchPattern(v, m_ConstantInt(&constant))) return constant.getSExtValue() != excluded;
  return isReplaced && uncast(v) == subject;
}

} // namespace

bool canRunAt(Operation *op, Operation *at) {
  auto isPositive = [&] { return isPositiveAt(op->getOperand(1), at); };
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
    return isNever(op->getOperand(1), 0) || isPositive();
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return (isNever(op->getOperand(1), 0) && isNever(op->getOperand(1), -1)) || isPositive();
  return isSpeculatable(op);
}

Value uncast(Value v) {
  while (auto cast = v.getDefiningOp<arith::IndexCastOp>()) {
    if (!cast.getIn().getType().isIndex() && !cast.getIn().getType().isInteger(64)) break;
    v = cast.getIn();
  }
  return v;
}

bool isPositiveAt(Value v, Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  while (loop && !loop->hasAttr(kLanes))
    loop = loop->getParentOfType<scf::ForOp>();
  // A lane is at least 0 and below the number of lanes, which is therefore not 0, nor is any factor of it.
  // The launch computes the number without wrapping or fails.
  if (!loop || !v.getType().isIntOrIndex() || !largestIndex(loop.getLowerBound())) return false;
  auto limit = loop.getUpperBound().getDefiningOp<arith::MinSIOp>();
  if (!limit) return false;
  SmallVector<Value> factors, lanes;
  collectFactors(v, factors);
  auto isExtent = [](Value x) { return isa<BlockArgument>(x) && largestIndex(x).has_value(); };
  for (Value count : limit->getOperands()) {
    lanes.clear();
    collectFactors(count, lanes);
    if (llvm::all_of(lanes, isExtent) && areAmong(factors, lanes)) return true;
  }
  return false;
}

std::optional<uint64_t> largestIndex(Value index) {
  std::optional<Wide> most = largestInType(index, kDeepest);
  return most ? std::optional(static_cast<uint64_t>(*most)) : std::nullopt;
}

IndexSign signOf(Value index) {
  std::optional<Wide> most = largest(index);
  return !most ? IndexSign::Unknown : *most <= kLargest ? IndexSign::NonNegative : IndexSign::Wrapping;
}

Value saturatedIndex(OpBuilder &b, Location loc, Value index, IndexSign sign) {
  if (sign != IndexSign::Wrapping) return index;
  Value most = arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(kLargest));
  return b.createOrFold<arith::MinUIOp>(loc, index, most);
}

Interval presentInterval(OpBuilder &b, Location loc, Value start, int64_t extent, Value size,
                         bool isNonNegative) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value zero = constant(0), lo = zero;
  if (!isNonNegative) {
    // Starts further below reach nothing either, and the differences with them would overflow.
    start = b.createOrFold<arith::MaxSIOp>(loc, start, constant(-extent));
    Value before = b.createOrFold<arith::SubIOp>(loc, zero, start);
    lo = b.createOrFold<arith::MaxSIOp>(loc, before, zero);
  }
  Value hi = b.createOrFold<arith::SubIOp>(loc, size, start);
  hi = b.createOrFold<arith::MinSIOp>(loc, hi, constant(extent));
  return {lo, b.createOrFold<arith::MaxSIOp>(loc, hi, zero)};
}

} // namespace tessera::tile
