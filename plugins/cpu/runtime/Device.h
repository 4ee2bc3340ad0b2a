// The one device of the CPU backend: the host, as far as this process may use it.
#pragma once
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Read once, on first use. Thread-safe.
const DeviceInfo &deviceInfo();

} // namespace tessera::cpu
