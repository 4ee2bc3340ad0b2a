#include "compiler/tile/Transforms/KnownExtents.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;

namespace tessera::tile {
namespace {

/// The integers of a kernel as slots of expressions, and what is known to divide them.
class Extents {
public:
  explicit Extents(KernelOp kernel)
      : kernel_(kernel), names_(indexNames(kernel.getArgumentTypes(), kernel.getParams())) {
    if (ArrayAttr checks = checksOf(kernel))
      for (auto check : checks.getAsRange<DictionaryAttr>())
        learn(check.getAs<StringAttr>("value").getValue());
  }

  bool knowsDivisors() const { return !divisors_.empty(); }

  /// Expressions with slots can be compared and evaluated, those without can be combined.
  std::optional<IndexExpr> withSlots(const IndexExpr &expr) const {
    Expected<IndexExpr> bound = expr.bind(names_);
    return bound ? std::optional(*bound) : std::nullopt;
  }

  std::optional<IndexExpr> extentOf(Value view, unsigned dim) const {
    auto arg = dyn_cast<BlockArgument>(view);
    if (!arg || arg.getOwner()->getParentOp() != kernel_) return std::nullopt;
    return parse(KernelOp(kernel_).getParam(arg).getDim(dim)); // the handle's methods are not const
  }

  /// The expression that an index value is, as far as extents are concerned.
  std::optional<IndexExpr> exprOf(Value v) const {
    v = uncast(v);
    if (auto constant = getConstantIntValue(v)) return IndexExpr::constant(*constant);
    if (auto dim = v.getDefiningOp<DimOp>()) return extentOf(dim.getView(), dim.getDim());
    if (auto arg = dyn_cast<BlockArgument>(v); arg && arg.getOwner()->getParentOp() == kernel_)
      return parse(names_[arg.getArgNumber()]);
    Operation *op = v.getDefiningOp();
    const auto code = isa_and_nonnull<arith::AddIOp>(op)   ? std::optional(IndexExpr::Code::Add)
                      : isa_and_nonnull<arith::MulIOp>(op) ? std::optional(IndexExpr::Code::Mul)
                                                           : std::nullopt;
    if (!code) return std::nullopt;
    auto a = exprOf(op->getOperand(0)), b = exprOf(op->getOperand(1));
    if (!a || !b) return std::nullopt;
    return IndexExpr::binary(*code, std::move(*a), *b);
  }

  /// A number that divides the expression for all launches; 0 of 0, which every number divides.
  int64_t divisorOf(const IndexExpr &expr) const {
    SmallVector<int64_t> stack;
    expr.forEach([&](IndexExpr::Code code, int64_t value) {
      using Code = IndexExpr::Code;
      if (code == Code::Const) return stack.push_back(value == INT64_MIN ? 1 : std::abs(value));
      if (code == Code::Slot) {
        auto known = divisors_.find(static_cast<size_t>(value));
        return stack.push_back(known == divisors_.end() ? 1 : known->second);
      }
      if (code == Code::Neg) return;
      const int64_t b = stack.pop_back_val();
      int64_t &a = stack.back();
      if (code == Code::Add || code == Code::Sub || code == Code::Min || code == Code::Max)
        a = std::gcd(a, b);
      else if (code != Code::Mul || __builtin_mul_overflow(a, b, &a))
        a = 1;
    });
    return stack.back();
  }

private:
  static std::optional<IndexExpr> parse(StringRef text) {
    Expected<IndexExpr> expr = IndexExpr::parse(std::string_view(text.data(), text.size()));
    return expr ? std::optional(*expr) : std::nullopt;
  }

  /// Reads "-(K % 4)", which is negative unless 4 divides K.
  void learn(StringRef text) {
    const std::optional<IndexExpr> free = parse(text), check = free ? withSlots(*free) : std::nullopt;
    if (!check) return;
    SmallVector<std::pair<IndexExpr::Code, int64_t>> nodes;
    check->forEach([&](IndexExpr::Code code, int64_t value) { nodes.emplace_back(code, value); });
    using Code = IndexExpr::Code;
    const bool isMultiple = nodes.size() == 4 && nodes[0].first == Code::Slot &&
                            nodes[1].first == Code::Const && nodes[1].second > 0 &&
                            nodes[2].first == Code::Mod && nodes[3].first == Code::Neg;
    if (!isMultiple) return;
    int64_t &known = divisors_.try_emplace(static_cast<size_t>(nodes[0].second), 1).first->second;
    // both divide it: so does the least common multiple
    const int64_t other = nodes[1].second / std::gcd(known, nodes[1].second);
    if (int64_t both = 0; !__builtin_mul_overflow(known, other, &both)) known = both;
  }

  KernelOp kernel_;
  std::vector<std::string> names_;
  std::map<size_t, int64_t> divisors_; // by slot
};

/// Returns the step of a program's position, id * step along an axis of ceildiv(size, step) programs.
std::optional<int64_t> stepOfPrograms(const Extents &extents, KernelOp kernel, Value v,
                                      const IndexExpr &size) {
  int64_t step = 1;
  if (auto product = v.getDefiningOp<arith::MulIOp>()) {
    auto factor = getConstantIntValue(product.getRhs());
    v = uncast(factor ? product.getLhs() : product.getRhs());
    if (!factor) factor = getConstantIntValue(product.getLhs());
    if (!factor) return std::nullopt;
    step = *factor;
  }
  auto id = v.getDefiningOp<ProgramIdOp>();
  if (!id || step < 1) return std::nullopt;
  const IndexExpr count =
      step == 1 ? size : IndexExpr::binary(IndexExpr::Code::CeilDiv, size, IndexExpr::constant(step));
  const auto axis = extents.withSlots(cast<IndexExprAttr>(kernel.getGrid()[id.getAxis()]).getExpr());
  return axis && axis == extents.withSlots(count) ? std::optional(step) : std::nullopt;
}

/// Returns the step of an index that takes the values 0, step, 2*step, ... below `size`.
std::optional<int64_t> stepAlong(const Extents &extents, KernelOp kernel, Value start,
                                 const IndexExpr &size) {
  const Value v = uncast(start);
  auto variable = dyn_cast<BlockArgument>(v);
  auto loop = variable ? dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop) return stepOfPrograms(extents, kernel, v, size);
  const auto lower = getConstantIntValue(loop.getLowerBound()), step = getConstantIntValue(loop.getStep());
  if (variable != loop.getInductionVar() || lower != 0 || !step || *step < 1) return std::nullopt;
  const auto end = extents.exprOf(loop.getUpperBound());
  return end && extents.withSlots(*end) == extents.withSlots(size) ? step : std::nullopt;
}

bool isInside(const Extents &extents, KernelOp kernel, Value view, unsigned dim, Value start,
              int64_t extent) {
  const std::optional<IndexExpr> size = extents.extentOf(view, dim);
  const auto step = size ? stepAlong(extents, kernel, start, *size) : std::nullopt;
  const auto known = step ? extents.withSlots(*size) : std::nullopt;
  // an index has the extent -1, and is one element
  return known && std::max<int64_t>(extent, 1) <= *step && extents.divisorOf(*known) % *step == 0;
}

} // namespace

bool isKnownInside(Value view, unsigned dim, Value start, int64_t extent) {
  auto arg = dyn_cast<BlockArgument>(view);
  auto kernel = arg ? dyn_cast<KernelOp>(arg.getOwner()->getParentOp()) : KernelOp();
  if (!kernel || !checksOf(kernel)) return false;
  return isInside(Extents(kernel), kernel, view, dim, start, extent);
}

void markKnownInside(KernelOp kernel) {
  const Extents extents(kernel);
  if (!extents.knowsDivisors()) return;
  auto mark = [&](auto op) {
    for (auto [dim, pair] : llvm::enumerate(llvm::zip(op.getStarts(), op.getExtents())))
      if (!isInside(extents, kernel, op.getView(), static_cast<unsigned>(dim), std::get<0>(pair),
                    std::get<1>(pair)))
        return;
    op.setInBounds(true);
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) mark(load);
    if (auto store = dyn_cast<StoreOp>(op)) mark(store);
    if (auto copy = dyn_cast<CpAsyncOp>(op)) mark(copy);
  });
}

} // namespace tessera::tile
