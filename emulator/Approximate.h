// Instructions that approximate functions of f32.
#pragma once
#include <tessera/emulated.hpp>

namespace tessera::emulator {

/// Errs by the whole bound of docs/numerics.md.
float approximate(Approximated which, float x);

} // namespace tessera::emulator
