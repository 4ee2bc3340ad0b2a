#pragma once
#include <string>

namespace tessera::bench {

/// Sets BLIS's number of threads and returns the name of its kernels; "" if it is not installed.
std::string blisKernels(int threads);

} // namespace tessera::bench
