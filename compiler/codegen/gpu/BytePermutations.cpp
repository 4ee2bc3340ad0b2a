#include "compiler/codegen/gpu/BytePermutations.h"

using namespace mlir;

namespace tessera::gpu {

Value BytePermutations::word(ArrayRef<Byte> bytes) {
  const auto other = llvm::find_if(bytes, [&](const Byte &byte) { return byte.word != bytes[0].word; });
  const Value first = bytes[0].word, second = other == bytes.end() ? first : other->word;
  std::array<int64_t, 4> order{};
  bool areTwo = true;
  for (auto [number, byte] : llvm::zip(order, bytes)) {
    areTwo &= byte.word == first || byte.word == second;
    number = byte.number + (byte.word == first ? 0 : 4);
  }
  if (areTwo)
    return order == std::array<int64_t, 4>{0, 1, 2, 3} ? first : vendor_.emitBytes(b_, first, second, order);
  const Pair low = pair(bytes[0], bytes[1]), high = pair(bytes[2], bytes[3]);
  return vendor_.emitBytes(b_, low.word, high.word, {low.low, low.high, 4 + high.low, 4 + high.high});
}

/// Interleaves two bytes of each word, half of which another word will need: a transpose of 4 x 4 bytes takes
/// eight permutations.
BytePermutations::Pair BytePermutations::pair(const Byte &low, const Byte &high) {
  if (low.word == high.word) return {low.word, low.number, high.number};
  if (low.number != high.number)
    return {vendor_.emitBytes(b_, low.word, high.word, {low.number, 4 + high.number, 0, 4}), 0, 1};
  const int64_t first = low.number & ~int64_t(1), at = 2 * (low.number & 1);
  Value &word = interleaved_[{low.word.getAsOpaquePointer(), high.word.getAsOpaquePointer(), first}];
  if (!word) word = vendor_.emitBytes(b_, low.word, high.word, {first, 4 + first, first + 1, 5 + first});
  return {word, at, at + 1};
}

} // namespace tessera::gpu
