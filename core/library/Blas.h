// The host's BLAS. It is loaded at run time if it is installed, and never linked.
#pragma once
#include "core/library/GemmCall.h"
#include "core/service/CompilerService.h"
#include <string>

namespace tessera {

/// Loads a BLAS on first use and returns whether there is one. If not, fills `why` with the libraries tried,
/// the dynamic linker's messages, and how to install one. The next call tries again. Thread-safe.
bool findBlas(std::string &why);

/// Returns the function that runs a call. Precondition: findBlas() has returned true. Its values are the
/// call's arguments. It is one program, and the library distributes the work over its own threads.
CpuKernelFn gemmEntry(const GemmCall &call);

/// The library's integers have 32 bits.
inline constexpr int64_t kMaxBlasDim = INT32_MAX;

} // namespace tessera
