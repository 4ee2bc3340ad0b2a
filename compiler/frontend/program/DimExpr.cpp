#include "compiler/frontend/program/DimExpr.h"
#include <algorithm>

namespace tessera::frontend {

static constexpr size_t kMaxTerms = 16, kMaxDegree = 8, kMaxText = 512;
static constexpr int kMaxNesting = 30; // index expressions nest 32 parentheses and signs

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
  } else {
    if (a == b) return a;
    if (x && y) return DimExpr(which == "min" ? std::min(*x, *y) : std::max(*x, *y));
  }
  std::string left = a.text(), right = b.text();
  if ((which == "min" || which == "max") && right < left) std::swap(left, right);
  std::string text = which + "(" + left + ", " + right + ")";
  if (text.size() > kMaxText || nestingOf(text) > kMaxNesting) return std::nullopt;
  return DimExpr::symbol(text);
}

} // namespace tessera::frontend
