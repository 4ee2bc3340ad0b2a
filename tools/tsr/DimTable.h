// The values of symbolic dims, each with the origin of its value, so that a clash can name both origins.
#pragma once
#include "tools/tsr/Report.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

class DimTable {
public:
  explicit DimTable(std::vector<std::string> symbols) : symbols_(std::move(symbols)) {}

  const std::vector<std::string> &symbols() const { return symbols_; }
  bool isSymbol(const std::string &dim) const;

  /// Gives `symbol` a value on behalf of `origin` ("X.npy's dim 0 of X"). E_DIM_CLASH: it already has another
  /// value.
  [[nodiscard]] MaybeError set(const std::string &symbol, int64_t value, const std::string &origin);

  /// Returns the extent that a dim's text denotes: a number, a symbol, or a product of those ("B*H"). A
  /// product is a symbol of its own, but is computed from its factors when they are known. Returns nullopt
  /// when a value is missing or the product overflows. A result's expression ("N - K") may be negative.
  std::optional<int64_t> extent(const std::string &dim) const;

  /// Checks that products agree with their factors, and sets products that have no value of their own from
  /// their factors.
  [[nodiscard]] Errors complete();

private:
  std::optional<int64_t> derived(const std::string &dim) const;
  struct Value {
    int64_t value;
    std::string origin;
  };
  std::vector<std::string> symbols_;
  std::map<std::string, Value> values_;
};

} // namespace tessera::cli
