#pragma once
#include <string>

namespace tessera::bench {

/// Returns the instructions that libxsmm generates; "" if the benchmark was built without it.
std::string xsmmKernels();

} // namespace tessera::bench
