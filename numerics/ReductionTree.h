// The sums of profiles with fixed_reductions (docs/strict.md), the reference for testing backends.
//
// A product, and a sum along another axis than the last: leaves of kReductionLeaf consecutive terms, each
// accumulated in index order from +0, by addition or by fma. A sum along the last axis: blocks of
// kReductionBlock consecutive elements, of which element i belongs to lane i mod kReductionLanes; a lane adds
// its elements in index order from +0, and lanes are folded by halves. Leaves and blocks are joined pairwise:
// 2i with 2i + 1, level by level; an odd last one moves up unchanged. No elements give +0. Pure and
// thread-safe.
#pragma once
#include "numerics/NumericsProfile.h"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera {

/// Joins nodes pairwise; uses the vector as working space.
template <class T> T joinPairwise(std::vector<T> &nodes) {
  if (nodes.empty()) return 0;
  for (size_t count = nodes.size(); count > 1; count = (count + 1) / 2)
    for (size_t i = 0; 2 * i < count; ++i)
      nodes[i] = 2 * i + 1 < count ? nodes[2 * i] + nodes[2 * i + 1] : nodes[2 * i];
  return nodes[0];
}

/// Returns the sum of x[0], x[stride], ... (`count` elements) along another axis than the last.
template <class T> T strictSum(const T *x, size_t count, size_t stride = 1) {
  std::vector<T> leaves;
  for (size_t begin = 0; begin < count; begin += kReductionLeaf) {
    T sum = 0;
    for (size_t i = begin; i < std::min(count, begin + kReductionLeaf); ++i)
      sum += x[i * stride];
    leaves.push_back(sum);
  }
  return joinPairwise(leaves);
}

/// Returns the sum of `count` elements along the last axis.
template <class T> T strictRowSum(const T *x, size_t count) {
  std::vector<T> blocks;
  for (size_t begin = 0; begin < count; begin += kReductionBlock) {
    T lanes[kReductionLanes] = {};
    for (size_t i = begin; i < std::min(count, begin + kReductionBlock); ++i)
      lanes[i % kReductionLanes] += x[i];
    for (size_t half = kReductionLanes / 2; half > 0; half /= 2)
      for (size_t l = 0; l < half; ++l)
        lanes[l] += lanes[l + half];
    blocks.push_back(lanes[0]);
  }
  return joinPairwise(blocks);
}

/// Returns the inner product of x and y: one element of a matrix product.
template <class T> T strictDot(const T *x, const T *y, size_t count, size_t xStride = 1, size_t yStride = 1) {
  std::vector<T> leaves;
  for (size_t begin = 0; begin < count; begin += kReductionLeaf) {
    T sum = 0;
    for (size_t i = begin; i < std::min(count, begin + kReductionLeaf); ++i)
      sum = std::fma(x[i * xStride], y[i * yStride], sum);
    leaves.push_back(sum);
  }
  return joinPairwise(leaves) + T(0); // underflowed terms may have left -0
}

} // namespace tessera
