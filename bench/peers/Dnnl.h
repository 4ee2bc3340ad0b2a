#pragma once
#include <string>

namespace tessera::bench {

/// Returns the instruction set that oneDNN chose its code for.
std::string dnnlKernels();

} // namespace tessera::bench
