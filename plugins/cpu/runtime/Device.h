// The single device of the CPU backend: the part of the host that this process may use.
#pragma once
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Returns the device's properties, read on first use. Thread-safe.
const DeviceInfo &deviceInfo();

} // namespace tessera::cpu
