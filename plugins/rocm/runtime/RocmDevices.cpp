// Finds AMD GPUs through HIP's runtime library (HIP API reference, Device Management). Uses only calls whose
// signature is the same in versions 5, 6 and 7. hipGetDeviceProperties, whose struct changes, is not used:
// architecture names come from the kernel driver's topology.
#include "plugins/rocm/Architectures.h"
#include <fstream>
#include <tessera/discovery.hpp>
#include <tessera/driver.hpp>

namespace {
using namespace tessera;

using Result = int; // hipError_t; 0: hipSuccess

/// Returns "gfx90a" for the amdkfd topology's gfx_target_version 90010: major * 10000 + minor * 100 +
/// stepping. Minor and stepping are hexadecimal digits of the name.
std::string gfxName(unsigned version) {
  char out[32];
  snprintf(out, sizeof out, "gfx%u%x%x", version / 10000, version / 100 % 100, version % 100);
  return out;
}

/// Returns gfx_target_version of each GPU node, in the order in which HIP counts its devices by default.
std::vector<unsigned> gfxVersions() {
  std::vector<unsigned> out;
  for (int node = 0; node < 1024; ++node) {
    std::ifstream in("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties");
    if (!in) break;
    std::string key;
    unsigned long value;
    while (in >> key >> value)
      if (key == "gfx_target_version" && value) out.push_back(static_cast<unsigned>(value)); // CPUs have 0
  }
  return out;
}

FoundDevices find() {
  FoundDevices out;
  static Driver driver({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"});
  Result (*init)(unsigned);
  Result (*version)(int *);
  Result (*count)(int *);
  Result (*name)(char *, int, int);
  Result (*memory)(size_t *, int);
  Result (*pci)(char *, int, int);
  const char *(*errorString)(Result);
  if (!driver || !driver.find(init, "hipInit") || !driver.find(version, "hipDriverGetVersion") ||
      !driver.find(count, "hipGetDeviceCount") || !driver.find(name, "hipDeviceGetName") ||
      !driver.find(memory, "hipDeviceTotalMem") || !driver.find(pci, "hipDeviceGetPCIBusId") ||
      !driver.find(errorString, "hipGetErrorString")) {
    out.why = driver.why();
    return out;
  }
  auto fails = [&](Result result, const char *what) {
    if (result == 0) return false;
    out.why = std::string(what) + ": " + errorString(result);
    return true;
  };
  int number = 0;
  if (fails(init(0), "hipInit") || fails(count(&number), "hipGetDeviceCount")) return out;
  if (int v = 0; version(&v) == 0) out.driver = std::to_string(v);
  const std::vector<unsigned> versions = gfxVersions();
  for (int i = 0; i < number; ++i) {
    FoundDevice found;
    char text[256] = "", address[32] = "";
    size_t bytes = 0;
    if (fails(name(text, sizeof text, i), "hipDeviceGetName") ||
        fails(memory(&bytes, i), "hipDeviceTotalMem"))
      continue;
    found.info.name = text;
    found.info.arch =
        "rocm:" + (static_cast<size_t>(i) < versions.size() ? gfxName(versions[static_cast<size_t>(i)])
                                                            : std::string("unknown"));
    found.info.memoryBytes = bytes;
    found.info.capabilities = R"({"backend": "rocm"})";
    if (pci(address, sizeof address, i) == 0) found.pci = address;
    out.devices.push_back(std::move(found));
  }
  return out;
}

} // namespace

TSR_PLUGIN(ShellBackend<find, rocm::kArchitectures>);
