#include "core/launch/VariantChooser.h"
#include "core/log/Log.h"
#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

/// Whether an address is a multiple of a power of two.
uint64_t isAligned(uint64_t address, int64_t bytes) {
  return (address & static_cast<uint64_t>(bytes - 1)) == 0;
}

} // namespace

VariantChooser::VariantChooser(VariantTable table, const MachineConstants &machine, const LaunchPlan &general,
                               std::vector<const LaunchPlan *> bodies, size_t beforeDims, std::string what,
                               std::string pinned)
    : table_(std::move(table)), machine_(machine), general_(general), bodies_(std::move(bodies)),
      beforeDims_(beforeDims), what_(std::move(what)), pinned_(std::move(pinned)),
      alignments_(table_.alignments()) {
  for (size_t i = 0; i < general_.argumentCount(); ++i)
    if (!general_.isTensor(i) && (i >= beforeDims_ || reads(i))) key_.push_back(i);
  cache_.reserve(kCached);
}

bool VariantChooser::reads(size_t index) const {
  if (general_.isTensor(index)) return false;
  if (table_.reads(index)) return true;
  for (size_t v = 0; v < bodies_.size(); ++v)
    if (bodies_[v]->gridReads(index < beforeDims_ ? index : index + table_.parameterCount(v))) return true;
  return false;
}

MaybeError VariantChooser::evaluate(const uint64_t *values, Choice &out) const {
  const size_t count = general_.argumentCount(), total = count + machine_.size();
  int64_t small[LaunchPlan::kSmall + kMachineConstants.size()];
  std::vector<int64_t> large(count > LaunchPlan::kSmall ? total : 0);
  int64_t *slots = large.empty() ? small : large.data();
  general_.slots(values, slots);
  std::ranges::copy(machine_, slots + count);
  out = {};
  out.variant = size();
  if (const auto chosen = table_.choose(slots)) {
    out.variant = chosen->variant;
    out.predictedNs = chosen->predictedNs;
    out.parameters = chosen->parameters;
    if (chosen->missesPin && !hasWarned_.exchange(true)) warn(slots);
  }
  return bindBody(values, out);
}

/// Reports the first launch that a pinned variant does not fit.
void VariantChooser::warn(const int64_t *slots) const {
  std::string sizes;
  for (size_t i = beforeDims_; i < general_.argumentCount(); ++i)
    sizes += (sizes.empty() ? "" : " ") + general_.name(i) + "=" + std::to_string(slots[i]);
  log(TSR_LOG_WARNING, "W_VARIANT",
      what_ + ": variant " + pinned_ + " was chosen for it, but its condition does not hold (" + sizes +
          "); the general code runs");
}

/// Checks the values against the body's plan, which also derives its grid.
MaybeError VariantChooser::bindBody(const uint64_t *values, Choice &choice) const {
  const size_t count = general_.argumentCount() + parameterCount(choice);
  std::vector<uint64_t> filled(count), bound(count);
  std::vector<void *> args(count);
  fill(choice, values, filled.data());
  for (size_t i = 0; i < count; ++i)
    args[i] = &filled[i];
  const LaunchPlan &body = choice.variant < size() ? *bodies_[choice.variant] : general_;
  std::string reason;
  if (body.bind(tsr_launch_t{}, args.data(), count, bound.data(), choice.grid, reason)) return std::nullopt;
  return Error{"E_VARIANT", reason, ""};
}

void VariantChooser::fill(const Choice &choice, const uint64_t *values, uint64_t *out) const {
  const size_t count = general_.argumentCount(), parameters = parameterCount(choice);
  out = std::copy_n(values, beforeDims_, out);
  for (size_t i = 0; i < parameters; ++i)
    *out++ = static_cast<uint64_t>(choice.parameters[i]);
  std::copy_n(values + beforeDims_, count - beforeDims_, out);
}

bool VariantChooser::matches(const Known &known, const uint64_t *values) const {
  for (size_t i = 0; i < key_.size(); ++i)
    if (known.key[i] != values[key_[i]]) return false;
  for (size_t i = 0; i < alignments_.size(); ++i)
    if (known.key[key_.size() + i] != isAligned(values[alignments_[i].first], alignments_[i].second))
      return false;
  return true;
}

MaybeError VariantChooser::choose(const uint64_t *values, Choice &out) const {
  {
    std::lock_guard lock(mutex_);
    for (const Known &known : cache_)
      if (matches(known, values)) return out = known.choice, std::nullopt;
  }
  if (MaybeError error = evaluate(values, out)) return error;
  Known known{{}, out};
  for (size_t index : key_)
    known.key.push_back(values[index]);
  for (const auto &[slot, bytes] : alignments_)
    known.key.push_back(isAligned(values[slot], bytes));
  std::lock_guard lock(mutex_);
  if (cache_.size() < kCached)
    cache_.push_back(std::move(known));
  else
    cache_[nextReplaced_++ % kCached] = std::move(known);
  return std::nullopt;
}

} // namespace tessera
