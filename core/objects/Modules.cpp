#include "core/objects/Modules.h"
#include "core/cache/CachedCompiler.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/launch/HostMachine.h"
#include "core/log/LastError.h"
#include "core/log/Log.h"
#include "core/metadata/DescribeKernel.h"
#include "core/objects/LibraryCalls.h"
#include "core/plugin/Mappers.h"
#include "core/plugin/Profiles.h"
#include "core/support/HostCpu.h"
#include "numerics/FloatEnvironment.h"
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

namespace tessera {
namespace {

/// Returns why a kernel of the CPU cannot use the tile registers that its products take. A raw image lists no
/// features, and the system saves these registers only for processes that have asked for them.
std::string obstacleOfTiles(const ContextObject &context, const KernelMetadata &m) {
  const bool usesTiles = std::ranges::any_of(m.products, &MetadataProduct::usesTileRegisters);
  return usesTiles && std::string_view(context.backend->name()) == "cpu" ? obstacleTo({"amx-tile"}) : "";
}

tsr_status_t makeKernel(ContextObject &context, CompiledKernel compiled, std::unique_ptr<KernelObject> &out) {
  auto kernel = std::make_unique<KernelObject>();
  std::string why;
  if (!KernelMetadata::fromYaml(compiled.metadata, kernel->metadata, why) ||
      !LaunchPlan::make(kernel->metadata, kernel->plan, why))
    return fail(TSR_EINVAL, "kernel metadata: " + why);
  kernel->context = &context;
  kernel->yaml = std::move(compiled.metadata);
  const KernelMetadata &m = kernel->metadata;
  if (m.plan.has_value() != (compiled.kind == EntryKind::Function))
    return fail(TSR_EINVAL, "entry " + m.name + ": " +
                                (m.plan ? "it is marked a kernel, yet its metadata has a plan"
                                        : "it is marked a function, yet its metadata has no plan"));
  if (m.plan) { // bound after all kernels have been added
    out = std::move(kernel);
    return TSR_SUCCESS;
  }
  if (!compiled.module) {
    const tsr_be_host_kernel_t row = {m.name.c_str(), reinterpret_cast<const void *>(compiled.entry)};
    compiled.module = context.device->loadModule(
        {TSR_IMAGE_HOST_KERNELS, &row, sizeof row, m.name, std::move(compiled.code)}, why);
    if (!compiled.module) return fail(TSR_EINVAL, why);
  }
  if (std::string obstacle = obstacleOfTiles(context, m); !obstacle.empty())
    return fail(TSR_EINVAL, "[E_IMAGE_LOAD] " + (compiled.origin.empty() ? "" : compiled.origin + ": ") +
                                "kernel " + m.name + " multiplies by AMX: " + obstacle);
  KernelSpec spec = describeKernel(m, kernel->yaml, compiled.format);
  // Code without a bundle names its kernels by the compiler's symbols or, when written by hand, by their
  // names.
  std::vector<std::string> symbols = {compiled.symbol};
  if (compiled.symbol.empty()) symbols = {entrySymbol(m.name), m.name};
  for (const std::string &symbol : symbols) {
    spec.name = symbol;
    if ((kernel->device = compiled.module->getKernel(spec, why))) break;
  }
  if (!kernel->device)
    return fail(TSR_EINVAL, compiled.origin.empty() ? why : "[E_IMAGE_LOAD] " + compiled.origin + ": " + why);
  out = std::move(kernel);
  return TSR_SUCCESS;
}

/// The library calls of the module's functions, by name.
tsr_status_t findLibraryCalls(ModuleObject &module, std::unordered_map<std::string, StepKernel> &out) {
  for (auto &kernel : module.kernels) {
    if (!kernel->metadata.plan) continue;
    const auto &steps = kernel->metadata.plan->steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].isLibraryCall || out.contains(steps[i].kernel)) continue;
      std::string why;
      StepKernel &call = out[steps[i].kernel];
      if (tsr_status_t status = libraryCall(*module.context, steps[i].kernel, call, why))
        return fail(status, "function " + kernel->metadata.name + ": step " + std::to_string(i) + ": " + why);
    }
  }
  return TSR_SUCCESS;
}

/// Binds the plans of the module's functions to its kernels.
tsr_status_t bindFunctions(ModuleObject &module) {
  std::unordered_map<std::string, StepKernel> calls;
  if (tsr_status_t status = findLibraryCalls(module, calls)) return status;
  std::unordered_map<std::string, const KernelObject *> byName;
  for (auto &kernel : module.kernels)
    byName.emplace(kernel->metadata.name, kernel.get());
  auto find = [&](const PlanStep &step) -> StepKernel {
    if (step.isLibraryCall) return calls.at(step.kernel);
    auto it = byName.find(step.kernel);
    if (it == byName.end() || it->second->metadata.hasReports()) return {}; // the compiler refuses it
    const KernelObject &kernel = *it->second;
    StepKernel found{.metadata = &kernel.metadata, .plan = &kernel.plan, .device = kernel.device};
    found.chooser = kernel.chooser.get();
    for (const KernelObject *variant : kernel.variants)
      found.bodies.push_back(variant->device);
    return found;
  };
  for (auto &kernel : module.kernels) {
    std::string why;
    if (kernel->metadata.plan && !FunctionPlan::make(kernel->metadata, find, kernel->function, why))
      return fail(TSR_EINVAL, "function " + kernel->metadata.name + ": " + why);
  }
  return TSR_SUCCESS;
}

/// Has `body` the parameters of `general`, and in front of the dims only those of its own?
bool haveSameParams(const KernelMetadata &general, const KernelMetadata &body, size_t beforeDims) {
  const size_t own = body.params.size() - general.params.size();
  if (body.params.size() < general.params.size()) return false;
  for (size_t i = 0; i < general.params.size(); ++i) {
    const MetadataParam &p = general.params[i], &q = body.params[i < beforeDims ? i : i + own];
    if (p.name != q.name || p.kind != q.kind || p.dtype != q.dtype || p.dims != q.dims ||
        p.strides != q.strides || p.reads != q.reads || p.writes != q.writes)
      return false;
  }
  return true;
}

size_t countBeforeDims(const KernelMetadata &m) {
  return static_cast<size_t>(std::ranges::count_if(
      m.params, [](const MetadataParam &p) { return p.kind != MetadataParam::Kind::Dim; }));
}

/// Returns why variant `number` of `kernel` cannot run instead of it; "" if it can.
std::string variantFault(const KernelObject &kernel, const VariantTable &table, size_t number,
                         const KernelObject &variant) {
  const KernelMetadata &general = kernel.metadata, &special = variant.metadata;
  if (special.plan.has_value() != general.plan.has_value()) return "one is a kernel, the other a function";
  if (&kernel != &variant && !special.variants.empty()) return "it has variants of its own";
  if (special.hasReports()) return "it has reports";
  if (!haveSameParams(general, special, countBeforeDims(general))) return "its parameters are others";
  for (const auto &[dim, value] : special.specialized) {
    const auto isParam = [&, &dim = dim](const MetadataParam &p) { return p.name == dim; };
    const auto slot =
        static_cast<size_t>(std::ranges::find_if(general.params, isParam) - general.params.begin());
    const bool isGeneral =
        std::ranges::find(general.specialized, std::pair(dim, value)) != general.specialized.end();
    if (!isGeneral && !table.fixes(number, slot, value))
      return "it was compiled for " + dim + " = " + std::to_string(value) + ", which is no condition of it";
  }
  return "";
}

/// Finds the variants of the module's kernels and functions.
tsr_status_t bindVariants(ModuleObject &module) {
  const DeviceContext &device = *module.context->device;
  for (auto &kernel : module.kernels) {
    if (kernel->metadata.variants.empty()) continue;
    const std::string what = kernel->describe() + ": ";
    Expected<VariantTable> table = VariantTable::of(kernel->metadata);
    if (!table) return fail(TSR_EINVAL, "[E_VARIANT] " + what + table.error().message);
    if (table->size() == 1 && kernel->metadata.variants[0].entry.empty()) continue; // nothing to choose from
    // The first call in a process examines the host.
    const MachineConstants machine = machineConstants(
        device.info().computeUnits, std::string_view(module.context->backend->name()) == "cpu");
    std::vector<const LaunchPlan *> bodies;
    std::string pinned;
    for (const MetadataVariant &v : kernel->metadata.variants) {
      const std::string &entry = v.entry.empty() ? kernel->metadata.name : v.entry;
      auto found = std::ranges::find_if(module.kernels, [&](auto &k) { return k->metadata.name == entry; });
      const size_t number = bodies.size();
      std::string why = "the module has no such entry";
      if (found != module.kernels.end() && (!v.entry.empty() && found->get() == kernel.get()))
        why = "it has variants of its own";
      else if (found != module.kernels.end())
        why = variantFault(*kernel, *table, number, **found);
      if (why.empty())
        if (MaybeError error = table->bindBody(number, kernel->metadata, (*found)->metadata))
          why = error->message;
      if (!why.empty()) return fail(TSR_EINVAL, "[E_VARIANT] " + what + "variant " + entry + ": " + why);
      if (v.isPinned) pinned = v.name;
      kernel->variants.push_back(found->get());
      bodies.push_back(&(*found)->plan);
    }
    kernel->chooser =
        std::make_unique<VariantChooser>(std::move(*table), machine, kernel->plan, std::move(bodies),
                                         countBeforeDims(kernel->metadata), kernel->describe(), pinned);
  }
  return TSR_SUCCESS;
}

tsr_status_t statusOf(CompileStatus status) {
  switch (status) {
  case CompileStatus::Ok:
    return TSR_SUCCESS;
  case CompileStatus::BadProgram:
    return TSR_ECOMPILE;
  case CompileStatus::Unimplemented:
    return TSR_UNIMPLEMENTED;
  case CompileStatus::BackendFailure:
    return TSR_EINTERNAL;
  }
  return TSR_EINTERNAL;
}

tsr_log_level_t levelOf(Diagnostic::Severity s) {
  return s == Diagnostic::Severity::Error     ? TSR_LOG_ERROR
         : s == Diagnostic::Severity::Warning ? TSR_LOG_WARNING
                                              : TSR_LOG_NOTE;
}

void diagnose(const Diagnostic &d, Log log) {
  tsr_diagnostic_t out{};
  out.struct_size = sizeof out;
  out.severity = levelOf(d.severity);
  out.line = d.line;
  out.column = d.line ? std::max(d.col, 1u) : 0;
  out.length = d.line ? std::max(d.endCol, out.column + 1) - out.column : 0;
  out.code = d.code.c_str();
  out.message = d.message.c_str();
  out.hint = d.hint.c_str();
  out.file = d.file.c_str();
  out.source_line = d.sourceLine.c_str();
  log.diagnose(log.diagnoseUser, &out);
}

/// Passes diagnostics to the caller's log. If the status is a failure, the first error's text stays the last
/// error.
tsr_status_t conclude(tsr_status_t status, const std::vector<Diagnostic> &diags, Log log) {
  std::string first;
  for (const Diagnostic &d : diags) {
    std::string text = render(d, /*colour=*/false);
    if (first.empty() && d.severity == Diagnostic::Severity::Error) {
      first = text;
      if (status != TSR_SUCCESS && d.code == "E_OUT_OF_MEMORY") status = TSR_EOOM;
    }
    if (log.diagnose) diagnose(d, log);
    if (log.call) log.call(log.user, levelOf(d.severity), d.code.c_str(), text.c_str());
  }
  if (status == TSR_SUCCESS) return status;
  while (!first.empty() && first.back() == '\n')
    first.pop_back();
  return fail(status, first.empty() ? "the compiler failed without a diagnostic" : first);
}

/// The compiler folds constants on the calling thread under its own floating-point settings; the caller's log
/// does not run under them.
template <class Call> CompileStatus withDefaultFloats(Call call) {
  DefaultFloats floats;
  return call();
}

tsr_status_t concludeCall(CompileStatus result, const std::vector<Diagnostic> &diags, Log log) {
  if (diags.size() == 1 && diags[0].code == "E_NO_COMPILER") {
    const Diagnostic &d = diags[0];
    return fail(TSR_ENOTFOUND,
                "[" + d.code + "] " + d.message + (d.hint.empty() ? "" : "\n  hint: " + d.hint));
  }
  return conclude(statusOf(result), diags, log);
}

/// Adds the mapper's decisions to `options`, then calls `compile` with the compiler, the options and the list
/// of diagnostics.
template <class Compile>
tsr_status_t withDecisions(std::string_view source, CompileOptions options, Log log, Compile compile) {
  std::vector<Diagnostic> diags;
  if (tsr_status_t status = decideVariants(source, options, diags)) return conclude(status, diags, log);
  CompileStatus result = withDefaultFloats([&] { return compile(*cachedCompiler(), options, diags); });
  return concludeCall(result, diags, log);
}

} // namespace

tsr_status_t createModule(tsr_context_t handle, std::vector<CompiledKernel> kernels, tsr_module_t *module) {
  ContextObject *context;
  if (tsr_status_t status = resolve(handle, context)) return status;
  auto object = std::make_shared<ModuleObject>();
  object->context = context;
  for (CompiledKernel &compiled : kernels) {
    std::unique_ptr<KernelObject> kernel;
    if (tsr_status_t status = makeKernel(*context, std::move(compiled), kernel)) return status;
    for (auto &other : object->kernels)
      if (other->metadata.name == kernel->metadata.name)
        return fail(TSR_EINVAL, "two kernels of the module are named " + kernel->metadata.name);
    object->kernels.push_back(std::move(kernel));
  }
  if (tsr_status_t status = bindVariants(*object)) return status;
  if (tsr_status_t status = bindFunctions(*object)) return status;
  context->add(object);
  *module = object->handle();
  return TSR_SUCCESS;
}

tsr_status_t compileSource(std::string_view source, CompileOptions options, Log log, std::string &bundle) {
  return withDecisions(source, std::move(options), log,
                       [&](CompilerService &compiler, const CompileOptions &decided, auto &diags) {
                         return compiler.compile(source, decided, bundle, diags);
                       });
}

tsr_status_t inspectSource(std::string_view source, CompileOptions options, Log log, Emit level,
                           std::string &text) {
  return withDecisions(source, std::move(options), log,
                       [&](CompilerService &compiler, const CompileOptions &decided, auto &diags) {
                         return compiler.emit(source, decided, level, text, diags);
                       });
}

tsr_status_t readDefinition(std::string_view source, const CompileOptions &options, Log log,
                            Definition &out) {
  std::vector<Diagnostic> diags;
  return concludeCall(cachedCompiler()->definition(source, options, out, diags), diags, log);
}

void noteFallbacks(tsr_module_t handle, Log log) {
  ModuleObject *module = lookup<ModuleObject>(handle);
  if (!module) return;
  std::set<std::string_view> said; // a function repeats its kernels' fallbacks
  for (auto &kernel : module->kernels)
    for (const std::string &fallback : kernel->metadata.fallbacks) {
      if (!said.insert(fallback).second) continue;
      logOnce(TSR_LOG_NOTE, "N_FALLBACK", fallback);
      if (log.call) log.call(log.user, TSR_LOG_NOTE, "N_FALLBACK", fallback.c_str());
    }
}

void noteNumerics(tsr_module_t handle, const std::string &name, Log log) {
  ModuleObject *module = lookup<ModuleObject>(handle);
  const Setting asked = setting("TESSERA_NUMERICS");
  if (!module || asked.value.empty()) return;
  std::set<std::string_view> others;
  for (auto &kernel : module->kernels)
    if (kernel->metadata.numerics != asked.value) others.insert(kernel->metadata.numerics);
  if (others.empty()) return;
  Expected<Profile> known = chooseProfile("");
  const std::string advice =
      known ? "compile it again with --numerics " + asked.value
            : known.error().message + (known.error().hint.empty() ? "" : "; ") + known.error().hint;
  const bool isVariable = asked.from == "TESSERA_NUMERICS"; // not the configuration file's
  for (std::string_view other : others) {
    const std::string text = name + ": " + asked.from + (isVariable ? "=" : ": ") + asked.value +
                             " has no effect on code that was compiled with --numerics " +
                             std::string(other) + "; " + advice;
    logOnce(TSR_LOG_WARNING, "W_NUMERICS", text);
    if (log.call) log.call(log.user, TSR_LOG_WARNING, "W_NUMERICS", text.c_str());
  }
}

} // namespace tessera
