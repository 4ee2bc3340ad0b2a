// The part of CUDA's driver API that the plugin uses (CUDA driver API reference; unchanged since 11.8). The
// declarations are the plugin's own, so that it is built without CUDA.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tessera/gpu_cuda_like.hpp>

namespace tessera::ptx {

using Result = int; // CUresult
using CudaDevice = int;
using CudaAddress = unsigned long long; // CUdeviceptr
struct CudaContext;                     // what a CUcontext points to; the others likewise
struct CudaStream;
struct CudaEvent;
struct CudaModule;
struct CudaFunction;
struct CudaGraph;
struct CudaGraphExec;

namespace attribute { // CU_DEVICE_ATTRIBUTE_..., CU_FUNC_ATTRIBUTE_...
inline constexpr int kMaxThreads = 1, kMaxGridX = 5, kMultiprocessors = 16, kMajor = 75, kMinor = 76,
                     kSharedOptin = 97, kClusterLaunch = 120;
inline constexpr int kFunctionDynamicShared = 8, kFunctionNonPortableCluster = 14;
} // namespace attribute

namespace flag {
inline constexpr unsigned kHostPortableAndMapped = 3; // CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP
inline constexpr int kJitInfoLog = 3, kJitInfoLogBytes = 4, kJitErrorLog = 5,
                     kJitErrorLogBytes = 6; // CU_JIT_...
} // namespace flag

/// CUlaunchAttribute
struct alignas(8) LaunchAttribute {
  int id; // 4: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);
inline constexpr int kClusterDimension = 4;

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  CudaStream *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CALL(member, symbol, parameters) of each function; all of them return CUresult.
#define TESSERA_CUDA_CALLS(CALL)                                                                             \
  CALL(init, "cuInit", (unsigned))                                                                           \
  CALL(driverVersion, "cuDriverGetVersion", (int *))                                                         \
  CALL(errorName, "cuGetErrorName", (Result, const char **))                                                 \
  CALL(errorString, "cuGetErrorString", (Result, const char **))                                             \
  CALL(deviceCount, "cuDeviceGetCount", (int *))                                                             \
  CALL(deviceGet, "cuDeviceGet", (CudaDevice *, int))                                                        \
  CALL(deviceName, "cuDeviceGetName", (char *, int, CudaDevice))                                             \
  CALL(deviceMemory, "cuDeviceTotalMem_v2", (size_t *, CudaDevice))                                          \
  CALL(deviceAttribute, "cuDeviceGetAttribute", (int *, int, CudaDevice))                                    \
  CALL(devicePci, "cuDeviceGetPCIBusId", (char *, int, CudaDevice))                                          \
  CALL(deviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *, CudaDevice, CudaDevice))                        \
  CALL(contextRetain, "cuDevicePrimaryCtxRetain", (CudaContext **, CudaDevice))                              \
  CALL(contextRelease, "cuDevicePrimaryCtxRelease_v2", (CudaDevice))                                         \
  CALL(contextPush, "cuCtxPushCurrent_v2", (CudaContext *))                                                  \
  CALL(contextPop, "cuCtxPopCurrent_v2", (CudaContext **))                                                   \
  CALL(enablePeer, "cuCtxEnablePeerAccess", (CudaContext *, unsigned))                                       \
  CALL(memoryInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                                  \
  CALL(allocate, "cuMemAlloc_v2", (CudaAddress *, size_t))                                                   \
  CALL(release, "cuMemFree_v2", (CudaAddress))                                                               \
  CALL(allocateHost, "cuMemHostAlloc", (void **, size_t, unsigned))                                          \
  CALL(releaseHost, "cuMemFreeHost", (void *))                                                               \
  CALL(copy, "cuMemcpyAsync", (CudaAddress, CudaAddress, size_t, CudaStream *))                              \
  CALL(fill, "cuMemsetD8Async", (CudaAddress, unsigned char, size_t, CudaStream *))                          \
  CALL(streamCreate, "cuStreamCreate", (CudaStream **, unsigned))                                            \
  CALL(streamDestroy, "cuStreamDestroy_v2", (CudaStream *))                                                  \
  CALL(streamQuery, "cuStreamQuery", (CudaStream *))                                                         \
  CALL(streamSynchronize, "cuStreamSynchronize", (CudaStream *))                                             \
  CALL(streamWait, "cuStreamWaitEvent", (CudaStream *, CudaEvent *, unsigned))                               \
  CALL(streamIsCapturing, "cuStreamIsCapturing", (CudaStream *, int *))                                      \
  CALL(eventCreate, "cuEventCreate", (CudaEvent **, unsigned))                                               \
  CALL(eventDestroy, "cuEventDestroy_v2", (CudaEvent *))                                                     \
  CALL(eventRecord, "cuEventRecord", (CudaEvent *, CudaStream *))                                            \
  CALL(eventQuery, "cuEventQuery", (CudaEvent *))                                                            \
  CALL(eventSynchronize, "cuEventSynchronize", (CudaEvent *))                                                \
  CALL(eventElapsed, "cuEventElapsedTime", (float *, CudaEvent *, CudaEvent *))                              \
  CALL(moduleLoad, "cuModuleLoadDataEx", (CudaModule **, const void *, unsigned, int *, void **))            \
  CALL(moduleUnload, "cuModuleUnload", (CudaModule *))                                                       \
  CALL(moduleFunction, "cuModuleGetFunction", (CudaFunction **, CudaModule *, const char *))                 \
  CALL(functionAttribute, "cuFuncGetAttribute", (int *, int, CudaFunction *))                                \
  CALL(functionSet, "cuFuncSetAttribute", (CudaFunction *, int, int))                                        \
  CALL(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, CudaFunction *, int, size_t))       \
  CALL(launch, "cuLaunchKernelEx", (const LaunchConfig *, CudaFunction *, void **, void **))                 \
  CALL(captureBegin, "cuStreamBeginCapture_v2", (CudaStream *, int))                                         \
  CALL(captureEnd, "cuStreamEndCapture", (CudaStream *, CudaGraph **))                                       \
  CALL(graphInstantiate, "cuGraphInstantiateWithFlags", (CudaGraphExec **, CudaGraph *, unsigned long long)) \
  CALL(graphLaunch, "cuGraphLaunch", (CudaGraphExec *, CudaStream *))                                        \
  CALL(graphExecDestroy, "cuGraphExecDestroy", (CudaGraphExec *))                                            \
  CALL(graphDestroy, "cuGraphDestroy", (CudaGraph *))

/// The arguments of cuTensorMapEncodeTiled that are enumerators.
namespace tensor_map {
inline constexpr int kNoInterleave = 0, kPromote256Bytes = 3, kZerosOutside = 0;
/// CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32, 64; copies move bits.
constexpr int typeOf(uint32_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 4; }
/// CU_TENSOR_MAP_SWIZZLE_32B, 64B, 128B
constexpr int swizzleOf(uint32_t bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : 3; }
} // namespace tensor_map

struct CudaCalls {
#define CALL(member, symbol, parameters) DriverCall<Result parameters> member{symbol};
  TESSERA_CUDA_CALLS(CALL)
#undef CALL
  /// Since CUDA 12.0. Older drivers read no PTX that needs it.
  DriverCall<Result(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                    const uint32_t *, int, int, int, int)>
      encodeTensorMap{"cuTensorMapEncodeTiled"};
  /// Finds all of them.
  bool find(Driver &library) {
    (void)library.find(encodeTensorMap.function, "cuTensorMapEncodeTiled");
#define CALL(member, symbol, parameters) &&library.find(member.function, symbol)
    return true TESSERA_CUDA_CALLS(CALL);
#undef CALL
  }
};

} // namespace tessera::ptx
