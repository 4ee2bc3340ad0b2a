// The variants that kernels of graph functions have on the CPU.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include <algorithm>
#include <cstdint>
#include <optional>

namespace tessera::cpu {

/// Which rows are reduced one after the other: those of `least` to `most` elements, of tensors of at least
/// `elements` (docs/decisions/0124, 0135).
struct StreamedRows {
  int64_t least = 700, most = 32768, elements = 1 << 20;
  /// Rows of larger tensors may be shorter: by one element for each kLarger elements, up to `shorter`.
  int64_t shorter = 188;
  static constexpr int64_t kLarger = 1 << 14;
  /// Tensors of more elements have streamed rows of any length above `least`: a program that reads its rows
  /// again finds one of them in the second-level cache, but not eight (docs/decisions/0168).
  int64_t readFromMemory = INT64_MAX;

  bool includes(int64_t columns, std::optional<int64_t> count) const {
    return columns + (count ? std::min(*count / kLarger, shorter) : 0) >= least &&
           (columns <= most || (count && columns <= *count - readFromMemory)) &&
           (!count || *count >= elements);
  }

  /// `vectorBytes`: of the target.
  static StreamedRows of(bool finds, bool readsNarrow, bool readsAgain, int64_t vectorBytes) {
    if (finds) return {.least = 600, .most = INT64_MAX, .elements = 0, .shorter = 0};
    if (readsNarrow)
      return {.elements = 1 << 22, .shorter = 0}; // widening hides more of the memory's latency
    // Elements that are read again are in a near cache by then. Processors with shorter vectors have smaller
    // ones (docs/decisions/0179).
    if (readsAgain) return {.elements = vectorBytes < 64 ? 3 << 17 : 1 << 20, .readFromMemory = 1 << 22};
    return {.elements = 1 << 18};
  }
};

/// Proposes the variants of a group (Target::proposeVariants). A variant is code that is compiled and
/// shipped, so that there is one only where it is at least twice as fast: docs/decisions/0036.
std::vector<codegen::VariantProposal> proposeVariants(const codegen::VariantRequest &,
                                                      const codegen::Capabilities &);

} // namespace tessera::cpu
