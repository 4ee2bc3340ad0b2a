// What a tuned configuration belongs to: a kernel as its signature describes it, a processor, and a class of
// sizes.
//
// Static library tessera-tuned. Thread-safe.
#pragma once
#include "core/service/CompilerService.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using NamedValues = std::vector<std::pair<std::string, int64_t>>;

/// "gemm(A: f32[M, K], ...) BLOCK_M: 96 48, ...": name, parameters with dtypes and dims, and the tunables
/// with their values. A kernel that changes in one of these has no tuned configuration; one whose body
/// changes keeps it.
std::string tunedKernelOf(const Signature &);

/// "cpu" -> "cpu:znver3", this machine's, or "cpu:AuthenticAMD-26-2", which has vendor, family and model, if
/// the name is unknown. Other targets are returned unchanged.
std::string tunedArchOf(const std::string &target);

/// The sizes that share a configuration, as conditions: each dim is between quarter steps of powers of two,
/// and all are multiples of 16 or none is ("M >= 448", "M < 512", "M % 16 == 0"). Dims below 8 have just
/// their value, as all have if `isExact` is set.
std::vector<std::string> sizeClassOf(const NamedValues &dims, bool isExact);

} // namespace tessera
