// libze_loader.so.1 without a GPU: devices, contexts and memory.
#include "tests/shims/ze/Ze.h"
#include <algorithm>
#include <cstdio>

namespace tessera::shim {
namespace {

/// What a device says of itself.
struct Model {
  const char *arch; // the shim's option
  uint32_t deviceId;
  std::array<uint32_t, 3> subGroupSizes; // 0: none
  uint32_t sharedKiB;
};
constexpr Model kModels[] = {{"acm", 0x56a0, {8, 16, 32}, 64}, // Arc A770
                             {"g11", 0x5693, {8, 16, 32}, 64}, // Arc A370M
                             {"xe2", 0xe20b, {16, 32}, 128},   // Arc B580, newer than the plugin's tables
                             {"simd32", 0xe20b, {32}, 128},    // of no device today
                             {"", 0x0bd5, {16, 32}, 128}};     // Data Center GPU Max 1550
const Model &model() {
  const auto *found = std::ranges::find(kModels, machine().options.arch, &Model::arch);
  return found == std::end(kModels) ? *std::prev(std::end(kModels)) : *found;
}
uint32_t deviceId() { return model().deviceId; }

auto &everContexts = *new std::vector<std::shared_ptr<ZeContext>>; // blocks and streams refer to them
char driverObject;                                                 // the only driver
std::array<char, 16> deviceObjects;

/// Fills a list of handles as Level Zero does: the count first, then as many as fit.
int give(uint32_t *count, void **out, uint32_t there, auto handle) {
  if (*count == 0 || !out) return *count = there, 0;
  *count = std::min(*count, there);
  for (uint32_t i = 0; i < *count; ++i)
    out[i] = handle(i);
  return 0;
}

} // namespace

Machine &machine() { return Machine::get(); }
uint64_t sharedBytes() { return uint64_t{model().sharedKiB} << 10; }
bool isOfType(const Call &call, const Head *head, std::initializer_list<int> types) {
  if (std::ranges::find(types, head->stype) != types.end()) return true;
  machine().breach("struct-type", std::string(call.name) + ": stype is " + std::to_string(head->stype));
  return false;
}
// Never destroyed, since the machine counts what is left when the process ends.
Handles<ZeContext> &contexts = *new Handles<ZeContext>("context", 0x61);
Handles<ZeModule> &modules = *new Handles<ZeModule>("module", 0x62);
Handles<Kernel> &kernels = *new Handles<Kernel>("kernel", 0x63);
Handles<Log> &logs = *new Handles<Log>("build log", 0x64);
bool isInitialized = false;
namespace {
[[maybe_unused]] const bool areObjectsCounted = (machine().count(contexts), machine().count(modules),
                                                 machine().count(kernels), machine().count(logs), true);
}

Call::Call(const char *name) : name(name), lock(machine().mutex) {
  if (!isInitialized)
    machine().breach("not-initialized", std::string(name) + " without a successful zeInit before it");
}
int Call::device(const void *handle) {
  const auto *at = static_cast<const char *>(handle);
  if (at >= deviceObjects.data() && at < deviceObjects.data() + machine().options.devices)
    return static_cast<int>(at - deviceObjects.data());
  machine().breach("bad-handle", std::string(name) + ": not a device");
  return -1;
}

} // namespace tessera::shim

using namespace tessera::shim;

// ---- Devices ----

EXPORT zeInit(uint32_t) {
  std::lock_guard lock(machine().mutex);
  return isInitialized = machine().options.devices > 0, isInitialized ? 0 : kUninitialized;
}
EXPORT zeDriverGet(uint32_t *count, void **out) {
  Call call("zeDriverGet");
  return give(count, out, 1, [](uint32_t) { return &driverObject; });
}
EXPORT zeDriverGetApiVersion(void *, uint32_t *out) {
  Call call("zeDriverGetApiVersion");
  const int asked = machine().options.driver; // 1001 for 1.1
  return *out = asked ? static_cast<uint32_t>(asked / 1000 << 16 | asked % 1000) : 0x10003, 0;
}
EXPORT zeDeviceGet(void *, uint32_t *count, void **out) {
  Call call("zeDeviceGet");
  return give(count, out, static_cast<uint32_t>(machine().options.devices),
              [](uint32_t i) { return &deviceObjects[i]; });
}

namespace {
struct DeviceProperties : Head {
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
struct ComputeProperties : Head {
  uint32_t maxTotalGroupSize, maxGroupSize[3], maxGroupCount[3], maxSharedLocalMemory, numSubGroupSizes,
      subGroupSizes[8];
};
struct ModuleProperties : Head {
  uint32_t spirvVersionSupported, flags, fp16flags, fp32flags, fp64flags, maxArgumentsSize, printfBufferSize;
  uint8_t nativeKernelSupported[16];
};
struct MemoryProperties : Head {
  uint32_t flags, maxClockRate, maxBusWidth;
  uint64_t totalSize;
  char name[256];
};
struct QueueGroupProperties : Head {
  uint32_t flags;
  size_t maxMemoryFillPatternSize;
  uint32_t numQueues;
};
struct PciProperties : Head {
  uint32_t domain, bus, device, function;
  int32_t genVersion, width;
  int64_t maxBandwidth;
};

} // namespace

EXPORT zeDeviceGetProperties(void *handle, DeviceProperties *out) {
  Call call("zeDeviceGetProperties");
  const int device = call.device(handle);
  if (device < 0 || !isOfType(call, out, {0x3, 0x20006})) return kInvalidArgument;
  if (device == machine().options.broken) return kDeviceLost;
  const bool hasCycles = out->stype == 0x20006;
  out->type = 1, out->vendorId = 0x8086, out->deviceId = deviceId();
  out->maxMemAllocSize = uint64_t{4} << 30;
  out->physicalEUSimdWidth = 16, out->numEUsPerSubslice = 8, out->numSubslicesPerSlice = 16,
  out->numSlices = 4;
  out->timerResolution = hasCycles ? 12'500'000 : 80;
  out->timestampValidBits = 36, out->kernelTimestampValidBits = 32;
  std::snprintf(out->name, sizeof out->name, "Shim %04x #%d", deviceId(), device);
  return 0;
}
EXPORT zeDeviceGetComputeProperties(void *handle, ComputeProperties *out) {
  Call call("zeDeviceGetComputeProperties");
  if (call.device(handle) < 0 || !isOfType(call, out, {0x4})) return kInvalidArgument;
  out->maxTotalGroupSize = 1024;
  std::fill_n(out->maxGroupSize, 3, 1024);
  out->maxGroupCount[0] = INT32_MAX, out->maxGroupCount[1] = out->maxGroupCount[2] = 65535;
  out->maxSharedLocalMemory = static_cast<uint32_t>(sharedBytes());
  out->numSubGroupSizes = static_cast<uint32_t>(3 - std::ranges::count(model().subGroupSizes, 0u));
  std::ranges::copy(model().subGroupSizes, out->subGroupSizes);
  return 0;
}
EXPORT zeDeviceGetModuleProperties(void *handle, ModuleProperties *out) {
  Call call("zeDeviceGetModuleProperties");
  if (call.device(handle) < 0 || !isOfType(call, out, {0x5})) return kInvalidArgument;
  out->spirvVersionSupported = machine().options.arch == "old" ? 0x10000 : 0x10002,
  out->maxArgumentsSize = 2048;
  return 0;
}
EXPORT zeDeviceGetMemoryProperties(void *handle, uint32_t *count, MemoryProperties *out) {
  Call call("zeDeviceGetMemoryProperties");
  if (call.device(handle) < 0) return kInvalidArgument;
  if (!out || !*count) return *count = 1, 0;
  if (!isOfType(call, out, {0x7})) return kInvalidArgument;
  return out->totalSize = kDeviceBytes, 0;
}
EXPORT zeDeviceGetCommandQueueGroupProperties(void *handle, uint32_t *count, QueueGroupProperties *out) {
  Call call("zeDeviceGetCommandQueueGroupProperties");
  if (call.device(handle) < 0) return kInvalidArgument;
  if (!out || !*count) return *count = 2, 0;
  if (!isOfType(call, out, {0x6})) return kInvalidArgument;
  out[0].flags = 2, out[1].flags = 1 | 2; // a queue of copies, then one that computes
  out[0].numQueues = out[1].numQueues = 1;
  return 0;
}
EXPORT zeDevicePciGetPropertiesExt(void *handle, PciProperties *out) {
  Call call("zeDevicePciGetPropertiesExt");
  const int device = call.device(handle);
  if (device < 0 || !isOfType(call, out, {0x10008})) return kInvalidArgument;
  return out->bus = 0x3a + static_cast<uint32_t>(device), 0;
}
EXPORT zeDeviceCanAccessPeer(void *a, void *b, uint8_t *out) { return *out = a != b, 0; }
EXPORT zeDeviceGetStatus(void *handle) {
  Call call("zeDeviceGetStatus");
  const int device = call.device(handle);
  if (device < 0) return kInvalidArgument;
  for (const auto &context : everContexts)
    if (const int failure = context->devices[static_cast<size_t>(device)].failure) return failure;
  return 0;
}

// ---- Contexts and memory ----

EXPORT zeContextCreate(void *driver, const void *, void **out) {
  Call call("zeContextCreate");
  if (driver != &driverObject)
    return machine().breach("bad-handle", "zeContextCreate: not a driver"), kInvalidHandle;
  auto context = std::make_shared<ZeContext>();
  for (size_t i = 0; i < context->devices.size(); ++i) {
    context->devices[i].device = static_cast<int>(i);
    for (Context &peer : context->devices)
      context->devices[i].peers.push_back(&peer);
    machine().lasting.insert(&context->devices[i]);
  }
  everContexts.push_back(context);
  return *out = contexts.add(std::move(context)), 0;
}
EXPORT zeContextDestroy(void *handle) {
  Call call("zeContextDestroy");
  return contexts.remove(handle, call.name) ? 0 : kInvalidHandle;
}
EXPORT zeMemAllocDevice(void *handle, const Head *description, size_t bytes, size_t, void *deviceHandle,
                        void **out) {
  Call call("zeMemAllocDevice");
  const auto context = contexts.find(handle, call.name);
  const int device = call.device(deviceHandle);
  if (!context || device < 0 || !isOfType(call, description, {0x15})) return kInvalidHandle;
  if (bytes > uint64_t{4} << 30) return kUnsupportedSize;
  Context &own = context->devices[static_cast<size_t>(device)];
  if (own.failure) return own.failure;
  void *p = bytes > kDeviceBytes - machine().bytesInUse(device) ? nullptr : machine().allocate(own, bytes);
  if (p) *out = p;
  return p ? 0 : kOutOfDeviceMemory;
}
EXPORT zeMemAllocHost(void *handle, const Head *description, size_t bytes, size_t, void **out) {
  Call call("zeMemAllocHost");
  const auto context = contexts.find(handle, call.name);
  if (!context || !isOfType(call, description, {0x16})) return kInvalidHandle;
  void *p = machine().allocatePinned(context->devices[0], bytes);
  if (p) *out = p;
  return p ? 0 : kOutOfDeviceMemory;
}
EXPORT zeMemFree(void *handle, void *p) {
  Call call("zeMemFree");
  const auto context = contexts.find(handle, call.name);
  if (!context) return kInvalidHandle;
  Context *owner = machine().ownerOf(p);
  const bool isOwn = owner && owner >= context->devices.data() && owner < context->devices.data() + 16;
  return machine().release(isOwn ? *owner : context->devices[0], p, machine().isPinned(p), call.name)
             ? 0
             : kInvalidArgument;
}
