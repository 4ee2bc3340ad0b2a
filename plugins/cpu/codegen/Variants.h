// The variants that kernels of graph functions have on the CPU.
#pragma once
#include "compiler/codegen/TargetBackend.h"

namespace tessera::cpu {

/// Proposes the variants of a group (Target::proposeVariants). A variant is code that is compiled and
/// shipped, so that there is one only where it is at least twice as fast: docs/decisions/0036.
std::vector<codegen::VariantProposal> proposeVariants(const codegen::VariantRequest &);

} // namespace tessera::cpu
