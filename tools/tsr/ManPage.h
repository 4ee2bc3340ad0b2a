#pragma once
#include <string>

namespace tessera::cli {

/// Returns tsr(1) in mdoc(7), generated from the commands' tables of options.
std::string manPage();

} // namespace tessera::cli
