// The machine constants of this host.
#pragma once
#include "core/metadata/MachineConstants.h"

namespace tessera {

/// Returns the constants for launches that may use `cores` units. `isHost`: they run on this machine's
/// processor; the constants of other devices but `cores` are unknown. The caches are those that the system
/// describes for the first CPU, divided by the cores that share them; the rates are typical ones for the
/// processor's vector width. Thread-safe; the host is examined once.
MachineConstants machineConstants(int64_t cores, bool isHost);

} // namespace tessera
