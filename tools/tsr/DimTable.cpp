#include "tools/tsr/DimTable.h"
#include "core/metadata/KernelMetadata.h"
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
  if (dim.find('*') == std::string::npos || dim.find_first_of("+-(,") != std::string::npos)
    return parseInt(dim, product) ? std::optional(product) : derived(dim);
  for (const std::string &factor : factorsOf(dim)) {
    auto value = factor.empty() ? std::nullopt : extent(factor);
    if (!value) return derived(dim); // "3*B*H" of a B*H whose factors have no value
    if (__builtin_mul_overflow(product, *value, &product)) return std::nullopt;
  }
  return product;
}

/// Evaluates the dim of a function's result: an expression of the symbols ("M - 1").
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

Errors DimTable::complete() {
  Errors errors;
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
