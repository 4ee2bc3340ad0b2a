// The transformer blocks of samples/transformer: random weights and the definition in double precision.
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
  bool gated; // rms norms and a gated silu MLP, as `block_bf16`; else layer norms and a gelu MLP, as `block`
  std::map<std::string, std::vector<float>> tensors; // by the names of the function's parameters

  const std::vector<float> &operator[](const char *name) const { return tensors.at(name); }
  /// Multiplications and additions of the products and of what causal attention needs of the scores.
  double flops() const;
};

/// Random values of unit size in x; weights scaled so that no step grows or shrinks what it reads. With
/// `roundToBf16` they are values bf16 has.
Block randomBlock(const BlockShape &, bool gated, bool roundToBf16);

/// The block's result in double precision, and for each element the size of what was added up for it: the
/// unit its rounding errors are measured in.
struct BlockResult {
  std::vector<double> value, size;
};
BlockResult evaluate(const Block &);

/// Compares with the definition. `rounding` is the relative error of one intermediate value: 2^-9 where they
/// are stored as bf16; for f32 that of a sum, which grows as the root of its length. Errors of independent
/// terms add up as their squares do, and five steps follow each other: 16 units are allowed.
Check checkBlock(const BlockResult &want, const std::vector<float> &got, double rounding);

} // namespace tessera::bench
