// What the machine has, as far as this process may use it.
#pragma once
#include <cstdint>
#include <string>

namespace tessera::cpu {

/// Physical cores this process may run on (its affinity and its cgroup's quota count), at least 1. Read once.
int coreCount();

std::string processorName(); // "AMD EPYC 7B13"; the architecture's name where the system does not tell
uint64_t totalMemoryBytes();
uint64_t freeMemoryBytes();
/// Width of the widest vector register the processor and the system support.
uint32_t vectorBytes();

} // namespace tessera::cpu
