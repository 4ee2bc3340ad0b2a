// Modules and kernels.
#include "core/abi/Structs.h"
#include "core/objects/LoadBundle.h"
#include "core/objects/Modules.h"
#include "core/plugin/Profiles.h"
#include <algorithm>
#include <cstring>
#include <string_view>

using namespace tessera;

namespace {

tsr_status_t readPairs(const tsr_named_int_t *entries, size_t count, const char *what,
                       std::vector<std::pair<std::string, int64_t>> &out) {
  if (count && !entries) return fail(TSR_EINVAL, std::string(what) + " is NULL, yet its count is not 0");
  for (size_t i = 0; i < count; ++i) {
    if (!entries[i].name)
      return fail(TSR_EINVAL, std::string(what) + "[" + std::to_string(i) + "] has no name");
    out.emplace_back(entries[i].name, entries[i].value);
  }
  return TSR_SUCCESS;
}

tsr_status_t compileOptions(ContextObject &context, const tsr_source_options_t &o, CompileOptions &out) {
  if (o.file_name) out.fileName = o.file_name;
  if (o.kernel && *o.kernel) out.kernels = {o.kernel};
  const std::string target = o.target ? o.target : context.device->info().arch;
  out.targets = {target};
  if (target.substr(0, target.find(':')) != context.backend->name())
    return fail(TSR_EINVAL,
                "target '" + target + "' is not of the context's backend " + context.backend->name());
  if (o.numerics && !*o.numerics) return fail(TSR_EINVAL, "numerics '': expected a profile's name, or NULL");
  auto profile = chooseProfile(o.numerics ? o.numerics : "");
  if (!profile) {
    const Error &error = profile.error();
    return fail(TSR_EINVAL, (error.code == "E_CONFIG" ? "E_CONFIG " : "") + error.message +
                                (error.hint.empty() ? "" : "; " + error.hint));
  }
  out.numerics = profile->name;
  out.permits = profile->permits;
  if (tsr_status_t status = readPairs(o.dims, o.dim_count, "dims", out.dims)) return status;
  return readPairs(o.tunables, o.tunable_count, "tunables", out.tunables);
}

} // namespace

tsr_status_t tsrLoadModuleFromSource(tsr_context_t handle, const char *source, size_t len,
                                     const tsr_source_options_t *options, tsr_module_t *module) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(source, "source")) return status;
    if (tsr_status_t status = requireOut(module, "module")) return status;
    tsr_source_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    CompileOptions compile;
    if (tsr_status_t status = compileOptions(*context, o, compile)) return status;
    std::string bundle;
    Log log{o.log, o.log_user};
    if (tsr_status_t status = compileSource({source, len}, compile, log, bundle)) return status;
    return loadBundle(handle, bundle, compile.fileName, log, module);
  });
}

tsr_status_t tsrUnloadModule(tsr_module_t handle) {
  return guarded([&] {
    ModuleObject *module;
    if (tsr_status_t status = resolveToDestroy(handle, module)) return status;
    if (!module) return TSR_SUCCESS;
    module->context->remove(module);
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetKernel(tsr_module_t handle, const char *name, tsr_kernel_t *kernel) {
  return guarded([&] {
    ModuleObject *module;
    if (tsr_status_t status = resolve(handle, module)) return status;
    if (tsr_status_t status = requireOut(kernel, "kernel")) return status;
    // "mlp.g0" was generated for the function mlp: to be had by name, but not what a module is asked for.
    auto isGenerated = [](auto &k) { return k->metadata.name.find('.') != std::string::npos; };
    const auto &all = module->kernels;
    bool one = std::count_if(all.begin(), all.end(), isGenerated) + 1 == std::ssize(all);
    std::string names;
    for (auto &k : all) {
      if (name ? k->metadata.name == name : one && !isGenerated(k)) {
        *kernel = k->handle();
        return TSR_SUCCESS;
      }
      if (!isGenerated(k)) names += (names.empty() ? "" : ", ") + k->metadata.name;
    }
    return fail(TSR_ENOTFOUND, (name ? "no kernel '" + std::string(name) + "' in the module"
                                     : std::string("the module has more than one kernel, or none")) +
                                   "; it has: " + names);
  });
}

tsr_status_t tsrKernelMetadata(tsr_kernel_t handle, const char **yaml) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    if (tsr_status_t status = requireOut(yaml, "yaml")) return status;
    *yaml = kernel->yaml.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrKernelArgInfo(tsr_kernel_t handle, size_t index, tsr_arg_info_t *info) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    static_assert(int(MetadataParam::Kind::Dim) == TSR_ARG_DIM &&
                  int(MetadataParam::Kind::Result) == TSR_ARG_RESULT);
    const auto &params = kernel->metadata.params;
    if (index >= params.size())
      return fail(TSR_ENOTFOUND,
                  kernel->describe() + " takes " + std::to_string(params.size()) + " arguments");
    const MetadataParam &p = params[index];
    tsr_arg_info_t known{};
    known.name = p.name.c_str();
    known.dtype = name(p.dtype);
    known.kind = static_cast<int32_t>(p.kind);
    known.bytes = static_cast<uint32_t>(storageBytes(p.dtype));
    return writeInfo(known, info);
  });
}
