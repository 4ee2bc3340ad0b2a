// What the machine has, as far as this process may use it.
#pragma once
#include <cstdint>
#include <string>

namespace tessera::cpu {

/// Physical cores this process may run on (its affinity and its cgroup's quota count), at least 1. Read once.
int coreCount();

std::string processorName(); // "AMD EPYC 7B13"; the architecture's name where the system does not tell
/// What the machine has and what of it is free, within the limits of the process's cgroups (v2).
uint64_t totalMemoryBytes();
uint64_t freeMemoryBytes();
/// The least memory.max of `group` ("/a/b", or "" for the root) and its parents, whose files are under
/// `root`; UINT64_MAX without any.
uint64_t groupMemoryLimit(const std::string &root, std::string group);
/// Width of the widest vector register the processor and the system support.
uint32_t vectorBytes();

} // namespace tessera::cpu
