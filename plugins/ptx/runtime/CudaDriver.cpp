#include "plugins/ptx/runtime/CudaDriver.h"
#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tessera::ptx {
namespace {

constexpr size_t kLogBytes = 8192;

/// The oldest driver that reads the PTX of an architecture ("+ptx84"). PTX ISA 8.0 to 8.5 came with CUDA 12.0
/// to 12.5, 8.6 and 8.7 with 12.7 and 12.8 (PTX ISA reference, release notes).
constexpr int driverFor(const GpuArchitecture &row) {
  int version = 0;
  forEachWord(row.features, [&](std::string_view word) {
    if (word.starts_with("+ptx"))
      for (const char digit : word.substr(4))
        version = version * 10 + (digit - '0');
    return version == 0;
  });
  return 12000 + (version - (version > 85 ? 79 : 80)) * 10;
}
static_assert(std::ranges::all_of(kArchitectures, [](const GpuArchitecture &row) {
  return driverFor(row) >= 12000 && driverFor(row) <= 12080;
}));

CudaAddress address(const void *p) { return reinterpret_cast<CudaAddress>(p); }

} // namespace

const GpuArchitecture *architectureFor(int major, int minor, int driver) {
  const GpuArchitecture *best = nullptr;
  for (const GpuArchitecture &row : kArchitectures) {
    const int own = major * 10 + minor, wanted = std::atoi(row.name.data() + 3);
    if (wanted > own) break;
    if (row.name.ends_with('a') && wanted != own) continue; // code of "sm_90a" is for 9.0 alone
    if (!best || driver >= driverFor(row)) best = &row;
  }
  return best;
}

/// Errors after which every call of the context fails (CUDA driver API reference, CUresult).
bool CudaTypes::isFatal(Result result) {
  return result == 46 /* DEVICE_UNAVAILABLE */ || result == 214 /* ECC_UNCORRECTABLE */ ||
         result == 220 /* NVLINK_UNCORRECTABLE */ || result == 226 /* CONTAINED */ ||
         result == 700 /* ILLEGAL_ADDRESS */ || result == 702 /* LAUNCH_TIMEOUT */ ||
         result == 709 /* CONTEXT_IS_DESTROYED */ || result == 710 /* ASSERT */ ||
         (result >= 714 && result <= 719) /* HARDWARE_STACK_ERROR to LAUNCH_FAILED */ ||
         result == 721 /* TENSOR_MEMORY_LEAK */ || result == 802 /* SYSTEM_NOT_READY */ || result == 999;
}

std::string CudaTypes::name(const CudaCalls &calls, Result result) {
  const char *out = nullptr;
  (void)calls.errorName(result, &out);
  return out ? out : "";
}
std::string CudaTypes::reason(const CudaCalls &calls, Result result) {
  const char *out = nullptr;
  (void)calls.errorString(result, &out);
  return out ? out : "";
}
std::string CudaTypes::versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Outcome CudaDriver::describeArchitecture(CudaDevice device, int driver, gpu::FoundArchitecture &out,
                                         GpuLimits &limits) {
  int major = 0, minor = 0, clusters = 0;
  Outcome o = call(calls_.deviceAttribute, &major, attribute::kMajor, device);
  if (!o.failed()) o = call(calls_.deviceAttribute, &minor, attribute::kMinor, device);
  if (o.failed()) return o;
  if (calls_.deviceAttribute(&clusters, attribute::kClusterLaunch, device)) clusters = 0; // an older driver
  limits.clusters = clusters;
  out.row.warpSize = 32;
  if (const GpuArchitecture *found = architectureFor(major, minor, driver)) out.row = *found;
  out.name = out.row.name.empty() ? "sm_" + std::to_string(major * 10 + minor) : std::string(out.row.name);
  out.capabilities =
      ", \"compute_capability\": \"" + std::to_string(major) + "." + std::to_string(minor) + "\"";
  return {};
}

// ---- Contexts and memory ----

Outcome CudaDriver::open(int number, Context &out) {
  if (Outcome o = device(number, out.device); o.failed()) return o;
  return call(calls_.contextRetain, &out.handle, out.device);
}
/// Never resets it, since the process's other users of the device share the primary context.
void CudaDriver::close(Context context) { (void)calls_.contextRelease(context.device); }
Outcome CudaDriver::enter(Context context) { return call(calls_.contextPush, context.handle); }
void CudaDriver::leave(Context) {
  CudaContext *popped = nullptr;
  (void)calls_.contextPop(&popped);
}

Outcome CudaDriver::allocate(Context, size_t bytes, void *&out) {
  CudaAddress block = 0;
  Outcome o = call(calls_.allocate, &block, bytes);
  if (!o.failed()) out = reinterpret_cast<void *>(block);
  return o;
}
void CudaDriver::release(Context, void *p) { (void)calls_.release(address(p)); }
Outcome CudaDriver::allocateHost(Context, size_t bytes, void *&out) {
  return call(calls_.allocateHost, &out, bytes, flag::kHostPortableAndMapped);
}
Outcome CudaDriver::enablePeer(Context context, Context peer) {
  return enablePeerBy(context, peer, [&] { return calls_.enablePeer(peer.handle, 0); });
}

// ---- Work ----

Outcome CudaDriver::copy(Context, Stream stream, void *dst, const void *src, size_t bytes) {
  return call(calls_.copy, address(dst), address(src), bytes, stream);
}
Outcome CudaDriver::fill(Context, Stream stream, void *dst, uint8_t byte, size_t bytes) {
  return call(calls_.fill, address(dst), byte, bytes, stream);
}

Outcome CudaDriver::loadModule(Context, const ModuleImage &image, Module &out) {
  std::string ptx; // which must end in a NUL
  const void *data = image.data;
  if (image.format == TSR_IMAGE_PTX) {
    ptx.assign(static_cast<const char *>(image.data), image.bytes);
    data = ptx.c_str();
  }
  std::string errors(kLogBytes, '\0'), infos(kLogBytes, '\0');
  int options[] = {flag::kJitErrorLog, flag::kJitErrorLogBytes, flag::kJitInfoLog, flag::kJitInfoLogBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(kLogBytes), infos.data(),
                    reinterpret_cast<void *>(kLogBytes)};
  Outcome o = call(calls_.moduleLoad, &out, data, unsigned{std::size(options)}, options, values);
  for (const std::string &log : {errors, infos})
    if (std::string_view text(log.c_str(), strnlen(log.data(), log.size())); o.failed() && !text.empty())
      o.text += "\n" + std::string(text.substr(0, text.find_last_not_of("\n ") + 1));
  return o;
}

Outcome CudaDriver::prepare(Context context, Function function, const KernelSpec &spec,
                            std::optional<int> &resident) {
  constexpr size_t kAlways = 48 << 10; // more must be asked for
  constexpr uint32_t kPortableCluster = 8;
  Outcome o;
  if (spec.dynamicSharedBytes > kAlways || spec.sharedBytes > kAlways)
    o = call(calls_.functionSet, function, attribute::kFunctionDynamicShared,
             static_cast<int>(spec.dynamicSharedBytes));
  if (!o.failed() && spec.cluster[0] * spec.cluster[1] * spec.cluster[2] > kPortableCluster)
    o = call(calls_.functionSet, function, attribute::kFunctionNonPortableCluster, 1);
  return o.failed() ? o : CudaLikeDriver::prepare(context, function, spec, resident);
}

Outcome CudaDriver::encodeTensorMap(const tsr_be_tensor_map_t &map, const TensorMapSizes &sizes, void *out) {
  if (!calls_.encodeTensorMap.function)
    return {TSR_UNIMPLEMENTED, "the driver has no cuTensorMapEncodeTiled, which came with CUDA 12.0"};
  static constexpr uint32_t dense[] = {1, 1, 1, 1, 1};
  return call(calls_.encodeTensorMap, out, tensor_map::typeOf(map.element_bytes), sizes.rank,
              reinterpret_cast<void *>(sizes.address), sizes.extents, sizes.strides + 1, sizes.box, dense,
              tensor_map::kNoInterleave, tensor_map::swizzleOf(map.swizzle), tensor_map::kPromote256Bytes,
              tensor_map::kZerosOutside);
}

Outcome CudaDriver::launch(Context, Stream stream, Function function, const GpuLaunch &launch) {
  LaunchAttribute cluster{};
  cluster.id = kClusterDimension;
  std::copy_n(launch.cluster, 3, cluster.value.cluster);
  LaunchConfig config{};
  std::copy_n(launch.grid, 3, config.grid);
  std::copy_n(launch.block, 3, config.block);
  config.sharedBytes = launch.dynamicShared;
  config.stream = stream;
  config.attributes = &cluster;
  config.attributeCount = launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  // Not as one buffer: the offsets of tensor maps in it are the assembler's, who aligns the addresses that
  // they get in constant memory (on sm_90 the parameters begin at 528, so that 48 is aligned to 64).
  std::vector<void *> values;
  values.reserve(launch.arguments.size());
  for (const tsr_be_argument_t &a : launch.arguments)
    values.push_back(const_cast<std::byte *>(launch.parameters.data() + a.offset));
  return call(calls_.launch, &config, function, values.data(), nullptr);
}

} // namespace tessera::ptx
