// The transformer blocks of samples/transformer: random weights, and their definition in double precision.
#pragma once
#include "bench/Check.h"
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tessera::bench {

/// x is [batch, length, width]; queries have `heads` heads of `depth` elements, keys and values `kvHeads`.
struct BlockShape {
  size_t batch, length, width, heads, kvHeads, depth, hidden;
  size_t tokens() const { return batch * length; }
};

struct Block {
  BlockShape shape;
  // true: rms norms and a gated silu MLP, as `block_bf16`; false: layer norms and a gelu MLP, as `block`
  bool gated;
  std::map<std::string, std::vector<float>> tensors; // keyed by the names of the function's parameters

  const std::vector<float> &operator[](const char *name) const { return tensors.at(name); }
  /// Returns the multiplications and additions of the products and of the scores that causal attention needs.
  double flops() const;
};

/// Makes a block with random values of unit size in x; the weights are scaled so that no step grows or
/// shrinks its input. With `roundToBf16` all values are representable in bf16.
Block randomBlock(const BlockShape &, bool gated, bool roundToBf16);

/// Returns the block's result in double precision, and for each element the size of the terms added for it:
/// the unit in which its rounding errors are measured.
struct BlockResult {
  std::vector<double> value, size;
};
BlockResult evaluate(const Block &);

/// Compares with the definition. `rounding` is the relative error of one intermediate value: 2^-9 if they are
/// stored as bf16; for f32 the error of a sum, which grows with the root of its length. Errors of independent
/// terms add up as their squares do, and five steps follow each other: 16 units are allowed.
Check checkBlock(const BlockResult &want, const std::vector<float> &got, double rounding);

} // namespace tessera::bench
