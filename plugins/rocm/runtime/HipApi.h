// The part of HIP's runtime and module interfaces that the plugin uses (HIP API reference; the same in 5.7 to
// 7). The declarations are the plugin's own, so that it is built without ROCm.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tessera/gpu_cuda_like.hpp>

namespace tessera::rocm {

using Result = int; // hipError_t
struct HipStream;   // what a hipStream_t points to; the others likewise
struct HipEvent;
struct HipModule;
struct HipFunction;
struct HipGraph;
struct HipGraphExec;

namespace attribute { // hipDeviceAttribute...
inline constexpr int kMaxGridX = 29, kMaxThreads = 56, kMultiprocessors = 63, kShared = 74;
} // namespace attribute

namespace flag {
inline constexpr unsigned kHostPortableAndMapped = 3; // hipHostMallocPortable | hipHostMallocMapped
inline constexpr int kCopyDefault = 4;                // hipMemcpyDefault: addresses say where they are
} // namespace flag

/// The name of the architecture is in hipDeviceProp_t, whose layout changed with ROCm 6. The two layouts have
/// functions of their own; each is frozen.
inline constexpr size_t kArchitectureOffset = 1160,    // hipGetDevicePropertiesR0600
    kOldArchitectureOffset = 396,                      // hipGetDeviceProperties of ROCm 5
    kArchitectureBytes = 256, kPropertiesBytes = 4096; // more than either has

/// What precedes the values in the last argument of hipModuleLaunchKernel.
inline void *const kParameterBuffer = reinterpret_cast<void *>(1);
inline void *const kParameterBytes = reinterpret_cast<void *>(2);
inline void *const kParameterEnd = reinterpret_cast<void *>(3);

/// CALL(member, symbol, parameters) of each function; all of them return hipError_t.
#define TESSERA_HIP_CALLS(CALL)                                                                              \
  CALL(init, "hipInit", (unsigned))                                                                          \
  CALL(driverVersion, "hipRuntimeGetVersion", (int *))                                                       \
  CALL(deviceCount, "hipGetDeviceCount", (int *))                                                            \
  CALL(deviceName, "hipDeviceGetName", (char *, int, int))                                                   \
  CALL(deviceMemory, "hipDeviceTotalMem", (size_t *, int))                                                   \
  CALL(deviceAttribute, "hipDeviceGetAttribute", (int *, int, int))                                          \
  CALL(devicePci, "hipDeviceGetPCIBusId", (char *, int, int))                                                \
  CALL(deviceCanAccessPeer, "hipDeviceCanAccessPeer", (int *, int, int))                                     \
  CALL(getDevice, "hipGetDevice", (int *))                                                                   \
  CALL(setDevice, "hipSetDevice", (int))                                                                     \
  CALL(enablePeer, "hipDeviceEnablePeerAccess", (int, unsigned))                                             \
  CALL(memoryInfo, "hipMemGetInfo", (size_t *, size_t *))                                                    \
  CALL(allocate, "hipMalloc", (void **, size_t))                                                             \
  CALL(release, "hipFree", (void *))                                                                         \
  CALL(allocateHost, "hipHostMalloc", (void **, size_t, unsigned))                                           \
  CALL(releaseHost, "hipHostFree", (void *))                                                                 \
  CALL(copy, "hipMemcpyAsync", (void *, const void *, size_t, int, HipStream *))                             \
  CALL(fill, "hipMemsetAsync", (void *, int, size_t, HipStream *))                                           \
  CALL(streamCreate, "hipStreamCreateWithFlags", (HipStream **, unsigned))                                   \
  CALL(streamDestroy, "hipStreamDestroy", (HipStream *))                                                     \
  CALL(streamQuery, "hipStreamQuery", (HipStream *))                                                         \
  CALL(streamSynchronize, "hipStreamSynchronize", (HipStream *))                                             \
  CALL(streamWait, "hipStreamWaitEvent", (HipStream *, HipEvent *, unsigned))                                \
  CALL(streamIsCapturing, "hipStreamIsCapturing", (HipStream *, int *))                                      \
  CALL(eventCreate, "hipEventCreateWithFlags", (HipEvent **, unsigned))                                      \
  CALL(eventDestroy, "hipEventDestroy", (HipEvent *))                                                        \
  CALL(eventRecord, "hipEventRecord", (HipEvent *, HipStream *))                                             \
  CALL(eventQuery, "hipEventQuery", (HipEvent *))                                                            \
  CALL(eventSynchronize, "hipEventSynchronize", (HipEvent *))                                                \
  CALL(eventElapsed, "hipEventElapsedTime", (float *, HipEvent *, HipEvent *))                               \
  CALL(moduleLoad, "hipModuleLoadData", (HipModule **, const void *))                                        \
  CALL(moduleUnload, "hipModuleUnload", (HipModule *))                                                       \
  CALL(moduleFunction, "hipModuleGetFunction", (HipFunction **, HipModule *, const char *))                  \
  CALL(functionAttribute, "hipFuncGetAttribute", (int *, int, HipFunction *))                                \
  CALL(occupancy, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", (int *, HipFunction *, int, size_t)) \
  CALL(launch, "hipModuleLaunchKernel",                                                                      \
       (HipFunction *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, HipStream *,    \
        void **, void **))                                                                                   \
  CALL(captureBegin, "hipStreamBeginCapture", (HipStream *, int))                                            \
  CALL(captureEnd, "hipStreamEndCapture", (HipStream *, HipGraph **))                                        \
  CALL(graphInstantiate, "hipGraphInstantiateWithFlags", (HipGraphExec **, HipGraph *, unsigned long long))  \
  CALL(graphLaunch, "hipGraphLaunch", (HipGraphExec *, HipStream *))                                         \
  CALL(graphExecDestroy, "hipGraphExecDestroy", (HipGraphExec *))                                            \
  CALL(graphDestroy, "hipGraphDestroy", (HipGraph *))

struct HipCalls {
#define CALL(member, symbol, parameters) DriverCall<Result parameters> member{symbol};
  TESSERA_HIP_CALLS(CALL)
#undef CALL
  const char *(*errorName)(Result) = nullptr;
  const char *(*errorString)(Result) = nullptr;
  Result (*properties)(void *, int) = nullptr;
  size_t architectureOffset = 0; // in the properties

  /// Finds all of them.
  bool find(Driver &library) {
#define CALL(member, symbol, parameters) &&library.find(member.function, symbol)
    const bool isComplete = library.find(errorName, "hipGetErrorName") &&
                            library.find(errorString, "hipGetErrorString") TESSERA_HIP_CALLS(CALL);
#undef CALL
    if (!isComplete) return false;
    const bool isNew = library.has(properties, "hipGetDevicePropertiesR0600");
    architectureOffset = isNew ? kArchitectureOffset : kOldArchitectureOffset;
    return isNew || library.find(properties, "hipGetDeviceProperties");
  }
};

} // namespace tessera::rocm
