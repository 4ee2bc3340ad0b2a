#include "compiler/frontend/program/DimExpr.h"
#include <algorithm>
#include <charconv>

namespace tessera::frontend {

static constexpr size_t kMaxTerms = 16, kMaxDegree = 8, kMaxText = 512;
static constexpr int kMaxDimNesting = 30; // index expressions nest 32 parentheses and signs

DimExpr::DimExpr(int64_t constant) {
  if (constant) terms_[{}] = constant;
}

DimExpr DimExpr::symbol(const std::string &name) {
  DimExpr out;
  out.terms_[{name}] = 1;
  return out;
}

std::optional<int64_t> DimExpr::constant() const {
  if (terms_.empty()) return 0;
  return isConstant() ? std::optional(terms_.begin()->second) : std::nullopt;
}

bool DimExpr::isNeverNegative() const {
  return std::ranges::all_of(terms_, [](const auto &term) {
    auto isSymbol = [](const std::string &factor) { return factor.find('(') == std::string::npos; };
    return term.second > 0 && std::ranges::all_of(term.first, isSymbol);
  });
}

/// Highest degree first, except that a positive term is moved to the front if there is one.
std::string DimExpr::text() const {
  if (terms_.empty()) return "0";
  std::string out;
  auto put = [&](const Monomial &monomial, int64_t c) {
    bool negative = c < 0;
    std::string magnitude = std::to_string(c).substr(negative);
    std::string product = magnitude == "1" && !monomial.empty() ? "" : magnitude;
    for (const std::string &factor : monomial)
      product += (product.empty() ? "" : "*") + factor;
    // "(M // 2)" by itself needs no parentheses, unless it follows a sign that would bind first
    if (monomial.size() == 1 && product[0] == '(' && (!out.empty() || !negative))
      product = product.substr(1, product.size() - 2);
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    out += product;
  };
  auto lead = std::find_if(terms_.rbegin(), terms_.rend(), [](const auto &t) { return t.second > 0; });
  if (lead != terms_.rend()) put(lead->first, lead->second);
  for (auto it = terms_.rbegin(); it != terms_.rend(); ++it)
    if (it != lead) put(it->first, it->second);
  return out;
}

Dim DimExpr::dim() const {
  if (auto c = constant()) return {*c, ""};
  return {1, text()};
}

std::optional<DimExpr> DimExpr::addScaled(const DimExpr &a, const DimExpr &b, int64_t factor) {
  DimExpr out = a;
  for (const auto &[monomial, c] : b.terms_) {
    int64_t product, &mine = out.terms_[monomial];
    if (__builtin_mul_overflow(c, factor, &product) || __builtin_add_overflow(mine, product, &mine))
      return std::nullopt;
    if (mine == 0) out.terms_.erase(monomial);
  }
  return out.terms_.size() <= kMaxTerms ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<DimExpr> add(const DimExpr &a, const DimExpr &b) { return DimExpr::addScaled(a, b, 1); }
std::optional<DimExpr> subtract(const DimExpr &a, const DimExpr &b) { return DimExpr::addScaled(a, b, -1); }

std::optional<DimExpr> multiply(const DimExpr &a, const DimExpr &b) {
  DimExpr out;
  for (const auto &[left, x] : a.terms_)
    for (const auto &[right, y] : b.terms_) {
      DimExpr::Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      std::ranges::sort(monomial);
      int64_t product, &mine = out.terms_[monomial];
      if (monomial.size() > kMaxDegree || __builtin_mul_overflow(x, y, &product) ||
          __builtin_add_overflow(mine, product, &mine))
        return std::nullopt;
      if (mine == 0) out.terms_.erase(monomial);
      if (out.terms_.size() > kMaxTerms) return std::nullopt;
    }
  return out;
}

/// Long division by the leading term.
std::optional<DimExpr> divideExactly(const DimExpr &a, const DimExpr &b) {
  if (b.terms_.empty()) return std::nullopt;
  const auto &[divisor, c] = *b.terms_.rbegin();
  DimExpr rest = a, quotient;
  for (size_t turn = 0; !rest.terms_.empty(); ++turn) {
    const auto &[monomial, x] = *rest.terms_.rbegin();
    bool divides = std::ranges::includes(monomial, divisor);
    if (turn > kMaxTerms || !divides || (x == INT64_MIN && c == -1) || x % c != 0) return std::nullopt;
    DimExpr term;
    DimExpr::Monomial factors;
    std::ranges::set_difference(monomial, divisor, std::back_inserter(factors));
    term.terms_[factors] = x / c;
    std::optional<DimExpr> sum = add(quotient, term), product = multiply(term, b);
    if (!sum || !product) return std::nullopt;
    std::optional<DimExpr> left = subtract(rest, *product);
    if (!left) return std::nullopt;
    quotient = std::move(*sum);
    rest = std::move(*left);
  }
  return quotient;
}

static int nestingOf(std::string_view text) {
  int depth = 0, deepest = 0;
  for (char c : text) {
    depth += (c == '(') - (c == ')');
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

std::optional<DimExpr> apply(const char *name, const DimExpr &a, const DimExpr &b) {
  std::string which = name;
  auto x = a.constant(), y = b.constant();
  if (which == "floordiv" || which == "mod") {
    if (y == 0) return std::nullopt;
    if (auto quotient = divideExactly(a, b)) return which == "mod" ? DimExpr(0) : std::move(*quotient);
    if (x && y) { // |y| > 1, because otherwise y would divide x
      int64_t mod = *x % *y;
      if (mod != 0 && (mod < 0) != (*y < 0)) mod += *y;
      return which == "mod" ? DimExpr(mod) : DimExpr((*x - mod) / *y);
    }
    if (y) { // (4*n + 3) // 4 is n + 3 // 4
      DimExpr multiples, rest;
      for (const auto &[monomial, c] : a.terms_) // -1 has divided
        (c % *y == 0 ? multiples : rest).terms_[monomial] = c;
      if (!multiples.terms_.empty()) {
        std::optional<DimExpr> quotient = divideExactly(multiples, b), left = apply(name, rest, b);
        if (which == "mod" || !quotient || !left) return left;
        return add(*quotient, *left);
      }
    }
  } else {
    if (a == b) return a;
    if (x && y) return DimExpr(which == "min" ? std::min(*x, *y) : std::max(*x, *y));
  }
  std::string left = a.text(), right = b.text(), text;
  if (which == "floordiv" || which == "mod") {
    auto operand = [](const DimExpr &d, std::string all, const char *binding) {
      if (auto it = d.terms_.begin(); d.terms_.size() == 1 && it->second == 1 && it->first.size() == 1)
        return it->first[0]; // a symbol or an opaque part
      return all.find_first_of(binding) == std::string::npos ? all : "(" + all + ")";
    };
    text = "(" + operand(a, std::move(left), " -") + (which == "mod" ? " % " : " // ") +
           operand(b, std::move(right), " -*") + ")";
  } else {
    if (right < left) std::swap(left, right);
    text = which + "(" + left + ", " + right + ")";
  }
  const int outer = text[0] == '('; // not printed where it is not needed
  if (text.size() > kMaxText || nestingOf(text) - outer > kMaxDimNesting) return std::nullopt;
  return DimExpr::symbol(text);
}

std::optional<DimExpr::Linear> DimExpr::linearIn(const std::string &symbol) const {
  Linear out;
  for (const auto &[monomial, c] : terms_) {
    Monomial rest = monomial;
    auto it = std::ranges::find(rest, symbol);
    if (it != rest.end()) rest.erase(it);
    // "(M // 2)" is opaque: whether it contains the symbol is a question of its text
    auto mentions = [&](const std::string &factor) {
      return factor == symbol ||
             (factor.find('(') != std::string::npos && factor.find(symbol) != std::string::npos);
    };
    if (std::ranges::any_of(rest, mentions)) return std::nullopt;
    (rest.size() < monomial.size() ? out.factor : out.offset).terms_[rest] = c;
  }
  return out;
}

/// Splits "4*B*H" into 4 and "B*H"; nothing if the numbers overflow.
static std::optional<std::pair<int64_t, std::string>> splitSymbol(std::string_view text) {
  int64_t constant = 1;
  std::string names;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('*', at), text.size());
    const std::string_view factor = text.substr(at, end - at);
    int64_t number = 0;
    if (factor[0] < '0' || factor[0] > '9')
      names.append(names.empty() ? "" : "*").append(factor);
    else if (std::from_chars(factor.data(), factor.data() + factor.size(), number).ec != std::errc() ||
             __builtin_mul_overflow(constant, number, &constant))
      return std::nullopt;
    at = end + 1;
  }
  return std::pair(constant, std::move(names));
}

/// Evaluates an expression; `valueOf` gives the values of its slots.
static std::optional<DimExpr> evaluate(const IndexExpr &expr,
                                       const std::function<std::optional<DimExpr>(size_t)> &valueOf) {
  std::vector<std::optional<DimExpr>> stack;
  expr.forEach([&](IndexExpr::Code code, int64_t value) {
    using Code = IndexExpr::Code;
    if (code == Code::Const) return stack.emplace_back(DimExpr(value)), void();
    if (code == Code::Slot) return stack.push_back(valueOf(static_cast<size_t>(value)));
    const std::optional<DimExpr> b = std::move(stack.back());
    if (code == Code::Neg) {
      stack.back() = b ? subtract(DimExpr(0), *b) : std::nullopt;
      return;
    }
    stack.pop_back();
    std::optional<DimExpr> &a = stack.back();
    auto applied = [&]() -> std::optional<DimExpr> {
      if (!a || !b) return std::nullopt;
      switch (code) {
      case Code::Add:
        return add(*a, *b);
      case Code::Sub:
        return subtract(*a, *b);
      case Code::Mul:
        return multiply(*a, *b);
      case Code::FloorDiv:
        return apply("floordiv", *a, *b);
      case Code::CeilDiv: {
        const std::optional<DimExpr> less = subtract(*b, 1), sum = less ? add(*a, *less) : std::nullopt;
        return sum ? apply("floordiv", *sum, *b) : std::nullopt;
      }
      case Code::Mod:
        return apply("mod", *a, *b);
      case Code::Min:
        return apply("min", *a, *b);
      default:
        return apply("max", *a, *b);
      }
    };
    a = applied();
  });
  return stack.empty() ? std::nullopt : std::move(stack.back());
}

std::optional<DimExpr> extentOf(const IndexExpr &expr, const DimValues &valueOf) {
  return evaluate(expr, [&](size_t slot) -> std::optional<DimExpr> {
    auto symbol = splitSymbol(expr.symbols()[slot]);
    std::optional<DimExpr> dim = symbol ? valueOf(symbol->second) : std::nullopt;
    return dim ? multiply(*dim, symbol->first) : std::nullopt;
  });
}

std::vector<std::string> dimsIn(const IndexExpr &expr) {
  std::vector<std::string> dims;
  for (const std::string &text : expr.symbols())
    if (auto symbol = splitSymbol(text); symbol && std::ranges::find(dims, symbol->second) == dims.end())
      dims.push_back(std::move(symbol->second));
  return dims;
}

std::optional<DimExpr> extentOf(const Dim &dim, const std::vector<std::string> &dims,
                                const DimValues &valueOf) {
  if (dim.symbol.empty()) return DimExpr(dim.constant);
  IndexExpr expr;
  std::string why;
  if (!IndexExpr::parse(dim.symbol, dims, expr, why)) return std::nullopt;
  return evaluate(expr, [&](size_t slot) { return valueOf(dims[slot]); });
}

std::vector<std::string> dimsIn(const Dim &dim, const std::vector<std::string> &dims) {
  std::vector<std::string> found;
  IndexExpr expr;
  std::string why;
  if (!IndexExpr::parse(dim.symbol, dims, expr, why)) return found;
  expr.forEach([&](IndexExpr::Code code, int64_t slot) {
    if (code != IndexExpr::Code::Slot) return;
    const std::string &name = dims[static_cast<size_t>(slot)];
    if (std::ranges::find(found, name) == found.end()) found.push_back(name);
  });
  return found;
}

bool hasExpressions(const Kernel &kernel) {
  for (const Param &p : kernel.params)
    for (const Dim &d : p.dims)
      if (!d.symbol.empty() && std::ranges::find(kernel.dims, d.symbol) == kernel.dims.end()) return true;
  return false;
}

} // namespace tessera::frontend
