// Compares an output with the expected values.
#pragma once
#include "tests/conformance/Cases.h"

namespace tessera::conformance {

/// Returns "" when every element agrees, else the number of wrong elements and the first of them.
std::string compare(const Output &, std::span<const std::byte> got);

} // namespace tessera::conformance
