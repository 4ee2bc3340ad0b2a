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
  /// when a value is missing or the product overflows. An expression ("N - K") may be negative.
  std::optional<int64_t> extent(const std::string &dim) const;

  /// Notes that an array has `extent` where `dim`, an expression of symbols ("n + 1"), is declared.
  /// complete() solves it for a symbol that has no value, and checks it.
  void expect(const std::string &dim, int64_t extent, const std::string &origin);
  /// The symbols in an expression, in order of first appearance.
  std::vector<std::string> symbolsIn(const std::string &dim) const;
  /// Returns an expected expression that contains `symbol`, which has no value; "" if there is none.
  std::string undeterminedBy(const std::string &symbol) const;

  /// Solves and checks the expected expressions. Checks that products agree with their factors, and sets
  /// products that have no value of their own from their factors.
  [[nodiscard]] Errors complete();

private:
  struct Equation {
    std::string dim;
    int64_t extent;
    std::string origin;
  };
  std::optional<int64_t> derived(const std::string &dim) const;
  bool solve(const Equation &, Errors &);
  void solveAll(Errors &);
  struct Value {
    int64_t value;
    std::string origin;
  };
  std::vector<std::string> symbols_;
  std::map<std::string, Value> values_;
  std::vector<Equation> equations_;
};

} // namespace tessera::cli
