// Places a plan's temporary buffers in one workspace. Buffers with disjoint lifetimes share memory.
//
// Static library tessera-metadata. The functions are pure and may be called from any thread.
#pragma once
#include "core/metadata/HostPlan.h"
#include <cstdint>
#include <vector>

namespace tessera {

/// The first and the last step that use a buffer, both inclusive.
struct Lifetime {
  uint32_t first = 0, last = 0;
  bool overlaps(const Lifetime &other) const { return first <= other.last && other.first <= last; }
};

/// Returns the lifetime of every buffer of the plan, in the plan's order.
std::vector<Lifetime> lifetimes(const HostPlan &plan);

struct PlacedBuffers {
  std::vector<int64_t> offsets; // of each buffer, in bytes, aligned to kPlanAlignment
  int64_t peakBytes = 0;        // size of the whole workspace
};

inline constexpr int64_t kPlanAlignment = 64;

/// Places buffers of `bytes[i]` (>= 0) that are used during `lifetimes[i]`, so that buffers with overlapping
/// lifetimes do not overlap in memory. The largest is placed first, each in the smallest gap that fits. Empty
/// buffers use no memory. Returns false if the size of the workspace overflows int64_t.
[[nodiscard]] bool placeBuffers(const std::vector<int64_t> &bytes, const std::vector<Lifetime> &lifetimes,
                                PlacedBuffers &out);

} // namespace tessera
