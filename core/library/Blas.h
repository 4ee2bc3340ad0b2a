// The host's BLAS: loaded at run time where it is installed, never linked.
#pragma once
#include "core/library/GemmCall.h"
#include "core/service/CompilerService.h"
#include <string>

namespace tessera {

/// Is there a BLAS to call? Loads it on first use and keeps it. False with `why`: what was looked for, what
/// the loader said, and how to install one. A failure is not kept. Thread-safe.
bool findBlas(std::string &why);

/// What runs a call, for a machine where findBlas is true. Its values are the call's arguments; it is one
/// program, and the library spreads it over threads of its own.
CpuKernelFn gemmEntry(const GemmCall &call);

/// The library counts in 32 bits.
inline constexpr int64_t kMaxBlasDim = INT32_MAX;

} // namespace tessera
