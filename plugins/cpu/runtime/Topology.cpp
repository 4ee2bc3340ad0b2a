#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace tessera::cpu {
namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the number of cores among the CPUs that this process may run on; hardware threads of one core
/// count once.
int allowedCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); // there are more CPUs than a cpu_set_t holds
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string id = std::to_string(cpu);
    std::string siblings = firstLine("/sys/devices/system/cpu/cpu" + id + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? id : siblings);
  }
  return static_cast<int>(cores.size());
}

/// Returns how many CPUs' worth of time a container may use (cgroup v2), or INT_MAX.
int quotaCores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return INT32_MAX;
  try {
    return static_cast<int>(std::max(1.0, std::stod(quota) / period));
  } catch (const std::exception &) {
    return INT32_MAX;
  }
}

uint64_t memInfo(const char *key) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kib; file >> name >> kib && std::getline(file, unit);)
    if (name == key) return kib * 1024;
  return 0;
}

/// Returns the control group (v2) of this process: "/", or "/system.slice/x.service"; "" if unknown.
std::string ownGroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return "";
}

} // namespace

int coreCount() {
  static const int count = std::max(1, std::min(allowedCores(), quotaCores()));
  return count;
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  utsname system{};
  return uname(&system) == 0 ? system.machine : "CPU";
}

uint64_t groupMemoryLimit(const std::string &root, std::string group) {
  uint64_t limit = UINT64_MAX;
  for (;;) { // a parent's limit also applies to its children
    std::ifstream file(root + group + "/memory.max");
    if (uint64_t bytes; file >> bytes) limit = std::min(limit, bytes); // "max" is no number
    size_t slash = group.rfind('/');
    if (slash == std::string::npos) return limit;
    group.resize(slash);
  }
}

uint64_t totalMemoryBytes() {
  uint64_t machine = memInfo("MemTotal:");
  if (struct sysinfo system; !machine && sysinfo(&system) == 0) // there is no /proc
    machine = uint64_t{system.totalram} * system.mem_unit;
  return std::min(machine, groupMemoryLimit("/sys/fs/cgroup", ownGroup()));
}

uint64_t freeMemoryBytes() { return std::min(memInfo("MemAvailable:"), totalMemoryBytes()); }

uint32_t vectorBytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

} // namespace tessera::cpu
