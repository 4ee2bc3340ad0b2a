// Where a plan's temporaries lie in one workspace: buffers that are never needed at the same time share
// bytes.
//
// Static library tessera-metadata. The functions are pure and may be called from any thread.
#pragma once
#include "core/metadata/HostPlan.h"
#include <cstdint>
#include <vector>

namespace tessera {

/// The steps that need a buffer, first to last, both counted.
struct Lifetime {
  uint32_t first = 0, last = 0;
  bool overlaps(const Lifetime &other) const { return first <= other.last && other.first <= last; }
};

/// Of every buffer of the plan, in its order.
std::vector<Lifetime> lifetimes(const HostPlan &plan);

struct PlacedBuffers {
  std::vector<int64_t> offsets; // of every buffer, in bytes, aligned to kPlanAlignment
  int64_t peakBytes = 0;        // of the whole workspace
};

inline constexpr int64_t kPlanAlignment = 64;

/// Places buffers of `bytes[i]` (>= 0) needed during `lifetimes[i]`, so that no two needed at the same time
/// overlap: the largest first, each into the smallest gap that holds it. Empty buffers take no room. False
/// when the workspace would have more than 2^63 bytes.
[[nodiscard]] bool placeBuffers(const std::vector<int64_t> &bytes, const std::vector<Lifetime> &lifetimes,
                                PlacedBuffers &out);

} // namespace tessera
