// The values of symbolic dims, each with who gave it, so that a clash can name both.
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

  /// Gives `symbol` a value on behalf of `origin` ("X.npy's dim 0 of X"); E_DIM_CLASH when it has another
  /// one.
  [[nodiscard]] MaybeError set(const std::string &symbol, int64_t value, const std::string &origin);

  /// The extent a dim's text stands for: a number, a symbol, or a product of those ("B*H"), which is a symbol
  /// of its own but follows from its factors when those are known. Nothing when a value is missing or the
  /// product overflows. A result's expression ("N - K") may be negative.
  std::optional<int64_t> extent(const std::string &dim) const;

  /// Checks that products agree with their factors, and fills products that only their factors gave a value
  /// to.
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
