// Modules and kernels of Level Zero.
#include "plugins/levelzero/runtime/ZeObjects.h"

namespace tessera::levelzero {
namespace {

/// Otherwise f32 divides and takes roots as inexactly as OpenCL permits.
constexpr std::string_view kFlags = "-ze-fp32-correctly-rounded-divide-sqrt";
/// Twice the registers for each thread of the hardware, of which a core has half as many.
constexpr std::string_view kLargeFlag = " -ze-opt-large-register-file";

} // namespace

Outcome ZeDriver::build(Context context, const std::string &image, const std::string &flags, Handle &out) {
  const ModuleDescription description{
      {type::kModule, nullptr}, 0, image.size(), image.data(), flags.c_str(), nullptr};
  Handle log = nullptr;
  Outcome o = call(calls_.moduleCreate, context->handle, context->device.device, &description, &out, &log);
  if (!log) return o;
  size_t bytes = 0;
  if (o.failed() && calls_.logText(log, &bytes, nullptr) == result::kSuccess && bytes > 1) {
    std::string text(bytes, '\0');
    if (calls_.logText(log, &bytes, text.data()) == result::kSuccess)
      o.text += "\n" + std::string(text.c_str());
    o.text.erase(o.text.find_last_not_of("\n ") + 1);
  }
  (void)calls_.logDestroy(log);
  return o;
}
Outcome ZeDriver::loadModule(Context context, const ModuleImage &image, Module &out) {
  auto module = std::make_unique<ZeModule>();
  module->image.assign(static_cast<const char *>(image.data), image.bytes);
  Outcome o = build(context, module->image, std::string(kFlags), module->handle);
  if (!o.failed()) out = module.release();
  return o;
}
void ZeDriver::unloadModule(Context, Module module) {
  for (auto &[name, kernel] : module->kernels)
    (void)calls_.kernelDestroy(kernel.handle);
  (void)calls_.moduleDestroy(module->handle);
  if (module->large) (void)calls_.moduleDestroy(module->large);
  delete module;
}

Outcome ZeDriver::createKernel(Handle module, const std::string &name, Handle &out,
                               KernelProperties &properties) {
  const KernelDescription description{{type::kKernel, nullptr}, 0, name.c_str()};
  if (Outcome o = call(calls_.kernelCreate, module, &description, &out); o.failed())
    return o.status == TSR_ENOTFOUND ? Outcome{TSR_EINVAL, "the image has no kernel " + name} : o;
  properties = ofType<KernelProperties>(type::kKernelProperties);
  Outcome o = call(calls_.kernelProperties, out, &properties);
  if (o.failed()) (void)calls_.kernelDestroy(out);
  return o;
}
/// A kernel that spills registers is built again with the large register file, and kept if that helps. Half
/// as many of its threads run at once, so a group must be at most half as large as the device's largest.
void ZeDriver::avoidSpills(Context context, Module module, const std::string &name, Handle &handle,
                           KernelProperties &properties) {
  const uint64_t threads = uint64_t{properties.groupX} * properties.groupY * properties.groupZ;
  if (!properties.spillBytes || !threads || threads > context->device.largestGroup / 2) return;
  if (!module->large &&
      build(context, module->image, std::string(kFlags) + std::string(kLargeFlag), module->large).failed())
    return; // what was built works
  Handle large = nullptr;
  KernelProperties ofLarge{};
  if (createKernel(module->large, name, large, ofLarge).failed()) return;
  const bool isBetter = ofLarge.spillBytes < properties.spillBytes;
  if (isBetter) std::swap(handle, large), properties = ofLarge;
  (void)calls_.kernelDestroy(large);
}
Outcome ZeDriver::function(Context context, Module module, const std::string &name, Function &out,
                           GpuFunctionInfo &info) {
  std::lock_guard lock(module->mutex);
  auto found = module->kernels.find(name);
  if (found == module->kernels.end()) {
    Handle handle = nullptr;
    KernelProperties properties{};
    if (Outcome o = createKernel(module->handle, name, handle, properties); o.failed()) return o;
    avoidSpills(context, module, name, handle, properties);
    found = module->kernels.try_emplace(name).first;
    found->second.handle = handle, found->second.properties = properties;
  }
  const KernelProperties &p = found->second.properties;
  out = &found->second;
  info.maxThreads = p.groupX * p.groupY * p.groupZ; // 0: the kernel does not say
  info.staticShared = p.sharedBytes;
  return {};
}
/// Dynamic shared memory is a parameter after all others, a pointer to memory of the group.
Outcome ZeDriver::prepare(Context, Function kernel, const KernelSpec &spec, std::optional<int> &) {
  const uint32_t expected = spec.valueCount + (spec.workspaceBytes ? 1 : 0) + 1;
  if (!spec.dynamicSharedBytes || kernel->properties.arguments == expected) return {};
  return {TSR_EINVAL, "it needs " + std::to_string(expected) +
                          " parameters, the last for its dynamic shared memory, and has " +
                          std::to_string(kernel->properties.arguments)};
}

} // namespace tessera::levelzero
