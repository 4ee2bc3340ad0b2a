// The resources of the machine that this process may use.
#pragma once
#include <cstdint>
#include <string>

namespace tessera::cpu {

/// Returns the physical cores that this process may run on, at least 1: those of the affinity mask of its
/// first thread, but no more than the whole cores of its cgroups' quota. The mask is read again after 100 ms.
int coreCount();
/// Binds the calling thread to one of those cores; they are counted modulo their number.
void pinToCore(int index);
/// Returns the whole cores of the smallest cpu.max of `group` and its parents, at least 1; INT32_MAX if there
/// is none. The arguments are those of groupMemoryLimit.
int groupCoreLimit(const std::string &root, std::string group);

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
