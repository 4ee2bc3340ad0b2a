#include "core/objects/LoadBundle.h"
#include "core/log/LastError.h"
#include "core/log/Log.h"
#include "core/metadata/KernelMetadata.h"
#include "core/service/CompilerLoader.h"
#include "core/support/HostCpu.h"
#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

tsr_status_t refuse(tsr_status_t status, const BundleError &error) { return fail(status, error.text()); }

/// What precedes the last colon: "P" of "P:ARCH", "P:emulated" of "P:emulated:ARCH".
std::string backendOf(const std::string &target) { return target.substr(0, target.rfind(':')); }

bool isCpu(const ContextObject &context) { return std::string_view(context.backend->name()) == "cpu"; }

using Targets = std::vector<std::string>;

/// The targets whose images a GPU runs, preferred first: its own architecture's, then those that its plugin
/// names in its capabilities. Of the CPU there are none: features decide.
Targets imageTargets(const ContextObject &context) {
  if (isCpu(context)) return {};
  const DeviceInfo &info = context.device->info();
  Targets all = {info.arch};
  const auto capabilities = nlohmann::json::parse(info.capabilities, nullptr, /*allow_exceptions=*/false);
  if (capabilities.is_object() && capabilities.contains("other_images"))
    for (const nlohmann::json &target : capabilities["other_images"])
      if (target.is_string()) all.push_back(target);
  return all;
}

/// Returns why the device cannot run the image; an empty text means that it can.
std::string obstacle(const BundleImage &image, const ContextObject &context, const Targets &targets) {
  const char *backend = context.backend->name();
  if (backendOf(image.target) != backend) return "not of backend " + std::string(backend);
  if (!isCpu(context))
    return std::ranges::count(targets, image.target) ? "" : "the device is " + context.device->info().arch;
  return obstacleTo(image.features);
}

/// Ranks the images that can run: the larger value is better.
int rank(const BundleImage &image, const ContextObject &context, const Targets &targets) {
  if (!isCpu(context)) return static_cast<int>(targets.end() - std::ranges::find(targets, image.target));
  std::string_view name = std::string_view(image.target).substr(backendOf(image.target).size() + 1);
  return name == hostCpuName() ? INT_MAX : static_cast<int>(image.features.size());
}

const BundleImage *choose(const Bundle &bundle, const ContextObject &context) {
  const Targets targets = imageTargets(context);
  const BundleImage *best = nullptr;
  for (const BundleImage &image : bundle.images)
    if (obstacle(image, context, targets).empty() &&
        (!best || rank(image, context, targets) > rank(*best, context, targets)))
      best = &image;
  return best;
}

/// Reports images that the processor could run if the system had not refused the state that they need.
void noteRefusedState(const Bundle &bundle, const ContextObject &context) {
  if (!isCpu(context)) return;
  for (const BundleImage &image : bundle.images)
    if (std::string why = refusalOf(image.features); !why.empty())
      logOnce(TSR_LOG_WARNING, "W_CPU_STATE", "code for " + image.target + " is not used: " + why);
}

/// The metadata document with one more fallback; as it is, if it cannot be read (makeKernel reports that).
std::string withFallback(std::string document, const std::string &fallback) {
  KernelMetadata metadata;
  std::string why;
  if (fallback.empty() || !KernelMetadata::fromYaml(document, metadata, why)) return document;
  metadata.fallbacks.push_back(fallback);
  return metadata.toYaml();
}

/// Appends the image's entries, resolved and ready to run. The kernels report `fallback`, if there is one.
tsr_status_t open(const BundleImage &image, const ContextObject &context, const std::string &name,
                  std::vector<CompiledKernel> &out, const std::string &fallback = "") {
  if (isCpu(context) && image.format != ImageFormat::Elf)
    return refuse(TSR_UNIMPLEMENTED,
                  {"E_UNIMPLEMENTED",
                   name + ": TSR_UNIMPLEMENTED: backend cpu loads no images of format " +
                       tessera::name(image.format) + ", which is for backend " + backendOf(image.target),
                   ""});
  const std::string origin = name + ": image for " + image.target;
  std::string why;
  auto module = context.device->loadModule(
      {contractValue(image.format), image.data.data(), image.data.size(), name, nullptr}, why);
  if (!module) return refuse(TSR_EINVAL, {"E_IMAGE_LOAD", origin + ": " + why, ""});
  for (const BundleEntry &entry : image.entries) {
    CompiledKernel kernel;
    kernel.metadata = withFallback(entry.metadata, fallback);
    kernel.kind = entry.kind;
    kernel.module = module;
    kernel.format = contractValue(image.format);
    kernel.symbol = entry.name;
    kernel.origin = origin;
    out.push_back(std::move(kernel));
  }
  return TSR_SUCCESS;
}

tsr_status_t openBest(const Bundle &bundle, const ContextObject &context, const std::string &name,
                      std::vector<CompiledKernel> &out, bool &found) {
  noteRefusedState(bundle, context);
  const BundleImage *best = choose(bundle, context);
  found = best != nullptr;
  if (!best) return TSR_SUCCESS;
  std::string fallback;
  if (const std::string &arch = context.device->info().arch; !isCpu(context) && best->target != arch)
    fallback = name + ": no image for " + arch + "; that for " + best->target + " runs";
  for (const BundleImage &image : bundle.images)
    if (image.target == best->target)
      if (tsr_status_t status = open(image, context, name, out, fallback)) return status;
  return TSR_SUCCESS;
}

BundleError noImage(const Bundle &bundle, const ContextObject &context, const std::string &name,
                    const std::string &compilerWhy) {
  const Targets targets = imageTargets(context);
  std::string held;
  for (const BundleImage &image : bundle.images)
    held += (held.empty() ? "" : ", ") + image.target + " (" + obstacle(image, context, targets) + ")";
  std::string device = isCpu(context) ? hostCpuTarget() : "";
  for (const std::string &target : targets)
    device += (device.empty() ? "" : " or ") + target;
  return {"E_BUNDLE_NO_IMAGE",
          name + ": no image for " + device + "; it holds " + (held.empty() ? "none" : held) +
              (bundle.ir.empty() ? " and no IR" : ", and its IR cannot be compiled: " + compilerWhy),
          "compile with --target " + std::string(context.backend->name()) + ":..., or --embed-ir graph"};
}

/// Compiles the bundle's IR for this machine, starting from the most general level stored for each entry.
tsr_status_t openFromIr(const Bundle &bundle, const ContextObject &context, const std::string &name, Log log,
                        std::vector<CompiledKernel> &out) {
  if (bundle.ir.empty()) return refuse(TSR_ENOTFOUND, noImage(bundle, context, name, ""));
  if (auto compiler = loadCompiler(); !compiler)
    return refuse(TSR_ENOTFOUND, noImage(bundle, context, name, compiler.error().message));
  for (const BundleIr &ir : bundle.ir) {
    bool better = std::any_of(bundle.ir.begin(), bundle.ir.end(), [&](const BundleIr &other) {
      return other.entry == ir.entry && other.level == "graph" && ir.level != "graph";
    });
    if (better) continue;
    CompileOptions options;
    options.fileName = bundle.sourceName;
    options.kernels = {ir.entry};
    options.targets = {context.device->info().arch};
    options.isIr = true;
    std::string bytes;
    if (tsr_status_t status = compileSource(ir.text, options, log, bytes)) return status;
    Bundle made;
    BundleError error;
    if (!readBundle(bytes, name, made, error)) return refuse(TSR_EINTERNAL, error);
    bool found = false;
    if (tsr_status_t status = openBest(made, context, name, out, found)) return status;
    if (!found) return refuse(TSR_EINTERNAL, noImage(made, context, name, ""));
  }
  return TSR_SUCCESS;
}

tsr_status_t create(tsr_context_t handle, std::vector<CompiledKernel> kernels, Log log,
                    tsr_module_t *module) {
  if (tsr_status_t status = createModule(handle, std::move(kernels), module)) return status;
  noteFallbacks(*module, log);
  return TSR_SUCCESS;
}

} // namespace

tsr_status_t loadBundle(tsr_context_t handle, std::string_view bytes, const std::string &name, Log log,
                        tsr_module_t *module) {
  ContextObject *context;
  if (tsr_status_t status = resolve(handle, context)) return status;
  Bundle bundle;
  BundleError error;
  if (!readBundle(bytes, name, bundle, error))
    return refuse(error.code == "E_BUNDLE_VERSION" ? TSR_UNIMPLEMENTED : TSR_EINVAL, error);
  std::vector<CompiledKernel> kernels;
  bool found = false;
  if (tsr_status_t status = openBest(bundle, *context, name, kernels, found)) return status;
  if (!found)
    if (tsr_status_t status = openFromIr(bundle, *context, name, log, kernels)) return status;
  return create(handle, std::move(kernels), log, module);
}

tsr_status_t loadImage(tsr_context_t handle, const BundleImage &image, const std::string &name,
                       tsr_module_t *module) {
  ContextObject *context;
  if (tsr_status_t status = resolve(handle, context)) return status;
  std::vector<CompiledKernel> kernels;
  if (tsr_status_t status = open(image, *context, name, kernels)) return status;
  return create(handle, std::move(kernels), {}, module);
}

} // namespace tessera
