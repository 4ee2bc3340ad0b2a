// Conditions of variants: "M <= 64 and K % 4 == 0 and aligned(A, 64)". A condition is a conjunction of
// guards. A guard compares two index expressions (core/metadata/IndexExpr.h), or is aligned(TENSOR, BYTES) or
// unit_stride(TENSOR). The names are the integer parameters of the document that lists the variant, and the
// machine constants (core/metadata/MachineConstants.h). A parameter hides a constant of the same name.
//
// Static library tessera-metadata. The objects are values; all functions may be called from any thread.
#pragma once
#include "core/metadata/IndexExpr.h"
#include "core/support/Expected.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

struct KernelMetadata;

/// What the names in conditions, costs and parameters of variants refer to: slot i is parameter i of the
/// document, and the machine constants follow.
struct VariantScope {
  struct Tensor {
    std::string name;
    size_t slot;             // its value is the address
    std::string innerStride; // an expression; "1" if the tensor is contiguous
  };
  std::vector<std::string> integers; // by slot; "" has no integer value
  std::vector<Tensor> tensors;
  size_t parameters = 0; // slots of parameters

  static VariantScope of(const KernelMetadata &);
  void addMachineConstants();
};

/// One term of a condition. It is free as parsed, like an IndexExpr; `bind` gives it slots.
class Guard {
public:
  /// Parses "M <= 64" (one of == != <= >= < >), "aligned(A, 64)" or "unit_stride(A)".
  static Expected<Guard> parse(std::string_view text);
  /// The same, bound to `names`.
  static Expected<Guard> parse(std::string_view text, const std::vector<std::string> &names);
  /// Parses guards that are joined by "and".
  static Expected<std::vector<Guard>> parseAll(std::string_view text);
  /// The text of a free guard, which `parse` accepts.
  std::string text() const;

  /// Fails with a message if a name is unknown, or if a constant is divided by zero.
  Expected<Guard> bind(const VariantScope &) const;
  /// Returns the free guard with its expressions replaced as by tessera::replace. Tensors keep their names.
  Expected<Guard> replace(const std::vector<IndexExpr> &from, const std::vector<IndexExpr> &to) const;
  /// Evaluates a free guard without symbols; nullopt: it has symbols, or a side has no value.
  std::optional<bool> asConstant() const;

  /// `slots` are the values of the names. A side that overflows or divides by zero does not hold.
  bool holds(const int64_t *slots) const;
  /// The slot and the value of "N == 1000"; nullopt for any other condition.
  std::optional<std::pair<size_t, int64_t>> asValue() const;
  /// Does a bound guard read the slot?
  bool reads(size_t slot) const;
  /// Does the value of a bound guard depend only on the parameters' integers, not on addresses or machines?
  bool isOfDims(const VariantScope &) const;
  /// The slot and the bytes of a bound aligned(A, 64); nullopt for any other guard.
  std::optional<std::pair<size_t, int64_t>> alignment() const;

  bool operator==(const Guard &) const = default;

private:
  enum class Kind : uint8_t { Comparison, Aligned, UnitStride };
  enum class Comparison : uint8_t { Equal, NotEqual, LessEqual, GreaterEqual, Less, Greater };
  static Expected<Guard> parseCall(std::string_view name, std::string_view arguments);
  static bool compare(Comparison, int64_t a, int64_t b);

  Kind kind_ = Kind::Comparison;
  Comparison comparison_ = Comparison::Equal;
  IndexExpr left_, right_; // Aligned: the address (bound) and the bytes; UnitStride: the stride (bound) and 1
  std::string tensor_;     // of Aligned and UnitStride
};

/// The text of a condition: guards joined by "and"; "" for none.
std::string textOf(const std::vector<Guard> &condition);

/// Says that an expression does not bind: what was found, the names that there are, where it was found and,
/// if the names suggest it, what to write. The expression itself may be long and is not repeated.
std::string describeUnbound(const tessera_values::Error &found, const std::vector<std::string> &names,
                            const std::string &where);
/// The names that replace() knows: those of `from`, and the machine constants.
std::vector<std::string> namesOf(const std::vector<IndexExpr> &from);

/// Does the expression use the slot?
bool readsSlot(const IndexExpr &, size_t slot);
/// Returns an error if an operand is divided by the constant 0.
MaybeError checkDivisors(const IndexExpr &);
/// Returns the free expression `expr` with each operand that equals from[i] replaced by to[i]. Machine
/// constants stay. Fails if another symbol is left. Operations on constants are folded.
Expected<IndexExpr> replace(const IndexExpr &expr, std::vector<IndexExpr> from, std::vector<IndexExpr> to);

} // namespace tessera
