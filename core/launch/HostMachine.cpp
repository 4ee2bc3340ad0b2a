#include "core/launch/HostMachine.h"
#include "core/support/HostCpu.h"
#include "core/support/MadeOnce.h"
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace tessera {
namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The CPUs of a list such as "0-3,8".
std::set<int> cpusOf(const std::string &list) {
  std::set<int> cpus;
  for (size_t at = 0; at < list.size() && cpus.size() < 65536;) {
    const size_t end = std::min(list.find(',', at), list.size());
    int first = 0, last = 0;
    const int numbers = std::sscanf(list.substr(at, end - at).c_str(), "%d-%d", &first, &last);
    for (int cpu = first; numbers > 0 && cpu <= (numbers == 2 ? last : first) && cpu < 65536; ++cpu)
      cpus.insert(cpu);
    at = end + 1;
  }
  return cpus;
}

/// The cores among these CPUs; hardware threads of one core count once.
int64_t coresOf(const std::set<int> &cpus) {
  std::set<std::string> cores;
  for (int cpu : cpus) {
    const std::string id = std::to_string(cpu);
    const std::string siblings =
        firstLine("/sys/devices/system/cpu/cpu" + id + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? id : siblings);
  }
  return std::max<int64_t>(1, static_cast<int64_t>(cores.size()));
}

/// The bytes per core of the data cache of this level; `typical` if the system does not describe it.
int64_t cacheBytes(int level, int64_t typical) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (firstLine(folder + "level") != std::to_string(level) || firstLine(folder + "type") == "Instruction")
      continue;
    long long size = 0;
    char unit = 0;
    if (std::sscanf(firstLine(folder + "size").c_str(), "%lld%c", &size, &unit) < 1 || size < 1)
      return typical;
    const int64_t scale = unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    return size * scale / coresOf(cpusOf(firstLine(folder + "shared_cpu_list")));
  }
  return typical;
}

MachineConstants examineHost() {
  const int64_t width = firstMissing({"avx512f"}).empty() ? 64 : firstMissing({"avx2"}).empty() ? 32 : 16;
  // Two multiply-adds of a vector per cycle at 3.5 GHz. Zen 4 takes two cycles for vectors of 64 bytes.
  const int64_t units = hostCpuName() == "znver4" ? 1 : 2;
  const int64_t f32 = width / 4 * 2 * units * 7 / 2;
  const bool hasBf16 = firstMissing({"avx512bf16"}).empty(), hasVnni = firstMissing({"avx512vnni"}).empty();
  return {0,
          cacheBytes(1, 32 << 10),
          cacheBytes(2, 1 << 20),
          cacheBytes(3, 2 << 20),
          f32,
          f32 / 2,
          hasBf16 ? 2 * f32 : f32,
          (hasVnni ? 4 : 2) * f32,
          width * 3 / 2,
          width / 2,
          12,
          20000};
}

constinit MadeOnce<MachineConstants> knownHost;

} // namespace

MachineConstants machineConstants(int64_t cores, bool isHost) {
  MachineConstants out = isHost ? knownHost.get(examineHost) : MachineConstants{};
  out[0] = cores;
  return out;
}

} // namespace tessera
