// Integer expressions over named values: extents, launch geometry, starts of slices. The compiler builds
// them, the IR holds them (#tile.index), the kernel metadata stores their text, and the runtime evaluates
// them. docs/decisions/0020.
//
//   sum     = product (("+" | "-") product)*
//   product = unary (("*" | "//" | "%") unary)*
//   unary   = "-" unary | "(" sum ")" | symbol | number | function "(" sum "," sum ")"
//   symbol  = names and numbers joined by "*" without blanks, at least one of them a name ("M", "B*H", "4*D")
//
// The functions are ceildiv, min and max, and floordiv(a, b) and mod(a, b), which a // b and a % b print as.
// Division rounds down, and a remainder has the sign of the divisor; a symbol after "//" or "%" is one name.
// A word followed by a parenthesis is a function, even if a dim has the same name.
//
// Static library tessera-metadata. The objects are values; all functions may be called from any thread.
#pragma once
#include "core/support/Expected.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// An expression. It is free as parsed or built: slot i is symbol i of its own. `bind` gives the slots the
/// numbers that the caller evaluates it with.
class IndexExpr {
public:
  /// The operation of one node of the postfix form.
  enum class Code : uint8_t { Const, Slot, Neg, Add, Sub, Mul, FloorDiv, Mod, CeilDiv, Min, Max };

  /// The empty expression. It has no value and no text.
  IndexExpr() = default;
  static IndexExpr constant(int64_t value);
  /// `name` is the text of a symbol ("M", "B*H").
  static IndexExpr symbol(std::string_view name);
  static IndexExpr negate(IndexExpr operand);
  /// `code` is one of Add and those after it.
  static IndexExpr binary(Code code, IndexExpr lhs, const IndexExpr &rhs);

  /// The product of extents, of which no constant is negative. Constants and symbols become one symbol
  /// ("4*B*H"). nullopt if the constants overflow.
  static std::optional<IndexExpr> product(const std::vector<IndexExpr> &factors);

  /// Parses `text` to a free expression.
  static Expected<IndexExpr> parse(std::string_view text);
  /// Parses `text` and binds it to `names`. On failure returns false and fills `why`.
  [[nodiscard]] static bool parse(std::string_view text, const std::vector<std::string> &names,
                                  IndexExpr &out, std::string &why);
  /// The text of a free expression, which `parse` accepts unless `checkText` returns an error.
  std::string text() const;
  /// Returns an error if the text exceeds the limits of `parse`.
  MaybeError checkText() const;

  /// Replaces the symbols of a free expression: `names[i]` becomes slot i. A product symbol that is no name
  /// is the product of its longest parts that are names. Fails if a symbol has no name.
  Expected<IndexExpr> bind(const std::vector<std::string> &names) const;
  /// The same with free expressions for names: every operand that is equal to `values[i]` becomes slot i.
  Expected<IndexExpr> bind(const std::vector<IndexExpr> &values) const;

  /// Evaluates the expression. Returns false on division by zero or overflow.
  [[nodiscard]] bool evaluate(const int64_t *slots, int64_t &out) const;
  /// Visits the nodes in postfix order. The number is the value of a Const or the index of a Slot.
  void forEach(const std::function<void(Code, int64_t)> &visit) const;

  /// The value of an expression that is a constant.
  std::optional<int64_t> asConstant() const;
  /// The symbol of a free expression that is one; else "".
  std::string_view asSymbol() const;
  /// The divisor of ceildiv(..., constant); nullopt for any other expression.
  std::optional<int64_t> ceilDivisor() const;
  const std::vector<std::string> &symbols() const { return symbols_; } // of a free expression

  bool operator==(const IndexExpr &) const = default;

private:
  struct Node {
    Code code;
    uint16_t column; // of a Slot in the parsed text, counted from 1; 0 if the expression was built
    int64_t value;   // Const: the constant; Slot: its index
    /// Equal expressions may come from different texts.
    bool operator==(const Node &other) const { return code == other.code && value == other.value; }
  };
  static constexpr int kMaxStack = 64; // operands of an evaluation

  class Parser;
  class Binder;
  /// The text of an operand, how tightly its last operation binds, and how deeply parentheses and signs nest
  /// in it.
  struct Rendered {
    std::string text;
    int precedence;
    int nesting;
  };

  int64_t intern(std::string_view name);
  Rendered render() const;

  std::vector<Node> nodes_;          // postfix
  std::vector<std::string> symbols_; // in order of first appearance; none if bound
};

} // namespace tessera
