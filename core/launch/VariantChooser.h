// Chooses, once for each set of dims, which body of a kernel or function a launch runs.
#pragma once
#include "core/launch/LaunchPlan.h"
#include "core/metadata/MachineConstants.h"
#include "core/metadata/Variants.h"
#include <atomic>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>
#include <vector>

namespace tessera {

/// Thread-safe. Immutable except for a cache that a mutex guards.
class VariantChooser {
public:
  /// What a launch runs: a variant with the values of its body's parameters, or the entry itself.
  struct Choice {
    size_t variant = 0; // size(): the entry itself
    int64_t predictedNs = -1;
    LaunchGrid grid;
    std::array<int64_t, kMaxVariantParameters> parameters{};
  };

  /// `general` is the entry's plan, whose parameters in front of its dims number `beforeDims`. bodies[i] is
  /// the plan of variant i; both outlive this object. `what` names the entry in
  /// messages, and `pinned` the pinned variant.
  VariantChooser(VariantTable table, const MachineConstants &machine, const LaunchPlan &general,
                 std::vector<const LaunchPlan *> bodies, size_t beforeDims, std::string what,
                 std::string pinned);

  size_t size() const { return bodies_.size(); }
  size_t beforeDims() const { return beforeDims_; }
  /// Chooses for values that the entry's plan has bound. Returns an error if the chosen body refuses
  /// them. Does not allocate if what the choice depends on is among the last kCached sets.
  [[nodiscard]] MaybeError choose(const uint64_t *values, Choice &out) const;
  /// The same without the cache.
  [[nodiscard]] MaybeError evaluate(const uint64_t *values, Choice &out) const;

  size_t parameterCount(const Choice &c) const {
    return c.variant < size() ? table_.parameterCount(c.variant) : 0;
  }
  /// Writes the launch values of the chosen body, argumentCount() + parameterCount(): those of the entry with
  /// the body's parameters in front of the dims.
  void fill(const Choice &, const uint64_t *values, uint64_t *out) const;

  /// Does the choice, or the grid of a body, depend on parameter `index` of the entry?
  bool reads(size_t index) const;
  std::vector<std::pair<size_t, int64_t>> alignments() const { return alignments_; }

  static constexpr size_t kCached = 16;

private:
  struct Known {
    std::vector<uint64_t> key;
    Choice choice;
  };
  bool matches(const Known &, const uint64_t *values) const;
  void warn(const int64_t *slots) const;
  MaybeError bindBody(const uint64_t *values, Choice &) const;

  VariantTable table_;
  MachineConstants machine_;
  const LaunchPlan &general_;
  std::vector<const LaunchPlan *> bodies_;
  size_t beforeDims_;
  std::string what_, pinned_;
  std::vector<size_t> key_;                            // parameters that a choice depends on
  std::vector<std::pair<size_t, int64_t>> alignments_; // and addresses with bytes

  mutable std::atomic<bool> hasWarned_{false};
  mutable std::mutex mutex_; // guards the cache
  mutable std::vector<Known> cache_;
  mutable size_t nextReplaced_ = 0;
};

} // namespace tessera
