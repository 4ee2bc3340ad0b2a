// The choice between the bodies of a kernel or function. Its document lists variants, each with a condition,
// and optionally a cost and values for the parameters of its body. A variant is chosen once for each set of
// dims, without the compiler (core/launch/VariantChooser.h).
//
// Part of the static library tessera-metadata. The objects are values; all functions may be called from any
// thread.
#pragma once
#include "core/metadata/Guard.h"
#include "core/metadata/OrderClass.h"
#include "core/support/Expected.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct KernelMetadata;

constexpr size_t kMaxVariants = 16, kMaxVariantParameters = 16;

/// The variants that a metadata document lists, bound to the slots of its VariantScope.
class VariantTable {
public:
  struct Choice {
    size_t variant = 0;
    int64_t predictedNs = -1; // its cost; -1: it has none, or the cost has no value here
    bool missesPin = false;   // another variant is pinned, but its condition does not hold
    std::array<int64_t, kMaxVariantParameters> parameters{};
  };

  /// Fails with E_VARIANT if the list has a fault that shows without the variants' own documents.
  static Expected<VariantTable> of(const KernelMetadata &);

  size_t size() const { return variants_.size(); }
  bool empty() const { return variants_.empty(); }
  const VariantScope &scope() const { return scope_; }

  /// Tells the table which parameters the body of variant `number` takes: the integer scalars that `body` has
  /// and `general` has not. Returns an error if a value is missing, names none of them, or is a constant
  /// outside of the limits.
  MaybeError bindBody(size_t number, const KernelMetadata &general, const KernelMetadata &body);
  size_t parameterCount(size_t number) const { return variants_[number].parameters.size(); }

  /// Chooses for these slots. A pinned variant is taken if its condition holds, and the last one otherwise.
  /// Of the variants whose conditions hold, the one with the least cost is chosen if all of them have one,
  /// and else the first. If order classes must not depend on the machine, only those of the first one's class
  /// count. A variant whose parameters are outside of their limits does not apply. nullopt: none applies, so
  /// that the entry itself runs.
  std::optional<Choice> choose(const int64_t *slots) const;

  /// Returns what the cost of a variant is for these slots, in nanoseconds; -1: it has none.
  int64_t predict(size_t variant, const int64_t *slots) const { return costOf(variants_[variant], slots); }

  /// Does the choice depend on the slot?
  bool reads(size_t slot) const;
  /// The addresses, by slot, whose alignment to so many bytes the choice depends on.
  std::vector<std::pair<size_t, int64_t>> alignments() const;
  /// Returns whether the condition of a variant includes that parameter `slot` has this value.
  bool fixes(size_t variant, size_t slot, int64_t value) const;

private:
  struct Parameter {
    IndexExpr value;
    int64_t least = INT64_MIN, most = INT64_MAX;
  };
  struct Variant {
    std::vector<Guard> when;
    std::optional<IndexExpr> cost;
    std::vector<std::pair<std::string, IndexExpr>> given; // of the document
    std::vector<Parameter> parameters;                    // in the order of the body's
    size_t orderClass = 0;                                // equal numbers: equal classes
    bool isPinned = false;
  };
  /// Two bodies whose extents choose between orders choose differently.
  struct Class {
    OrderClass order;
    std::string body; // with `extents` only

    bool operator==(const Class &) const = default;
  };
  MaybeError add(const KernelMetadata &, size_t number, std::vector<Class> &classes);
  MaybeError checkOrders(const std::vector<Class> &classes, bool isFixed) const;
  std::vector<Guard> guardsOfDims(const Variant &) const;
  bool staysInClass(size_t number, const std::vector<Guard> &ofDims) const;
  bool applies(const Variant &, const int64_t *slots, Choice &) const;
  static int64_t costOf(const Variant &, const int64_t *slots);

  VariantScope scope_;
  std::vector<Variant> variants_;
  bool orderFollowsDims_ = false; // nothing but dims may decide between order classes
};

/// Returns whether `param` is one of general's: a body may have integer scalars in addition.
bool isBodyParameter(const KernelMetadata &general, const std::string &param);

} // namespace tessera
