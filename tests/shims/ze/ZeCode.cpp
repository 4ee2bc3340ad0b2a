// libze_loader.so.1 without a GPU: modules and kernels.
#include "tests/shims/ze/Spirv.h"
#include "tests/shims/ze/Ze.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

using namespace tessera::shim;

namespace {
/// From Intel's documents, not from the table of the plugin under test.
ShimDevice shimDevice() {
  tessera::GpuArchitecture row{};
  row.name = "pvc", row.threads = 256, row.warpSize = 16, row.staticShared = row.maxShared = 128 << 10;
  return {"levelzero", row};
}
struct KernelProperties : Head {
  uint32_t numKernelArgs, requiredGroupSize[3], requiredNumSubGroups, requiredSubgroupSize, maxSubgroupSize,
      maxNumSubgroups, localMemSize, privateMemSize, spillMemSize;
  uint8_t uuid[32];
};
struct ModuleDescription : Head {
  int format;
  size_t inputSize;
  const char *pInputModule, *pBuildFlags;
  const void *pConstants;
};
struct KernelDescription : Head {
  uint32_t flags;
  const char *pKernelName;
};
} // namespace

EXPORT zeModuleCreate(void *handle, void *deviceHandle, const ModuleDescription *description, void **out,
                      void **logOut) {
  Call call("zeModuleCreate");
  const auto context = contexts.find(handle, call.name);
  const int device = call.device(deviceHandle);
  if (!context || device < 0 || !isOfType(call, description, {0x1b})) return kInvalidHandle;
  Context &own = context->devices[static_cast<size_t>(device)];
  if (own.failure) return own.failure;
  auto log = std::make_shared<Log>();
  auto finish = [&](int result, const std::string &text) {
    log->text = text;
    if (logOut) *logOut = logs.add(log);
    return result;
  };
  if (description->format != 0) return finish(kInvalidNativeBinary, "the shim reads SPIR-V only");
  SpirvModule code;
  std::string why;
  const std::string_view image(description->pInputModule, description->inputSize);
  if (!readSpirv(image, code, why)) return finish(kBuildFailure, "error: " + why);
  if (!machine().options.jit) return finish(kBuildFailure, "error: undefined reference to `planted'\n");
  if (code.version > 0x10200) return finish(kBuildFailure, "error: SPIR-V newer than 1.2");
  auto module = std::make_shared<ZeModule>();
  std::istringstream flags(description->pBuildFlags ? description->pBuildFlags : "");
  bool isRounding = false; // without the option, division and square roots of f32 are inexact
  for (std::string flag; flags >> flag;) {
    if (flag == "-ze-fp32-correctly-rounded-divide-sqrt")
      isRounding = true;
    else if (flag == "-ze-opt-large-register-file")
      module->isLarge = true;
    else
      return finish(kBuildFailure, "error: unknown option " + flag);
  }
  if (!isRounding)
    machine().breach("rounding", "a module is built without correct rounding of divisions and square roots");
  module->context = &own, module->kernels = std::move(code.kernels);
  if (!loadCode(*module, shimDevice(), image, why)) return finish(kBuildFailure, why);
  *out = modules.add(std::move(module));
  return finish(0, "");
}
EXPORT zeModuleDestroy(void *handle) {
  Call call("zeModuleDestroy");
  const auto module = modules.remove(handle, call.name);
  if (!module) return kInvalidHandle;
  module->isUnloaded = true;
  if (isInUse(*module->uses) && !module->context->failure)
    machine().breach("unload-in-use", "zeModuleDestroy of code that queued launches use");
  return 0;
}
EXPORT zeModuleBuildLogGetString(void *handle, size_t *bytes, char *out) {
  Call call("zeModuleBuildLogGetString");
  const auto log = logs.find(handle, call.name);
  if (!log) return kInvalidHandle;
  if (!out) return *bytes = log->text.size() + 1, 0;
  return std::snprintf(out, *bytes, "%s", log->text.c_str()), 0;
}
EXPORT zeModuleBuildLogDestroy(void *handle) {
  Call call("zeModuleBuildLogDestroy");
  return logs.remove(handle, call.name) ? 0 : kInvalidHandle;
}
EXPORT zeKernelCreate(void *handle, const KernelDescription *description, void **out) {
  Call call("zeKernelCreate");
  const auto module = modules.find(handle, call.name);
  if (!module || !isOfType(call, description, {0x1d})) return kInvalidHandle;
  const auto kernel = std::ranges::find(module->kernels, description->pKernelName, &OwnKernel::name);
  if (kernel == module->kernels.end()) return kInvalidKernelName;
  if (const auto lanes = static_cast<uint32_t>(shimDevice().row.warpSize);
      kernel->subGroup && kernel->subGroup != lanes) // it would run as another program
    return machine().breach("sub-group", "kernel " + kernel->name + " has sub-groups of " +
                                             std::to_string(kernel->subGroup) +
                                             " lanes, its emulated image of " + std::to_string(lanes)),
           kInvalidArgument;
  const uint64_t room = sharedBytes() - std::min(kernel->staticShared, sharedBytes());
  return *out = kernels.add(std::make_shared<Kernel>(Kernel{{module, *kernel, room}, {}, {}, 0, {}})), 0;
}
EXPORT zeKernelDestroy(void *handle) {
  Call call("zeKernelDestroy");
  const auto kernel = kernels.remove(handle, call.name);
  if (kernel) (void)isUnloaded(kernel->function, call.name); // kernels are destroyed before their module
  return kernel ? 0 : kInvalidHandle;
}
EXPORT zeKernelGetProperties(void *handle, KernelProperties *out) {
  Call call("zeKernelGetProperties");
  const auto kernel = kernels.find(handle, call.name);
  if (!kernel || !isOfType(call, out, {0x1e})) return kInvalidHandle;
  const OwnKernel &own = kernel->function.kernel;
  out->numKernelArgs = static_cast<uint32_t>(own.parameters.size()) + own.hasDynamicShared;
  std::copy_n(own.block, 3, out->requiredGroupSize);
  out->requiredSubgroupSize = own.subGroup, out->maxSubgroupSize = 32;
  out->localMemSize = static_cast<uint32_t>(own.staticShared);
  if (!static_cast<const ZeModule &>(*kernel->function.module).isLarge)
    out->spillMemSize = static_cast<uint32_t>(machine().options.spills);
  return 0;
}
EXPORT zeKernelSetGroupSize(void *handle, uint32_t x, uint32_t y, uint32_t z) {
  Call call("zeKernelSetGroupSize");
  const auto kernel = kernels.find(handle, call.name);
  if (!kernel) return kInvalidHandle;
  if (uint64_t{x} * y * z == 0 || uint64_t{x} * y * z > 1024) return kInvalidGroupSize;
  return kernel->block = {x, y, z}, 0;
}
EXPORT zeKernelSetArgumentValue(void *handle, uint32_t index, size_t bytes, const void *value) {
  Call call("zeKernelSetArgumentValue");
  const auto kernel = kernels.find(handle, call.name);
  if (!kernel) return kInvalidHandle;
  const OwnKernel &own = kernel->function.kernel;
  auto breach = [&](const char *rule, const std::string &text, int result) {
    return machine().breach(rule, "kernel " + own.name + ": argument " + std::to_string(index) + text),
           result;
  };
  const bool isLocal = own.hasDynamicShared && index == own.parameters.size();
  if (isLocal) { // memory of the group: its size and no value
    if (value || !bytes)
      return breach("parameters", " is memory of the group and gets a value", kInvalidArgument);
    return kernel->dynamicShared = static_cast<uint32_t>(bytes), 0;
  }
  if (index >= own.parameters.size()) return breach("parameters", " does not exist", kInvalidArgumentIndex);
  if (bytes != own.parameters[index].bytes)
    return breach("parameters", " gets " + std::to_string(bytes) + " bytes", kInvalidArgumentSize);
  if (kernel->setBy != std::thread::id() && kernel->setBy != std::this_thread::get_id())
    return breach("threads", " is set while another thread prepares a launch", kInvalidArgument);
  kernel->setBy = std::this_thread::get_id();
  auto &kept = kernel->arguments[index];
  kept.assign(bytes, 0);
  if (value) std::memcpy(kept.data(), value, bytes);
  return 0;
}
