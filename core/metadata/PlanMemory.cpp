#include "core/metadata/PlanMemory.h"
#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace tessera {
namespace {

struct Placed {
  int64_t begin, end;
  Lifetime lifetime;
};

/// Returns the start of the smallest gap of at least `size` bytes between those buffers of `placed` (sorted
/// by begin) whose lifetimes overlap `lifetime`. Without such a gap, returns the end of the last of them.
int64_t bestGap(const std::vector<Placed> &placed, int64_t size, const Lifetime &lifetime) {
  int64_t end = 0, best = -1, bestSize = INT64_MAX;
  for (const Placed &p : placed) {
    if (!p.lifetime.overlaps(lifetime)) continue;
    if (int64_t gap = p.begin - end; gap >= size && gap < bestSize) best = end, bestSize = gap;
    end = std::max(end, p.end);
  }
  return best >= 0 ? best : end;
}

} // namespace

std::vector<Lifetime> lifetimes(const HostPlan &plan) {
  std::unordered_map<std::string_view, size_t> indices;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    indices.emplace(plan.buffers[i].name, i);
  std::vector<Lifetime> out(plan.buffers.size(), {UINT32_MAX, 0});
  for (uint32_t step = 0; step < plan.steps.size(); ++step)
    for (const std::string &arg : plan.steps[step].args)
      if (auto it = indices.find(arg); it != indices.end()) {
        Lifetime &l = out[it->second];
        l.first = std::min(l.first, step);
        l.last = step;
      }
  return out;
}

bool placeBuffers(const std::vector<int64_t> &bytes, const std::vector<Lifetime> &lifetimes,
                  PlacedBuffers &out) {
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b; });

  PlacedBuffers result;
  result.offsets.assign(bytes.size(), 0);
  std::vector<Placed> placed; // sorted by begin
  for (size_t i : order) {
    if (bytes[i] == 0) continue;
    int64_t size, end;
    if (__builtin_add_overflow(bytes[i], kPlanAlignment - 1, &size)) return false;
    size -= size % kPlanAlignment;
    int64_t begin = bestGap(placed, size, lifetimes[i]);
    if (__builtin_add_overflow(begin, size, &end)) return false;
    auto behind = std::upper_bound(placed.begin(), placed.end(), begin,
                                   [](int64_t offset, const Placed &p) { return offset < p.begin; });
    placed.insert(behind, {begin, end, lifetimes[i]});
    result.offsets[i] = begin;
    result.peakBytes = std::max(result.peakBytes, end);
  }
  out = std::move(result);
  return true;
}

} // namespace tessera
