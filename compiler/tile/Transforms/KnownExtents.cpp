#include "compiler/tile/Transforms/KnownExtents.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <map>
#include <numeric>
#include <set>

using namespace mlir;

namespace tessera::tile {
namespace {

/// A sum of integers of a kernel, and of other expressions of them, each times a factor.
struct LinearSum {
  std::map<std::string, int64_t> terms; // by the text of the integer or expression
  int64_t constant = 0;
  int64_t divisor = 0; // divides the sum for all launches; 0 of 0, which every number divides
};

/// Returns x + factor * y; nullopt if a number overflows.
std::optional<LinearSum> combine(LinearSum x, const LinearSum &y, int64_t factor) {
  auto add = [&](int64_t &to, int64_t term) {
    return !__builtin_mul_overflow(term, factor, &term) && !__builtin_add_overflow(to, term, &to);
  };
  if (!add(x.constant, y.constant)) return std::nullopt;
  for (const auto &[text, term] : y.terms) {
    auto it = x.terms.try_emplace(text, 0).first;
    if (!add(it->second, term)) return std::nullopt;
    if (it->second == 0) x.terms.erase(it);
  }
  int64_t other = 0;
  const bool isKnown = !__builtin_mul_overflow(y.divisor, factor, &other) && other != INT64_MIN;
  x.divisor = isKnown ? std::gcd(x.divisor, std::abs(other)) : 1;
  return x;
}

LinearSum number(int64_t value) { return {{}, value, value == INT64_MIN ? 1 : std::abs(value)}; }

std::string textOf(const LinearSum &sum) {
  std::string text = std::to_string(sum.constant);
  for (const auto &[term, factor] : sum.terms)
    text += " + " + std::to_string(factor) + " * " + term;
  return "(" + text + ")";
}

/// What is known of the integers of a kernel.
class Extents {
public:
  explicit Extents(KernelOp kernel)
      : kernel_(kernel), names_(indexNames(kernel.getArgumentTypes(), kernel.getParams())) {
    for (auto [i, param] : llvm::enumerate(kernel.getParams().getAsRange<ParamAttr>()))
      if (param.isDim()) dims_.insert(slotText(i));
    if (ArrayAttr checks = checksOf(kernel))
      for (auto check : checks.getAsRange<DictionaryAttr>())
        learn(check.getAs<StringAttr>("value").getValue());
  }

  bool knowsAnything() const { return !divisors_.empty() || !facts_.empty(); }

  std::optional<LinearSum> extentOf(Value view, unsigned dim) const {
    auto arg = dyn_cast<BlockArgument>(view);
    if (!arg || arg.getOwner()->getParentOp() != kernel_) return std::nullopt;
    return sumOf(KernelOp(kernel_).getParam(arg).getDim(dim)); // the handle's methods are not const
  }

  /// The sum that an index value is, as far as extents are concerned.
  std::optional<LinearSum> sumOf(Value v) const {
    v = uncast(v);
    if (auto constant = getConstantIntValue(v)) return number(*constant);
    if (auto dim = v.getDefiningOp<DimOp>()) return extentOf(dim.getView(), dim.getDim());
    if (auto arg = dyn_cast<BlockArgument>(v); arg && arg.getOwner()->getParentOp() == kernel_)
      return sumOf(StringRef(names_[arg.getArgNumber()]));
    Operation *op = v.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) return std::nullopt;
    auto a = sumOf(op->getOperand(0)), b = sumOf(op->getOperand(1));
    if (!a || !b) return std::nullopt;
    if (isa<arith::MulIOp>(op)) return product(*a, *b);
    return combine(*a, *b, isa<arith::AddIOp>(op) ? 1 : -1);
  }

  /// The size of a dim along which each program of an axis is `step` elements after the one before.
  std::optional<LinearSum> sizeOfPrograms(unsigned axis, int64_t step) const {
    const IndexExpr &count = cast<IndexExprAttr>(KernelOp(kernel_).getGrid()[axis]).getExpr();
    if (step != 1 && count.ceilDivisor() != step) return std::nullopt;
    return sumOf(count, /*dividend=*/step != 1);
  }

  /// Is the sum known not to be negative: a sum of dims, or that and what a condition says?
  bool isNonNegative(const LinearSum &sum) const {
    auto isSumOfDims = [&](const LinearSum &rest) {
      return rest.constant >= 0 && llvm::all_of(rest.terms, [&](const auto &term) {
               return term.second > 0 && dims_.contains(term.first);
             });
    };
    return isSumOfDims(sum) || llvm::any_of(facts_, [&](const LinearSum &fact) {
             auto rest = combine(sum, fact, -1);
             return rest && isSumOfDims(*rest);
           });
  }

  /// The dim that is the quotient of the two; nullopt if it is none.
  std::optional<LinearSum> quotient(const LinearSum &dividend, const LinearSum &divisor) const {
    auto isEqual = [&](const std::optional<LinearSum> &sum) {
      return sum && sum->terms == dividend.terms && sum->constant == dividend.constant;
    };
    for (const std::string &dim : dims_) {
      LinearSum size{{{dim, 1}}, 0, 1};
      if (isEqual(product(size, divisor)) || isEqual(product(divisor, size))) return size;
    }
    return std::nullopt;
  }

private:
  static std::string slotText(size_t slot) { return "$" + std::to_string(slot); }

  static std::optional<LinearSum> product(const LinearSum &a, const LinearSum &b) {
    if (a.terms.empty()) return combine({}, b, a.constant);
    if (b.terms.empty()) return combine({}, a, b.constant);
    int64_t divisor = 0;
    if (__builtin_mul_overflow(a.divisor, b.divisor, &divisor)) divisor = 1;
    return LinearSum{{{textOf(a) + " * " + textOf(b), 1}}, 0, divisor};
  }

  std::optional<LinearSum> sumOf(StringRef text) const {
    Expected<IndexExpr> expr = IndexExpr::parse(std::string_view(text.data(), text.size()));
    return expr ? sumOf(*expr) : std::nullopt;
  }

  /// `dividend`: of the operand of the ceildiv that the expression is.
  std::optional<LinearSum> sumOf(const IndexExpr &free, bool dividend = false) const {
    Expected<IndexExpr> expr = free.bind(names_);
    if (!expr) return std::nullopt;
    using Code = IndexExpr::Code;
    SmallVector<LinearSum> stack;
    LinearSum last; // the dividend of the last division
    bool isKnown = true;
    expr->forEach([&](Code code, int64_t value) {
      if (code == Code::Const) return stack.push_back(number(value));
      if (code == Code::Slot) {
        auto known = divisors_.find(static_cast<size_t>(value));
        return stack.push_back(
            {{{slotText(static_cast<size_t>(value)), 1}}, 0, known == divisors_.end() ? 1 : known->second});
      }
      LinearSum b = stack.pop_back_val(), a = code == Code::Neg ? LinearSum() : stack.pop_back_val();
      std::optional<LinearSum> result;
      if (code == Code::Neg || code == Code::Add || code == Code::Sub) {
        result = combine(a, b, code == Code::Add ? 1 : -1);
      } else if (code == Code::Mul) {
        result = product(a, b);
      } else {
        const bool isOneOf = code == Code::Min || code == Code::Max;
        std::string text = std::to_string(static_cast<int>(code)) + textOf(a) + textOf(b);
        result = LinearSum{{{std::move(text), 1}}, 0, isOneOf ? std::gcd(a.divisor, b.divisor) : 1};
        last = std::move(a);
      }
      isKnown &= result.has_value();
      stack.push_back(result.value_or(LinearSum()));
    });
    if (!isKnown) return std::nullopt;
    return dividend ? last : stack.back();
  }

  /// Reads "-(K % 4)", which is negative unless 4 divides K, and sums.
  void learn(StringRef text) {
    Expected<IndexExpr> free = IndexExpr::parse(std::string_view(text.data(), text.size()));
    Expected<IndexExpr> check = free ? free->bind(names_) : std::move(free);
    if (!check) return;
    SmallVector<std::pair<IndexExpr::Code, int64_t>> nodes;
    check->forEach([&](IndexExpr::Code code, int64_t value) { nodes.emplace_back(code, value); });
    using Code = IndexExpr::Code;
    const bool isMultiple = nodes.size() == 4 && nodes[0].first == Code::Slot &&
                            nodes[1].first == Code::Const && nodes[1].second > 0 &&
                            nodes[2].first == Code::Mod && nodes[3].first == Code::Neg;
    if (!isMultiple) {
      if (auto fact = sumOf(text)) facts_.push_back(std::move(*fact));
      return;
    }
    int64_t &known = divisors_.try_emplace(static_cast<size_t>(nodes[0].second), 1).first->second;
    // both divide it: so does the least common multiple
    const int64_t other = nodes[1].second / std::gcd(known, nodes[1].second);
    if (int64_t both = 0; !__builtin_mul_overflow(known, other, &both)) known = both;
  }

  KernelOp kernel_;
  std::vector<std::string> names_;
  std::set<std::string> dims_;         // by their texts
  std::map<size_t, int64_t> divisors_; // by slot
  std::vector<LinearSum> facts_;       // not negative
};

/// An index that takes the values 0, step, 2*step, ... below `end`.
struct Walk {
  int64_t step;
  LinearSum end;
};

std::optional<Walk> walkOf(const Extents &extents, Value v) {
  if (auto variable = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp());
    if (!loop || variable != loop.getInductionVar()) return std::nullopt;
    const auto lower = getConstantIntValue(loop.getLowerBound()), step = getConstantIntValue(loop.getStep());
    const auto end = extents.sumOf(loop.getUpperBound());
    return lower == 0 && step && *step > 0 && end ? std::optional(Walk{*step, *end}) : std::nullopt;
  }
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
  const auto end = extents.sizeOfPrograms(id.getAxis(), step);
  return end ? std::optional(Walk{step, *end}) : std::nullopt;
}

/// Is base + walk + extent at most the size, for a start that is the sum of a base and perhaps of a walk?
bool isInside(const Extents &extents, Value view, unsigned dim, Value start, int64_t extent) {
  extent = std::max<int64_t>(extent, 1); // an index has the extent -1, and is one element
  std::optional<Walk> walk;
  std::optional<LinearSum> base = LinearSum(), size = extents.extentOf(view, dim);
  for (SmallVector<Value> work = {start}; !work.empty();) {
    const Value v = uncast(work.pop_back_val());
    if (auto found = walkOf(extents, v)) {
      if (walk) return false;
      walk = std::move(found);
    } else if (auto sum = extents.sumOf(v)) {
      base = base ? combine(*base, *sum, 1) : base;
    } else if (auto add = v.getDefiningOp<arith::AddIOp>()) {
      work.append({add.getLhs(), add.getRhs()});
    } else {
      return false;
    }
  }
  if (walk && (extent > walk->step || walk->end.divisor % walk->step != 0)) return false;
  auto rest = base && size ? combine(*size, *base, -1) : std::nullopt;
  if (rest) rest = combine(*rest, walk ? walk->end : number(extent), -1);
  return rest && extents.isNonNegative(*base) && extents.isNonNegative(*rest);
}

/// Sums that bound an index wherever it is computed: each of `least` is at most the index, each of `most` at
/// least.
struct Ends {
  SmallVector<LinearSum, 2> least, most;
};

/// More operations between an index and what it is computed from are not looked through.
constexpr unsigned kLongestChain = 8;
/// More sums that bound one index are not kept: of several minima each term has two.
constexpr size_t kMostSums = 8;

Ends endsOf(const Extents &extents, Value v, unsigned depth = 0) {
  v = uncast(v);
  if (auto sum = extents.sumOf(v)) return {{*sum}, {*sum}};
  Ends ends;
  if (depth == kLongestChain) return ends;
  Operation *op = v.getDefiningOp();
  auto of = [&](Value operand) { return endsOf(extents, operand, depth + 1); };
  auto addTo = [](SmallVectorImpl<LinearSum> &to, const LinearSum &x, const LinearSum &y, int64_t factor) {
    if (auto sum = combine(x, y, factor); sum && to.size() < kMostSums) to.push_back(std::move(*sum));
  };
  auto addAll = [&](SmallVectorImpl<LinearSum> &to, ArrayRef<LinearSum> xs, ArrayRef<LinearSum> ys,
                    int64_t factor) {
    for (const LinearSum &x : xs)
      for (const LinearSum &y : ys)
        addTo(to, x, y, factor);
  };
  if (auto variable = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp());
    if (!loop || variable != loop.getInductionVar() || getConstantIntValue(loop.getStep()).value_or(0) <= 0)
      return ends;
    ends.least = of(loop.getLowerBound()).least;
    addAll(ends.most, of(loop.getUpperBound()).most, number(1), -1);
  } else if (auto id = v.getDefiningOp<ProgramIdOp>()) {
    ends.least = {number(0)};
    if (auto count = extents.sizeOfPrograms(id.getAxis(), 1)) addTo(ends.most, *count, number(1), -1);
  } else if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    const bool adds = isa<arith::AddIOp>(op);
    const Ends x = of(op->getOperand(0)), y = of(op->getOperand(1));
    addAll(ends.least, x.least, adds ? y.least : y.most, adds ? 1 : -1);
    addAll(ends.most, x.most, adds ? y.most : y.least, adds ? 1 : -1);
  } else if (auto product = v.getDefiningOp<arith::MulIOp>()) {
    const auto factor = getConstantIntValue(product.getRhs());
    if (!factor || *factor <= 0) return ends;
    const Ends x = of(product.getLhs());
    addAll(ends.least, number(0), x.least, *factor);
    addAll(ends.most, number(0), x.most, *factor);
  } else if (isa_and_nonnull<arith::DivUIOp, arith::RemUIOp>(op)) { // a divisor of 0 is undefined
    const Ends x = of(op->getOperand(0)), y = of(op->getOperand(1));
    auto isNonNegative = [&](const LinearSum &sum) { return extents.isNonNegative(sum); };
    if (llvm::none_of(x.least, isNonNegative)) return ends;
    ends.least = {number(0)};
    if (isa<arith::RemUIOp>(op)) {
      if (llvm::any_of(y.least, isNonNegative)) addAll(ends.most, y.most, number(1), -1);
    } else if (auto divisor = extents.sumOf(op->getOperand(1))) {
      for (const LinearSum &most : x.most) // below q * d: the quotient is below q
        if (auto end = combine(most, number(1), 1))
          if (auto size = extents.quotient(*end, *divisor)) addTo(ends.most, *size, number(1), -1);
    }
  } else if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op)) {
    for (Value operand : op->getOperands()) {
      Ends x = of(operand);
      if (isa<arith::MinSIOp>(op))
        ends.most.append(x.most);
      else
        ends.least.append(x.least);
    }
  }
  return ends;
}

/// Is the element known to be inside wherever it is accessed?
bool isInside(const Extents &extents, Value view, ValueRange indices) {
  for (auto [dim, index] : llvm::enumerate(indices)) {
    const auto size = extents.extentOf(view, static_cast<unsigned>(dim));
    if (!size) return false;
    const Ends ends = endsOf(extents, index);
    auto isBelow = [&](const LinearSum &most) {
      auto rest = combine(*size, most, -1);
      if (rest) rest = combine(*rest, number(1), -1);
      return rest && extents.isNonNegative(*rest);
    };
    if (llvm::none_of(ends.least, [&](const LinearSum &least) { return extents.isNonNegative(least); }) ||
        llvm::none_of(ends.most, isBelow))
      return false;
  }
  return true;
}

} // namespace

bool isKnownInside(Value view, unsigned dim, Value start, int64_t extent) {
  auto arg = dyn_cast<BlockArgument>(view);
  auto kernel = arg ? dyn_cast<KernelOp>(arg.getOwner()->getParentOp()) : KernelOp();
  if (!kernel || !checksOf(kernel)) return false;
  return isInside(Extents(kernel), view, dim, start, extent);
}

void markKnownInside(KernelOp kernel) {
  const Extents extents(kernel);
  if (!extents.knowsAnything()) return;
  auto mark = [&](auto op) {
    for (auto [dim, pair] : llvm::enumerate(llvm::zip(op.getStarts(), op.getExtents())))
      if (!isInside(extents, op.getView(), static_cast<unsigned>(dim), std::get<0>(pair), std::get<1>(pair)))
        return;
    op.setInBounds(true);
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) mark(load);
    if (auto store = dyn_cast<StoreOp>(op)) mark(store);
    if (auto copy = dyn_cast<CpAsyncOp>(op)) mark(copy);
  });
}

void markElementsInside(KernelOp kernel) {
  const Extents extents(kernel);
  auto mark = [&](auto op) {
    if (isInside(extents, op.getView(), op.getIndices())) op.setInBounds(true);
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadElemOp>(op)) mark(load);
    if (auto store = dyn_cast<StoreElemOp>(op)) mark(store);
  });
}

} // namespace tessera::tile
