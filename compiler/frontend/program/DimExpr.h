// Extents of whole tensors: polynomials over symbolic dims in a normal form.
#pragma once
#include "compiler/frontend/program/Program.h"
#include "core/metadata/IndexExpr.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::frontend {

/// A sum of products of symbols and opaque parts ("(M // 2)") with integer coefficients. Equal
/// polynomials have equal text, in the index expression language of the kernel metadata. Arithmetic that
/// overflows, or exceeds what is sensible for a shape, returns nothing.
class DimExpr {
public:
  DimExpr(int64_t constant = 0);
  static DimExpr symbol(const std::string &name);

  bool isConstant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  std::optional<int64_t> constant() const;
  bool isOne() const { return constant() == 1; }
  /// Is it at least 0 for all values of the symbols, as far as the signs of the terms show?
  bool isNeverNegative() const;
  bool operator==(const DimExpr &) const = default;

  std::string text() const; // "64", "4*D", "M + N - 1"
  Dim dim() const;          // {64, ""} or {1, "4*D"}

  friend std::optional<DimExpr> add(const DimExpr &, const DimExpr &);
  friend std::optional<DimExpr> subtract(const DimExpr &, const DimExpr &);
  friend std::optional<DimExpr> multiply(const DimExpr &, const DimExpr &);
  /// Returns a / b if b divides a for all values of the symbols.
  friend std::optional<DimExpr> divideExactly(const DimExpr &a, const DimExpr &b);
  /// `name` is floordiv, mod, min or max. Folds what can be folded.
  friend std::optional<DimExpr> apply(const char *name, const DimExpr &, const DimExpr &);

  /// The extent as factor * symbol + offset, neither of which contains the symbol; nothing if it is not
  /// linear in it.
  struct Linear;
  std::optional<Linear> linearIn(const std::string &symbol) const;

private:
  using Monomial = std::vector<std::string>; // sorted factors
  struct Order {                             // by degree, then by factors; multiplication preserves it
    bool operator()(const Monomial &a, const Monomial &b) const {
      return a.size() != b.size() ? a.size() < b.size() : a > b;
    }
  };
  static std::optional<DimExpr> addScaled(const DimExpr &, const DimExpr &, int64_t factor);

  std::map<Monomial, int64_t, Order> terms_; // no coefficient is 0
};

struct DimExpr::Linear {
  DimExpr factor, offset;
};

using DimValues = std::function<std::optional<DimExpr>(const std::string &dim)>;
/// The extent that an expression of a program's text denotes. A product without blanks, but for its numbers,
/// is one dim: 2*B*H is twice the dim "B*H". Returns nothing if a dim has no value, or where DimExpr's
/// arithmetic gives none.
std::optional<DimExpr> extentOf(const IndexExpr &, const DimValues &);
/// The dims in such an expression, in order of first appearance.
std::vector<std::string> dimsIn(const IndexExpr &);
/// The same for a Dim of a function that has these dims: only they decide whether its B*H is one dim or two.
std::optional<DimExpr> extentOf(const Dim &, const std::vector<std::string> &dims, const DimValues &);
std::vector<std::string> dimsIn(const Dim &, const std::vector<std::string> &dims);
/// Has a tensor of the kernel an extent that is an expression of dims?
bool hasExpressions(const Kernel &);

} // namespace tessera::frontend
