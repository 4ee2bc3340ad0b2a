#include "core/objects/LibraryCalls.h"
#include "core/library/Blas.h"
#include "core/metadata/DescribeKernel.h"
#include "core/support/Fork.h"
#include <map>
#include <string_view>
#include <tessera/plugin.h>

namespace tessera {
namespace {

/// The description of a library call as a kernel.
struct Description {
  KernelMetadata metadata;
  LaunchPlan plan;
  std::string yaml;
};

std::mutex mutex;
[[maybe_unused]] auto &heldAcrossFork = *new HeldAcrossFork(mutex);
auto &known = *new std::map<std::string, Description>; // at most one entry per library call

const Description *describe(const GemmCall &call, std::string &why) {
  std::lock_guard lock(mutex);
  auto [it, isNew] = known.try_emplace(call.name());
  if (isNew) {
    it->second.metadata = call.metadata();
    it->second.yaml = it->second.metadata.toYaml();
    if (!LaunchPlan::make(it->second.metadata, it->second.plan, why)) return known.erase(it), nullptr;
  }
  return &it->second;
}

} // namespace

tsr_status_t libraryCall(ContextObject &context, const std::string &name, StepKernel &out, std::string &why) {
  const std::optional<GemmCall> call = GemmCall::parse(name);
  if (!call) {
    why = "this version knows no library call " + name + "; compile the source again";
    return TSR_UNIMPLEMENTED;
  }
  const std::string what = "the call " + name + " (matmul of " + tessera::name(call->dtype) + ")";
  if (std::string_view(context.backend->name()) != "cpu") {
    why = what + ": backend " + context.backend->name() + " calls no libraries";
    return TSR_UNIMPLEMENTED;
  }
  if (!findBlas(why)) {
    why = what + ": " + why + "\n  or compile with variant tile, which needs no library";
    return TSR_ENOTFOUND;
  }
  const Description *description = describe(*call, why);
  if (!description) return TSR_EINTERNAL;
  const tsr_be_host_kernel_t row = {name.c_str(), reinterpret_cast<const void *>(gemmEntry(*call))};
  auto module = context.device->loadModule({TSR_IMAGE_HOST_KERNELS, &row, sizeof row, name, nullptr}, why);
  if (!module) return TSR_EINVAL;
  KernelSpec spec = describeKernel(description->metadata, description->yaml, TSR_IMAGE_HOST_KERNELS);
  spec.name = name;
  out = {&description->metadata, &description->plan, module->getKernel(spec, why), kMaxBlasDim};
  return out.device ? TSR_SUCCESS : TSR_EINVAL;
}

} // namespace tessera
