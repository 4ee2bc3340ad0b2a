#include "core/objects/LoadBundle.h"
#include "core/log/LastError.h"
#include "core/service/CompilerLoader.h"
#include "core/support/HostCpu.h"
#include <algorithm>
#include <climits>

namespace tessera {
namespace {

tsr_status_t refuse(tsr_status_t status, const BundleError &error) { return fail(status, error.text()); }

/// What precedes the last colon: "P" of "P:ARCH", "P:emulated" of "P:emulated:ARCH".
std::string backendOf(const std::string &target) { return target.substr(0, target.rfind(':')); }

bool isCpu(const ContextObject &context) { return std::string_view(context.backend->name()) == "cpu"; }

/// Returns why the device cannot run the image; an empty text means that it can.
std::string obstacle(const BundleImage &image, const ContextObject &context) {
  const char *backend = context.backend->name();
  if (backendOf(image.target) != backend) return "not of backend " + std::string(backend);
  // GPU code runs only on the architecture it was compiled for.
  if (!isCpu(context))
    return image.target == context.device->info().arch ? "" : "the device is " + context.device->info().arch;
  if (std::string_view missing = firstMissing(image.features); !missing.empty())
    return "this processor has no " + std::string(missing);
  return "";
}

/// Ranks the images that can run: the larger value is better.
int rank(const BundleImage &image) {
  std::string_view name = std::string_view(image.target).substr(backendOf(image.target).size() + 1);
  return name == hostCpuName() ? INT_MAX : static_cast<int>(image.features.size());
}

const BundleImage *choose(const Bundle &bundle, const ContextObject &context) {
  const BundleImage *best = nullptr;
  for (const BundleImage &image : bundle.images)
    if (obstacle(image, context).empty() && (!best || rank(image) > rank(*best))) best = &image;
  return best;
}

/// Appends the image's entries, resolved and ready to run.
tsr_status_t open(const BundleImage &image, const ContextObject &context, const std::string &name,
                  std::vector<CompiledKernel> &out) {
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
    kernel.metadata = entry.metadata;
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
  const BundleImage *best = choose(bundle, context);
  found = best != nullptr;
  if (!best) return TSR_SUCCESS;
  for (const BundleImage &image : bundle.images)
    if (image.target == best->target)
      if (tsr_status_t status = open(image, context, name, out)) return status;
  return TSR_SUCCESS;
}

BundleError noImage(const Bundle &bundle, const ContextObject &context, const std::string &name,
                    const std::string &compilerWhy) {
  std::string held;
  for (const BundleImage &image : bundle.images)
    held += (held.empty() ? "" : ", ") + image.target + " (" + obstacle(image, context) + ")";
  std::string device = isCpu(context) ? hostCpuTarget() : context.device->info().arch;
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
