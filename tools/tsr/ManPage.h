#pragma once
#include <string>

namespace tessera::cli {

/// tsr(1) in mdoc(7), made from the commands' tables of options, so that it says what the program does.
std::string manPage();

} // namespace tessera::cli
