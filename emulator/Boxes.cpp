#include "emulator/Boxes.h"
#include <algorithm>
#include <cstring>

namespace tessera::emulator {
namespace {

constexpr uint32_t kChunk = 16;

/// CUDA programming guide, "Tensor map swizzle modes": in lines of 128 bytes, the number of a 16-byte chunk
/// is xored with that of the line, modulo 8, 4 or 2.
uint32_t swizzled(uint32_t offset, uint32_t span) {
  if (!span) return offset;
  return offset ^ (offset / 128 % (span / kChunk)) * kChunk;
}

} // namespace

std::string whyNoMap(const EmulatedTensorMap &map) {
  const TensorMapSizes &s = map.sizes;
  if (s.rank < 1 || s.rank > 5) return "its rank is " + std::to_string(s.rank);
  if (s.address % kChunk) return "its address is no multiple of 16";
  for (uint32_t i = 0; i < s.rank; ++i) {
    const std::string axis = " along axis " + std::to_string(i);
    if (s.extents[i] == 0 || s.extents[i] > uint64_t{1} << 32)
      return "it has " + std::to_string(s.extents[i]) + " elements" + axis;
    if (s.box[i] == 0 || s.box[i] > 256)
      return "its box has " + std::to_string(s.box[i]) + " elements" + axis;
    if (i && (s.strides[i] % kChunk || s.strides[i] >= uint64_t{1} << 40))
      return "its stride is " + std::to_string(s.strides[i]) + " bytes" + axis;
  }
  const uint64_t row = s.box[0] * s.strides[0];
  if (row % kChunk || (map.swizzle && row > map.swizzle))
    return "a row of its box has " + std::to_string(row) + " bytes, the swizzle " +
           std::to_string(map.swizzle);
  return "";
}

uint32_t bytesOf(const EmulatedTensorMap &map) {
  uint64_t bytes = map.sizes.strides[0];
  for (uint32_t i = 0; i < map.sizes.rank; ++i)
    bytes *= map.sizes.box[i];
  return static_cast<uint32_t>(bytes);
}

bool isBoxAligned(const EmulatedTensorMap &map, const int32_t *coordinates) {
  return int64_t{coordinates[0]} * static_cast<int64_t>(map.sizes.strides[0]) % kChunk == 0;
}

std::vector<BoxChunk> chunksOf(const EmulatedTensorMap &map, const int32_t *coordinates, uint32_t offset) {
  const TensorMapSizes &s = map.sizes;
  const auto element = static_cast<uint32_t>(s.strides[0]), rowBytes = s.box[0] * element;
  std::vector<BoxChunk> out;
  const uint32_t rows = bytesOf(map) / rowBytes;
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t from = s.address;
    bool isInside = true;
    for (uint32_t i = 1, rest = row; i < s.rank; rest /= s.box[i++]) {
      const int64_t at = int64_t{coordinates[i]} + rest % s.box[i];
      isInside &= at >= 0 && static_cast<uint64_t>(at) < s.extents[i];
      from += static_cast<uint64_t>(at) * s.strides[i];
    }
    for (uint32_t byte = 0; byte < rowBytes; byte += kChunk) {
      const int64_t first = int64_t{coordinates[0]} * element + byte, begin = std::max<int64_t>(first, 0),
                    end = std::min<int64_t>(first + kChunk, static_cast<int64_t>(s.extents[0] * element));
      BoxChunk chunk{swizzled(offset + row * rowBytes + byte, map.swizzle), nullptr, 0};
      if (isInside && begin < end) {
        chunk.from = reinterpret_cast<const uint8_t *>(from + static_cast<uint64_t>(begin));
        chunk.copied = static_cast<uint32_t>(end - begin);
      }
      out.push_back(chunk);
    }
  }
  return out;
}

void copyChunk(const BoxChunk &chunk, uint8_t *shared) {
  std::memset(shared + chunk.offset, 0, kChunk);
  if (chunk.copied) std::memcpy(shared + chunk.offset, chunk.from, chunk.copied);
}

} // namespace tessera::emulator
