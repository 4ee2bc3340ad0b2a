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
  int64_t digits;             // offset in scratch of kDigitBytes for partial results
};

/// Scratch for the partial results of some programs: one block of each for each level of the tree. There is
/// room for 2^31 steps of k of a block of 64 KiB.
inline constexpr int64_t kDigitBytes = int64_t{1536} << 10;

} // namespace tessera::cpu::product
