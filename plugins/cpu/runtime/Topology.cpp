#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <sched.h>
#include <set>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace tessera::cpu {
namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the first CPU of each core that the calling thread may run on; hardware threads of one core count
/// once. Empty: there are more CPUs than a cpu_set_t holds.
std::vector<int> cpusOf(const cpu_set_t &allowed) {
  std::set<std::string> cores;
  std::vector<int> out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string id = std::to_string(cpu);
    std::string siblings = firstLine("/sys/devices/system/cpu/cpu" + id + "/topology/thread_siblings_list");
    if (cores.insert(siblings.empty() ? id : siblings).second) out.push_back(cpu);
  }
  return out;
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
  using namespace std::chrono;
  // Read at the first use, by each of several callers at that time. No initialiser: a fork may interrupt one.
  static constinit std::atomic<int> limit{0};
  int quota = limit.load(std::memory_order_relaxed);
  if (quota == 0)
    limit.store(quota = groupCoreLimit("/sys/fs/cgroup", ownGroup()), std::memory_order_relaxed);
  static std::mutex mutex;
  static cpu_set_t seen;
  static std::atomic<int> count{0};
  static std::atomic<int64_t> nextLook{INT64_MIN};
  const int64_t now = steady_clock::now().time_since_epoch().count();
  if (now < nextLook.load(std::memory_order_relaxed)) return count.load(std::memory_order_relaxed);
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock && count.load(std::memory_order_relaxed) > 0) return count.load(std::memory_order_relaxed);
  if (!lock) lock.lock();
  cpu_set_t allowed;
  // The mask of the process's first thread: that of the calling one may be narrower, if it is bound to a
  // core.
  if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) != 0) {
    count.store(std::max(1, std::min(quota, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)))));
  } else if (!count.load(std::memory_order_relaxed) || !CPU_EQUAL(&allowed, &seen)) {
    seen = allowed;
    count.store(std::max(1, std::min(static_cast<int>(cpusOf(allowed).size()), quota)));
  }
  nextLook.store(now + nanoseconds(milliseconds(100)).count(), std::memory_order_relaxed);
  return count.load(std::memory_order_relaxed);
}

void pinToCore(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) != 0) return;
  const std::vector<int> cpus = cpusOf(allowed);
  if (cpus.empty()) return;
  CPU_ZERO(&allowed);
  CPU_SET(cpus[static_cast<size_t>(index) % cpus.size()], &allowed);
  (void)sched_setaffinity(0, sizeof(allowed), &allowed); // without it the thread only runs anywhere
}

int groupCoreLimit(const std::string &root, std::string group) {
  int limit = INT32_MAX;
  for (;;) { // a parent's limit also applies to its children
    std::ifstream file(root + group + "/cpu.max");
    double quota = 0, period = 0; // "max" is no number
    if (file >> quota >> period && period > 0)
      limit = std::min(limit, static_cast<int>(std::clamp(quota / period, 1.0, 1e6)));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return limit;
    group.resize(slash);
  }
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
