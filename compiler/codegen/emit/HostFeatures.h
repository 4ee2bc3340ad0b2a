// The features of the processor that compiles, as code for it may use them.
#pragma once
#include <string>

namespace tessera::emit {

/// Returns "+avx2,-avx512f,...", by LLVM's names. Tile registers of AMX are among them if the system lets
/// this process use them.
std::string hostFeatures();

} // namespace tessera::emit
