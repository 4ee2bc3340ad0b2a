#include "tools/tsr/DimTable.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/LinearForm.h"
#include "tools/options/Options.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

std::vector<std::string> factorsOf(const std::string &dim) {
  std::vector<std::string> factors(1);
  for (char c : dim)
    if (c == '*')
      factors.emplace_back();
    else if (c != ' ')
      factors.back() += c;
  return factors;
}

} // namespace

bool DimTable::isSymbol(const std::string &dim) const {
  return std::find(symbols_.begin(), symbols_.end(), dim) != symbols_.end();
}

MaybeError DimTable::set(const std::string &symbol, int64_t value, const std::string &origin) {
  auto [it, isNew] = values_.try_emplace(symbol, Value{value, origin});
  if (isNew || it->second.value == value) return std::nullopt;
  return Error{"E_DIM_CLASH",
               fmt::format("dim {} is {} by {} but {} by {}", symbol, it->second.value, it->second.origin,
                           value, origin),
               "one symbol has one value per call"};
}

std::optional<int64_t> DimTable::extent(const std::string &dim) const {
  if (auto it = values_.find(dim); it != values_.end()) return it->second.value;
  int64_t product = 1;
  if (dim.find('*') == std::string::npos || dim.find_first_of("+-(,/%") != std::string::npos)
    return parseInt(dim, product) ? std::optional(product) : derived(dim);
  for (const std::string &factor : factorsOf(dim)) {
    auto value = factor.empty() ? std::nullopt : extent(factor);
    if (!value) return derived(dim); // "3*B*H" of a B*H whose factors have no value
    if (__builtin_mul_overflow(product, *value, &product)) return std::nullopt;
  }
  return product;
}

/// Evaluates an expression of the symbols ("M - 1").
std::optional<int64_t> DimTable::derived(const std::string &dim) const {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (const auto &[name, value] : values_) {
    names.push_back(name);
    values.push_back(value.value);
  }
  IndexExpr expr;
  std::string why;
  int64_t result = 0;
  bool known = IndexExpr::parse(dim, names, expr, why) && expr.evaluate(values.data(), result);
  return known ? std::optional(result) : std::nullopt;
}

void DimTable::expect(const std::string &dim, int64_t extent, const std::string &origin) {
  equations_.push_back({dim, extent, origin});
}

std::vector<std::string> DimTable::symbolsIn(const std::string &dim) const {
  std::vector<std::string> symbols;
  IndexExpr expr;
  std::string why;
  if (!IndexExpr::parse(dim, symbols_, expr, why)) return symbols;
  expr.forEach([&](IndexExpr::Code code, int64_t slot) {
    if (code != IndexExpr::Code::Slot) return;
    const std::string &symbol = symbols_[static_cast<size_t>(slot)];
    if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  });
  return symbols;
}

std::string DimTable::undeterminedBy(const std::string &symbol) const {
  for (const Equation &e : equations_)
    if (std::vector<std::string> names = symbolsIn(e.dim); std::ranges::find(names, symbol) != names.end())
      return e.dim;
  return {};
}

/// Solves an equation in which one symbol has no value, if it is linear in it. Returns whether it did.
bool DimTable::solve(const Equation &e, Errors &errors) {
  std::vector<std::string> symbols = symbolsIn(e.dim), open;
  std::vector<int64_t> values;
  for (const std::string &symbol : symbols) {
    auto it = values_.find(symbol);
    values.push_back(it == values_.end() ? 0 : it->second.value);
    if (it == values_.end()) open.push_back(symbol);
  }
  IndexExpr expr;
  std::string why;
  if (open.size() != 1 || !IndexExpr::parse(e.dim, symbols, expr, why)) return false;
  const size_t slot = static_cast<size_t>(std::ranges::find(symbols, open[0]) - symbols.begin());
  const std::optional<LinearForm> form = linearForm(expr, slot, values.data());
  int64_t rest = 0;
  if (!form || form->factor == 0 || __builtin_sub_overflow(e.extent, form->offset, &rest)) return false;
  // INT64_MIN / -1 overflows: no extent is that large
  const bool isWhole = (rest != INT64_MIN || form->factor != -1) && rest % form->factor == 0;
  if (!isWhole || rest / form->factor < 0) {
    errors.push_back({"E_ARG_SHAPE",
                      fmt::format("{} is {}, but the array has {} there", e.origin, e.dim, e.extent),
                      fmt::format("no {} of at least 0 gives that extent", open[0])});
    return false;
  }
  if (auto clash = set(open[0], rest / form->factor, fmt::format("{} ({})", e.origin, e.dim)))
    errors.push_back(*clash);
  return true;
}

void DimTable::solveAll(Errors &errors) {
  // One equation may give the symbol that another one needs.
  for (bool solved = true; solved && errors.empty();) {
    solved = false;
    for (const Equation &e : equations_)
      solved |= errors.empty() && solve(e, errors);
  }
  for (const Equation &e : equations_) {
    const std::optional<int64_t> value = extent(e.dim);
    if (!errors.empty() || !value || *value == e.extent) continue;
    std::string about;
    for (const std::string &symbol : symbolsIn(e.dim))
      if (auto known = values_.find(symbol);
          known != values_.end()) // a product's factors may have the values
        about += fmt::format("{}{} is {} by {}", about.empty() ? "" : ", ", symbol, known->second.value,
                             known->second.origin);
    errors.push_back(
        {"E_ARG_SHAPE",
         fmt::format("{} is {} = {}, but the array has {} there", e.origin, e.dim, *value, e.extent), about});
  }
}

Errors DimTable::complete() {
  Errors errors;
  solveAll(errors);
  for (const std::string &symbol : symbols_) {
    if (symbol.find('*') == std::string::npos) continue;
    int64_t product = 1;
    bool known = true;
    for (const std::string &factor : factorsOf(symbol)) {
      auto value = extent(factor);
      known = known && value && !__builtin_mul_overflow(product, *value, &product);
    }
    if (!known) continue;
    if (auto e = set(symbol, product, "the product of its factors")) errors.push_back(*e);
  }
  return errors;
}

} // namespace tessera::cli
