// The resources of the machine that this process may use.
#pragma once
#include <cstdint>
#include <string>

namespace tessera::cpu {

/// Returns the physical cores that this process may run on, at least 1. Its affinity and its cgroup's quota
/// count. Read once.
int coreCount();

std::string processorName(); // "AMD EPYC 7B13"; the architecture's name where the system does not tell
/// Return the machine's total and free memory, within the limits of the process's cgroups (v2).
uint64_t totalMemoryBytes();
uint64_t freeMemoryBytes();
/// Returns the smallest memory.max of `group` ("/a/b", or "" for the root) and its parents, whose files are
/// below `root`; UINT64_MAX if there is none.
uint64_t groupMemoryLimit(const std::string &root, std::string group);
/// Returns the width of the widest vector register that the processor and the system support.
uint32_t vectorBytes();

} // namespace tessera::cpu
