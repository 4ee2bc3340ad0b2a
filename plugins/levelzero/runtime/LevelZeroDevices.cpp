// Finds Intel GPUs through the Level Zero loader (Level Zero specification, core: zeInit, zeDriverGet,
// zeDeviceGet). Without a device zeInit fails, and every later call may crash, so none is made.
#include "plugins/levelzero/Architectures.h"
#include <tessera/discovery.hpp>
#include <tessera/driver.hpp>

namespace {
using namespace tessera;

using Result = int; // ze_result_t; 0: ZE_RESULT_SUCCESS
using Handle = void *;
constexpr uint32_t kGpuOnly = 1;     // ZE_INIT_FLAG_GPU_ONLY
constexpr int kDeviceProperties = 3; // ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES
constexpr int kTypeGpu = 1;          // ZE_DEVICE_TYPE_GPU

/// ze_device_properties_t of version 1.0 of the specification.
struct DeviceProperties {
  int stype = kDeviceProperties;
  void *pNext = nullptr;
  int type;
  uint32_t vendorId, deviceId, flags, subdeviceId, coreClockRate;
  uint64_t maxMemAllocSize;
  uint32_t maxHardwareContexts, maxCommandQueuePriority, numThreadsPerEU, physicalEUSimdWidth,
      numEUsPerSubslice, numSubslicesPerSlice, numSlices;
  uint64_t timerResolution;
  uint32_t timestampValidBits, kernelTimestampValidBits;
  uint8_t uuid[16];
  char name[256];
};

FoundDevices find() {
  FoundDevices out;
  static Driver loader({"libze_loader.so.1"});
  Result (*init)(uint32_t);
  Result (*drivers)(uint32_t *, Handle *);
  Result (*devices)(Handle, uint32_t *, Handle *);
  Result (*properties)(Handle, DeviceProperties *);
  if (!loader || !loader.find(init, "zeInit") || !loader.find(drivers, "zeDriverGet") ||
      !loader.find(devices, "zeDeviceGet") || !loader.find(properties, "zeDeviceGetProperties")) {
    out.why = loader.why();
    return out;
  }
  char code[16];
  auto fails = [&](Result result, const char *what) {
    if (result == 0) return false;
    snprintf(code, sizeof code, "0x%x", static_cast<unsigned>(result));
    out.why =
        std::string(what) + " returned " + code +
        (static_cast<unsigned>(result) == 0x78000001u ? " (uninitialized: no Intel GPU or no driver for it)"
                                                      : "");
    return true;
  };
  if (fails(init(kGpuOnly), "zeInit")) return out; // no other call may be made
  uint32_t count = 0;
  if (fails(drivers(&count, nullptr), "zeDriverGet")) return out;
  std::vector<Handle> all(count);
  if (fails(drivers(&count, all.data()), "zeDriverGet")) return out;
  for (Handle driver : all) {
    uint32_t number = 0;
    if (fails(devices(driver, &number, nullptr), "zeDeviceGet")) continue;
    std::vector<Handle> of(number);
    if (fails(devices(driver, &number, of.data()), "zeDeviceGet")) continue;
    for (Handle device : of) {
      DeviceProperties p;
      if (fails(properties(device, &p), "zeDeviceGetProperties") || p.type != kTypeGpu) continue;
      FoundDevice found;
      p.name[sizeof p.name - 1] = 0;
      found.info.name = p.name;
      found.info.arch = "levelzero:spirv";
      found.info.memoryBytes = p.maxMemAllocSize;
      found.info.computeUnits = p.numSlices * p.numSubslicesPerSlice * p.numEUsPerSubslice;
      found.info.vectorBytes = p.physicalEUSimdWidth * 4;
      found.info.capabilities = R"({"backend": "levelzero"})";
      out.devices.push_back(std::move(found));
    }
  }
  return out;
}

} // namespace

TSR_PLUGIN(ShellBackend<find, levelzero::kArchitectures>);
