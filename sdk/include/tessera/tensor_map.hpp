// A tensor map of one launch: tsr_be_tensor_map_t with the values that it refers to.
#pragma once
#include <cstdint>
#include <tessera/plugin.h>
#include <tessera/require_cxx20.hpp>

namespace tessera {

/// Axes from the innermost on, as drivers count them.
struct TensorMapSizes {
  uint64_t address = 0;
  uint32_t rank = 0;
  uint64_t extents[5] = {}; // elements
  uint64_t strides[5] = {}; // bytes; the first is that of an element
  uint32_t box[5] = {};     // elements
  bool operator==(const TensorMapSizes &) const = default;
};

/// `values` are those of the launch.
inline TensorMapSizes sizesOf(const tsr_be_tensor_map_t &map, const uint64_t *values) {
  auto number = [&](const tsr_be_number_t &n) {
    return n.value < 0 ? static_cast<uint64_t>(n.constant) : values[n.value];
  };
  TensorMapSizes out;
  out.address = values[map.value];
  out.rank = map.rank;
  for (uint32_t i = 0; i < map.rank; ++i) {
    const uint32_t axis = map.rank - 1 - i;
    out.extents[i] = number(map.extents[axis]);
    out.box[i] = map.box[axis];
    const uint64_t stride = number(map.strides[axis]);
    out.strides[i] = i == 0        ? map.element_bytes
                     : stride == 0 ? out.strides[i - 1] * out.extents[i - 1]
                                   : stride * map.element_bytes;
  }
  return out;
}

} // namespace tessera
