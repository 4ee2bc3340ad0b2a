// The part of Level Zero that the plugin uses (Level Zero specification 1.0 to 1.8, core). The declarations
// are the plugin's own, so that it is built without oneAPI.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tessera/driver.hpp>

namespace tessera::levelzero {

using Result = int;    // ze_result_t
using Handle = void *; // of any object

namespace result { // ZE_RESULT_...
inline constexpr Result kSuccess = 0, kNotReady = 1, kDeviceLost = 0x70000001, kOutOfHostMemory = 0x70000002,
                        kOutOfDeviceMemory = 0x70000003, kBuildFailure = 0x70000004,
                        kRequiresReset = 0x70000006, kUninitialized = 0x78000001,
                        kUnsupportedFeature = 0x78000003, kUnsupportedSize = 0x78000009,
                        kInvalidKernelName = 0x78000011;
}

namespace type { // ZE_STRUCTURE_TYPE_...
inline constexpr int kDeviceProperties = 3, kComputeProperties = 4, kModuleProperties = 5, kQueueGroup = 6,
                     kMemoryProperties = 7, kContext = 0xd, kQueue = 0xe, kList = 0xf, kEventPool = 0x10,
                     kEvent = 0x11, kDeviceMemory = 0x15, kHostMemory = 0x16, kModule = 0x1b, kKernel = 0x1d,
                     kKernelProperties = 0x1e, kPciProperties = 0x10008,
                     kDeviceProperties12 = 0x20006; // the resolution of timers is in cycles per second
} // namespace type

namespace flag {
inline constexpr uint32_t kGpuOnly = 1;         // ZE_INIT_FLAG_GPU_ONLY
inline constexpr int kTypeGpu = 1;              // ZE_DEVICE_TYPE_GPU
inline constexpr uint32_t kComputeQueue = 1;    // ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
inline constexpr int kAsynchronous = 2;         // ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
inline constexpr uint32_t kHostVisible = 1;     // ZE_EVENT_POOL_FLAG_HOST_VISIBLE
inline constexpr uint32_t kKernelTimestamp = 4; // ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
inline constexpr uint32_t kHostScope = 4;       // ZE_EVENT_SCOPE_FLAG_HOST
inline constexpr uint32_t kVersion12 = 0x10002; // ZE_MAKE_VERSION(1, 2)
} // namespace flag

/// What each of Level Zero's structs begins with.
struct Head {
  int type;
  const void *next;
};
/// An empty struct of its type.
template <class T> T ofType(int type) {
  T out{};
  out.type = type;
  return out;
}
struct DeviceProperties : Head { // ze_device_properties_t
  int kind;
  uint32_t vendorId, deviceId, flags, subdeviceId, coreClockRate;
  uint64_t maxAllocation;
  uint32_t maxHardwareContexts, maxQueuePriority, threadsPerUnit, simdWidth, unitsPerSubslice,
      subslicesPerSlice, slices;
  uint64_t timerResolution;
  uint32_t timestampBits, kernelTimestampBits;
  uint8_t uuid[16];
  char name[256];
};
static_assert(sizeof(DeviceProperties) == 368);
struct ComputeProperties : Head { // ze_device_compute_properties_t
  uint32_t maxGroup, maxGroupX, maxGroupY, maxGroupZ, maxCountX, maxCountY, maxCountZ, sharedBytes,
      subGroupSizeCount, subGroupSizes[8];
};
struct ModuleProperties : Head { // ze_device_module_properties_t
  uint32_t spirvVersion, flags, fp16, fp32, fp64, argumentBytes, printfBytes;
  uint8_t nativeKernels[16];
};
struct MemoryProperties : Head { // ze_device_memory_properties_t
  uint32_t flags, clockRate, busWidth;
  uint64_t bytes;
  char name[256];
};
struct QueueGroup : Head { // ze_command_queue_group_properties_t
  uint32_t flags;
  size_t maxFillPattern;
  uint32_t queues;
};
struct PciProperties : Head { // ze_pci_ext_properties_t
  uint32_t domain, bus, device, function;
  int32_t generation, width;
  int64_t bandwidth;
};
struct ContextDescription : Head { // ze_context_desc_t
  uint32_t flags;
};
struct DeviceMemory : Head { // ze_device_mem_alloc_desc_t
  uint32_t flags, ordinal;
};
struct HostMemory : Head { // ze_host_mem_alloc_desc_t
  uint32_t flags;
};
struct QueueDescription : Head { // ze_command_queue_desc_t
  uint32_t ordinal, index, flags;
  int mode, priority;
};
struct ListDescription : Head { // ze_command_list_desc_t
  uint32_t ordinal, flags;
};
struct PoolDescription : Head { // ze_event_pool_desc_t
  uint32_t flags, count;
};
struct EventDescription : Head { // ze_event_desc_t
  uint32_t index, signalScope, waitScope;
};
struct Timestamps { // ze_kernel_timestamp_result_t
  struct {
    uint64_t start, end;
  } global, context;
};
struct ModuleDescription : Head { // ze_module_desc_t
  int format;                     // 0: ZE_MODULE_FORMAT_IL_SPIRV
  size_t bytes;
  const void *image;
  const char *flags;
  const void *constants;
};
struct KernelDescription : Head { // ze_kernel_desc_t
  uint32_t flags;
  const char *name;
};
struct KernelProperties : Head { // ze_kernel_properties_t
  uint32_t arguments, groupX, groupY, groupZ, subGroups, subGroupSize, maxSubGroupSize, maxSubGroups,
      sharedBytes, privateBytes, spillBytes;
  uint8_t uuid[32];
};
struct GroupCount { // ze_group_count_t
  uint32_t x, y, z;
};

/// CALL(member, symbol, parameters) of each function; all of them return ze_result_t.
#define TESSERA_ZE_CALLS(CALL)                                                                               \
  CALL(init, "zeInit", (uint32_t))                                                                           \
  CALL(drivers, "zeDriverGet", (uint32_t *, Handle *))                                                       \
  CALL(apiVersion, "zeDriverGetApiVersion", (Handle, uint32_t *))                                            \
  CALL(devices, "zeDeviceGet", (Handle, uint32_t *, Handle *))                                               \
  CALL(deviceProperties, "zeDeviceGetProperties", (Handle, DeviceProperties *))                              \
  CALL(computeProperties, "zeDeviceGetComputeProperties", (Handle, ComputeProperties *))                     \
  CALL(moduleProperties, "zeDeviceGetModuleProperties", (Handle, ModuleProperties *))                        \
  CALL(memoryProperties, "zeDeviceGetMemoryProperties", (Handle, uint32_t *, MemoryProperties *))            \
  CALL(queueGroups, "zeDeviceGetCommandQueueGroupProperties", (Handle, uint32_t *, QueueGroup *))            \
  CALL(canAccessPeer, "zeDeviceCanAccessPeer", (Handle, Handle, uint8_t *))                                  \
  CALL(deviceStatus, "zeDeviceGetStatus", (Handle))                                                          \
  CALL(contextCreate, "zeContextCreate", (Handle, const ContextDescription *, Handle *))                     \
  CALL(contextDestroy, "zeContextDestroy", (Handle))                                                         \
  CALL(allocate, "zeMemAllocDevice", (Handle, const DeviceMemory *, size_t, size_t, Handle, void **))        \
  CALL(allocateHost, "zeMemAllocHost", (Handle, const HostMemory *, size_t, size_t, void **))                \
  CALL(release, "zeMemFree", (Handle, void *))                                                               \
  CALL(queueCreate, "zeCommandQueueCreate", (Handle, Handle, const QueueDescription *, Handle *))            \
  CALL(queueDestroy, "zeCommandQueueDestroy", (Handle))                                                      \
  CALL(execute, "zeCommandQueueExecuteCommandLists", (Handle, uint32_t, Handle *, Handle))                   \
  CALL(listCreate, "zeCommandListCreate", (Handle, Handle, const ListDescription *, Handle *))               \
  CALL(listClose, "zeCommandListClose", (Handle))                                                            \
  CALL(immediateCreate, "zeCommandListCreateImmediate",                                                      \
       (Handle, Handle, const QueueDescription *, Handle *))                                                 \
  CALL(listDestroy, "zeCommandListDestroy", (Handle))                                                        \
  CALL(copy, "zeCommandListAppendMemoryCopy",                                                                \
       (Handle, void *, const void *, size_t, Handle, uint32_t, Handle *))                                   \
  CALL(fill, "zeCommandListAppendMemoryFill",                                                                \
       (Handle, void *, const void *, size_t, size_t, Handle, uint32_t, Handle *))                           \
  CALL(launch, "zeCommandListAppendLaunchKernel",                                                            \
       (Handle, Handle, const GroupCount *, Handle, uint32_t, Handle *))                                     \
  CALL(barrier, "zeCommandListAppendBarrier", (Handle, Handle, uint32_t, Handle *))                          \
  CALL(resetInOrder, "zeCommandListAppendEventReset", (Handle, Handle))                                      \
  CALL(poolCreate, "zeEventPoolCreate", (Handle, const PoolDescription *, uint32_t, Handle *, Handle *))     \
  CALL(poolDestroy, "zeEventPoolDestroy", (Handle))                                                          \
  CALL(eventCreate, "zeEventCreate", (Handle, const EventDescription *, Handle *))                           \
  CALL(eventDestroy, "zeEventDestroy", (Handle))                                                             \
  CALL(eventSynchronize, "zeEventHostSynchronize", (Handle, uint64_t))                                       \
  CALL(eventQuery, "zeEventQueryStatus", (Handle))                                                           \
  CALL(eventReset, "zeEventHostReset", (Handle))                                                             \
  CALL(eventTimestamps, "zeEventQueryKernelTimestamp", (Handle, Timestamps *))                               \
  CALL(moduleCreate, "zeModuleCreate", (Handle, Handle, const ModuleDescription *, Handle *, Handle *))      \
  CALL(moduleDestroy, "zeModuleDestroy", (Handle))                                                           \
  CALL(logText, "zeModuleBuildLogGetString", (Handle, size_t *, char *))                                     \
  CALL(logDestroy, "zeModuleBuildLogDestroy", (Handle))                                                      \
  CALL(kernelCreate, "zeKernelCreate", (Handle, const KernelDescription *, Handle *))                        \
  CALL(kernelDestroy, "zeKernelDestroy", (Handle))                                                           \
  CALL(kernelProperties, "zeKernelGetProperties", (Handle, KernelProperties *))                              \
  CALL(setGroupSize, "zeKernelSetGroupSize", (Handle, uint32_t, uint32_t, uint32_t))                         \
  CALL(setArgument, "zeKernelSetArgumentValue", (Handle, uint32_t, size_t, const void *))

struct ZeCalls {
#define CALL(member, symbol, parameters) DriverCall<Result parameters> member{symbol};
  TESSERA_ZE_CALLS(CALL)
#undef CALL
  Result (*pciProperties)(Handle, PciProperties *) = nullptr; // an extension

  /// Finds all of them.
  bool find(Driver &library) {
    (void)library.has(pciProperties, "zeDevicePciGetPropertiesExt");
#define CALL(member, symbol, parameters) &&library.find(member.function, symbol)
    return true TESSERA_ZE_CALLS(CALL);
#undef CALL
  }
};

} // namespace tessera::levelzero
