// The parameters of GpuBackend's kernels that are tensor maps (tsr_be_tensor_map_t).
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <tessera/gpu_context.hpp>
#include <tessera/tensor_map.hpp>
#include <utility>
#include <vector>

namespace tessera::gpu {

inline constexpr size_t kTensorMapBytes = 128, kTensorMapAlign = 64;

/// Whether the driver has tensor maps. It writes 128 bytes to `out`, which is aligned to 64; the context is
/// entered.
template <class D>
concept EncodesTensorMaps =
    requires(D d, const tsr_be_tensor_map_t &map, const TensorMapSizes &sizes, void *out) {
      { d.encodeTensorMap(map, sizes, out) } -> std::same_as<Outcome>;
    };

/// Encodes the maps of one kernel and keeps the last ones. Thread-safe.
class TensorMaps {
public:
  explicit TensorMaps(std::vector<tsr_be_tensor_map_t> maps) : maps_(std::move(maps)) {}
  size_t bytes() const { return maps_.size() * kTensorMapBytes; }

  /// Writes the maps for a launch, one after another.
  template <class D> Outcome encode(State<D> &state, const uint64_t *values, std::byte *out) {
    for (size_t i = 0; i < maps_.size(); ++i, out += kTensorMapBytes) {
      const TensorMapSizes sizes = sizesOf(maps_[i], values);
      std::lock_guard lock(mutex_);
      const auto known =
          std::ranges::find_if(kept_, [&](const Kept &kept) { return kept.map == i && kept.sizes == sizes; });
      if (known != kept_.end()) {
        std::memcpy(out, known->code.data(), kTensorMapBytes);
        continue;
      }
      Kept made{i, sizes, {}};
      Outcome o = state.use([&] { return state.driver.encodeTensorMap(maps_[i], sizes, made.code.data()); });
      if (o.failed()) return o;
      std::memcpy(out, made.code.data(), kTensorMapBytes);
      if (kept_.size() < kKept)
        kept_.push_back(made);
      else
        kept_[next_++ % kKept] = made;
    }
    return {};
  }

private:
  static constexpr size_t kKept = 16;
  struct Kept {
    size_t map;
    TensorMapSizes sizes;
    alignas(kTensorMapAlign) std::array<std::byte, kTensorMapBytes> code;
  };
  const std::vector<tsr_be_tensor_map_t> maps_;
  std::mutex mutex_;
  std::vector<Kept> kept_;
  size_t next_ = 0; // to be replaced
};

} // namespace tessera::gpu
