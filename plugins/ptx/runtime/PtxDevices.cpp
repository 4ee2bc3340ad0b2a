// Finds NVIDIA GPUs through the driver's own library (CUDA driver API reference, sections Initialization and
// Device Management). The types below are the subset of that API that is needed.
#include "plugins/ptx/Architectures.h"
#include <tessera/discovery.hpp>
#include <tessera/driver.hpp>

namespace {
using namespace tessera;

using Result = int; // CUresult; 0: CUDA_SUCCESS
using Device = int;
enum Attribute { kMultiprocessors = 16, kMajor = 75, kMinor = 76, kSharedOptin = 97 };

FoundDevices find() {
  FoundDevices out;
  static Driver driver({"libcuda.so.1"});
  Result (*init)(unsigned);
  Result (*version)(int *);
  Result (*count)(int *);
  Result (*get)(Device *, int);
  Result (*name)(char *, int, Device);
  Result (*memory)(size_t *, Device);
  Result (*attribute)(int *, int, Device);
  Result (*pci)(char *, int, Device);
  Result (*errorString)(Result, const char **);
  if (!driver || !driver.find(init, "cuInit") || !driver.find(version, "cuDriverGetVersion") ||
      !driver.find(count, "cuDeviceGetCount") || !driver.find(get, "cuDeviceGet") ||
      !driver.find(name, "cuDeviceGetName") || !driver.find(memory, "cuDeviceTotalMem_v2") ||
      !driver.find(attribute, "cuDeviceGetAttribute") || !driver.find(pci, "cuDeviceGetPCIBusId") ||
      !driver.find(errorString, "cuGetErrorString")) {
    out.why = driver.why();
    return out;
  }
  auto fails = [&](Result result, const char *what) {
    if (result == 0) return false;
    const char *text = nullptr;
    (void)errorString(result, &text);
    out.why = std::string(what) + ": " + (text ? text : "error " + std::to_string(result));
    return true;
  };
  int number = 0;
  if (fails(init(0), "cuInit") || fails(count(&number), "cuDeviceGetCount")) return out;
  if (int v = 0; version(&v) == 0)
    out.driver = std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  for (int i = 0; i < number; ++i) {
    Device device;
    FoundDevice found;
    char text[256] = "";
    size_t bytes = 0;
    int major = 0, minor = 0, units = 0, shared = 0;
    if (fails(get(&device, i), "cuDeviceGet") || fails(name(text, sizeof text, device), "cuDeviceGetName") ||
        fails(memory(&bytes, device), "cuDeviceTotalMem") ||
        fails(attribute(&major, kMajor, device), "compute capability") ||
        fails(attribute(&minor, kMinor, device), "compute capability") ||
        fails(attribute(&units, kMultiprocessors, device), "multiprocessor count") ||
        fails(attribute(&shared, kSharedOptin, device), "shared memory"))
      continue; // the other devices may still work
    found.info.name = text;
    found.info.arch = "ptx:sm_" + std::to_string(major) + std::to_string(minor);
    found.info.memoryBytes = bytes, found.info.maxSharedBytes = static_cast<uint64_t>(shared);
    found.info.computeUnits = static_cast<uint32_t>(units), found.info.vectorBytes = 32 * 4;
    found.info.capabilities = R"({"backend": "ptx", "warp_size": 32})";
    char address[32] = "";
    if (pci(address, sizeof address, device) == 0) found.pci = address;
    out.devices.push_back(std::move(found));
  }
  return out;
}

} // namespace

TSR_PLUGIN(ShellBackend<find, ptx::kArchitectures>);
