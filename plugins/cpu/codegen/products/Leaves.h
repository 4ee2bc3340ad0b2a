// What the body of a product in the order of fixed_reductions is called with, beside its Problem, which has
// an epilogue and keeps one order.
#pragma once
#include "plugins/cpu/codegen/products/Problem.h"

namespace tessera::cpu::product {

/// The lowering of a kernel fills it in; all fields have eight bytes.
struct Leaves {
  Body body;                  // that computes a leaf
  int64_t steps;              // of k, in a leaf
  int64_t bytesOfA, bytesOfB; // between leaves
  int64_t digits;             // offset in scratch of digitBytes() for partial results
};

/// Levels of the tree: 2^40 steps of k in leaves of 256.
inline constexpr int64_t kMostLevels = 32;

/// Scratch for the partial results of a group of programs: one block of each for each level. Small blocks
/// have this much, so that a group has many of them; of large ones there is room for one.
inline constexpr int64_t kDigitBytes = int64_t{1536} << 10;
inline constexpr int64_t digitBytes(int64_t blockRows, int64_t blockColumns, int64_t elementBytes) {
  const int64_t one = kMostLevels * blockRows * blockColumns * elementBytes;
  return one > kDigitBytes ? one : kDigitBytes;
}

} // namespace tessera::cpu::product
