#include "plugins/rocm/runtime/HipDriver.h"
#include <algorithm>
#include <cstring>
#include <vector>

namespace tessera::rocm {
namespace {

/// The devices that were current when the thread entered contexts, innermost last.
thread_local std::vector<int> entered;

} // namespace

std::string_view processorOf(std::string_view architecture) {
  return architecture.substr(0, architecture.find(':'));
}

/// Errors after which the process cannot use the device any more (HIP API reference, hipError_t).
bool HipTypes::isFatal(Result result) {
  return result == 214 /* ECCNotCorrectable */ || result == 700 /* IllegalAddress */ ||
         result == 702 /* LaunchTimeOut */ || result == 709 /* ContextIsDestroyed */ ||
         result == 710 /* Assert */ || result == 719 /* LaunchFailure */ || result == 999 /* Unknown */ ||
         result == 1053 /* RuntimeOther */;
}
std::string HipTypes::name(const HipCalls &calls, Result result) {
  const char *out = calls.errorName(result);
  return out ? out : "";
}
std::string HipTypes::reason(const HipCalls &calls, Result result) {
  const char *out = calls.errorString(result);
  return out ? out : "";
}
/// hipRuntimeGetVersion: major * 10,000,000 + minor * 100,000 + patch.
std::string HipTypes::versionText(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100) + "." +
         std::to_string(version % 100'000);
}

Outcome HipDriver::describeArchitecture(int device, int, gpu::FoundArchitecture &out, GpuLimits &) {
  alignas(8) char properties[kPropertiesBytes] = {};
  if (Outcome o = outcome(calls_.properties(properties, device), "hipGetDeviceProperties"); o.failed())
    return o;
  const char *text = properties + calls_.architectureOffset;
  const std::string_view full(text, strnlen(text, kArchitectureBytes)), own = processorOf(full);
  if (!own.starts_with("gfx"))
    return {TSR_EDEVICE, "hipGetDeviceProperties names no architecture; this ROCm is not known"};
  out.row.warpSize = 64;
  const auto *found = std::ranges::find(kArchitectures, own, &GpuArchitecture::name);
  if (found != std::end(kArchitectures)) out.row = *found;
  out.name = own;
  out.capabilities = ", \"gcn_arch\": " + quoted(full);
  return {};
}

// ---- Contexts ----

Outcome HipDriver::open(int number, Context &out) {
  out.device = number;
  if (Outcome o = enter(out); o.failed()) return o;
  uint64_t free = 0, total = 0;
  Outcome o = memory(out, free, total); // which fails if the process has lost the device
  leave(out);
  return o;
}
Outcome HipDriver::enter(Context context) {
  int before = 0;
  Outcome o = call(calls_.getDevice, &before);
  if (!o.failed() && before != context.device) o = call(calls_.setDevice, context.device);
  if (!o.failed()) entered.push_back(before);
  return o;
}
void HipDriver::leave(Context context) {
  const int before = entered.back();
  entered.pop_back();
  if (before != context.device) (void)calls_.setDevice(before);
}

// ---- Code ----

Outcome HipDriver::loadModule(Context, const ModuleImage &image, Module &out) {
  constexpr int kInvalidImage = 200, kNoBinaryForGpu = 209, kInvalidKernelFile = 218;
  const Result result = calls_.moduleLoad(&out, image.data);
  Outcome o = outcome(result, calls_.moduleLoad.name());
  if (result == kInvalidImage || result == kNoBinaryForGpu || result == kInvalidKernelFile)
    o.text += " (the code object is of version 5, which ROCm 5.7 and newer load, and of one architecture)";
  return o;
}

Outcome HipDriver::launch(Context, Stream stream, Function function, const GpuLaunch &launch) {
  size_t bytes = launch.parameters.size();
  void *extra[] = {kParameterBuffer, const_cast<std::byte *>(launch.parameters.data()), kParameterBytes,
                   &bytes, kParameterEnd};
  void **separate = nullptr, **buffer = extra;
  const auto &grid = launch.grid, &block = launch.block;
  return call(calls_.launch, function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
              launch.dynamicShared, stream, separate, buffer);
}

} // namespace tessera::rocm
