// The fixed reduction tree of the strict profile (decision D12), the reference for testing backends.
//
// Leaves of kReductionLeaf consecutive elements accumulate in index order from zero, by fp32 add (sums) or
// fp32 fma (products). The leaves' results then combine pairwise by index: neighbours 2i and 2i + 1 are
// added, level by level; an odd last one moves up unchanged. No elements give 0. Pure and thread-safe.
#pragma once
#include "numerics/NumericsProfile.h"
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera {

/// Combines the leaves' results; uses the vector as working space.
inline float combineLeaves(std::vector<float> &leaves) {
  if (leaves.empty()) return 0;
  for (size_t count = leaves.size(); count > 1; count = (count + 1) / 2)
    for (size_t i = 0; 2 * i < count; ++i)
      leaves[i] = 2 * i + 1 < count ? leaves[2 * i] + leaves[2 * i + 1] : leaves[2 * i];
  return leaves[0];
}

/// Returns the strict sum of x[0], x[stride], ... (`count` elements).
inline float strictSum(const float *x, size_t count, size_t stride = 1) {
  std::vector<float> leaves;
  for (size_t begin = 0; begin < count; begin += kReductionLeaf) {
    float sum = 0;
    for (size_t i = begin; i < count && i < begin + kReductionLeaf; ++i)
      sum += x[i * stride];
    leaves.push_back(sum);
  }
  return combineLeaves(leaves);
}

/// Returns the strict inner product of x and y: one element of a matmul.
inline float strictDot(const float *x, const float *y, size_t count, size_t xStride = 1, size_t yStride = 1) {
  std::vector<float> leaves;
  for (size_t begin = 0; begin < count; begin += kReductionLeaf) {
    float sum = 0;
    for (size_t i = begin; i < count && i < begin + kReductionLeaf; ++i)
      sum = std::fma(x[i * xStride], y[i * yStride], sum);
    leaves.push_back(sum);
  }
  return combineLeaves(leaves);
}

} // namespace tessera
