// The choice between the bodies of a kernel or function: its variants, each with conditions on dims and
// integer scalars ("N == 1000", "K % 4 == 0", "M <= 64"), and the entry itself for every other launch.
//
// Part of the static library tessera-metadata. The objects are values; all functions may be called from any
// thread.
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

/// A comparison of two index expressions.
class Guard {
public:
  /// Parses "M <= 64": two expressions over `names` and one of == != <= >= < >.
  static Expected<Guard> parse(std::string_view text, const std::vector<std::string> &names);
  /// `slots` are the values of the names. A side that overflows or divides by zero does not hold.
  bool holds(const int64_t *slots) const;
  /// The slot and the value of "N == 1000"; nullopt for any other condition.
  std::optional<std::pair<size_t, int64_t>> asValue() const;

private:
  enum class Comparison : uint8_t { Equal, NotEqual, LessEqual, GreaterEqual, Less, Greater };
  IndexExpr left_, right_;
  Comparison comparison_ = Comparison::Equal;
};

/// The conditions of the variants that a metadata document lists.
class VariantGuards {
public:
  /// Slot i of the conditions is parameter i of the document.
  static Expected<VariantGuards> of(const KernelMetadata &);

  bool empty() const { return variants_.empty(); }
  /// Returns the first variant whose conditions all hold; nullopt: none, so that the entry itself runs.
  std::optional<size_t> choose(const int64_t *slots) const;
  /// Returns whether the conditions of a variant include that parameter `slot` has this value.
  bool fixes(size_t variant, size_t slot, int64_t value) const;

private:
  std::vector<std::vector<Guard>> variants_;
};

} // namespace tessera
