// The variants that kernels of graph functions have on the CPU.
#pragma once
#include "compiler/codegen/TargetBackend.h"

namespace tessera::cpu {

/// Whether rows of that many elements are reduced one after the other, if the tensor has at least
/// `leastElements`: docs/decisions/0124. Narrow elements are widened, which hides more of the memory's
/// latency.
struct StreamedRows {
  static constexpr int64_t kLeast = 700, kMost = 32768;
  static int64_t leastElements(bool readsNarrow) { return readsNarrow ? 1 << 23 : 1 << 20; }
};

/// Proposes the variants of a group (Target::proposeVariants). A variant is code that is compiled and
/// shipped, so that there is one only where it is at least twice as fast: docs/decisions/0036.
std::vector<codegen::VariantProposal> proposeVariants(const codegen::VariantRequest &);

} // namespace tessera::cpu
