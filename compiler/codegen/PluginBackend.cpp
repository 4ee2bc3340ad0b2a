#include "compiler/codegen/PluginBackend.h"
#include "compiler/codegen/PluginTable.h"
#include "compiler/support/DiagnosticCode.h"
#include "core/support/Fork.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <atomic>
#include <deque>
#include <map>
#include <mutex>

using namespace mlir;

namespace tessera::codegen {
namespace {

std::atomic<CodegenPlugins *> source = nullptr;

CodegenPlugin load(llvm::StringRef name, std::string &why) {
  CodegenPlugins *plugins = source;
  return plugins ? plugins->load(std::string_view(name), why) : CodegenPlugin();
}

class PluginTarget final : public Target {
public:
  PluginTarget(const TargetBackend &backend, PluginRow row, std::unique_ptr<const LlvmLowering> lowering)
      : backend_(backend), row_(std::move(row)), lowering_(std::move(lowering)) {
    capabilities_.vectorBytes = row_.machine.vectorBytes;
    capabilities_.vectorRegisters = row_.machine.vectorRegisters;
    capabilities_.collapsesAxes = row_.collapsesAxes;
    capabilities_.prefetches = true; // an intrinsic of LLVM, which any processor may ignore
  }

  const PluginRow &row() const { return row_; }

  const TargetBackend &backend() const override { return backend_; }
  std::string name() const override { return backend_.name().str() + ":" + row_.architecture; }
  const Capabilities &capabilities() const override { return capabilities_; }
  SmallVector<int64_t> proposeTile(const TileRequest &request) const override {
    return lowering_->proposeTile(request);
  }
  void addLoweringPasses(OpPassManager &pm) const override { lowering_->addLoweringPasses(pm); }

  /// The text the plugin would be given: only the plugin knows the device's assembly.
  Expected<std::string> emitAssembly(ModuleOp module) const override { return lowering_->emitIr(module); }

  Expected<std::vector<std::string>> emitObjects(OwningOpRef<ModuleOp> module) const override {
    std::vector<std::string> kernels;
    for (auto function : module->getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && function.getLinkage() == LLVM::Linkage::External)
        kernels.push_back(function.getSymName().str());
    auto ir = lowering_->emitIr(*module);
    if (!ir) return ir.error();
    std::string why;
    const CodegenPlugin plugin = load(backend_.name(), why);
    if (!plugin)
      return Error{"E_CODEGEN_PLUGIN",
                   "codegen plugin " + backend_.name().str() + " has gone" + (why.empty() ? "" : ": " + why),
                   ""};
    auto made = compileIr(plugin, row_.architecture, *ir, kernels);
    if (!made) return made.error();
    if (!made->messages.empty()) {
      InFlightDiagnostic warning = mlir::emitWarning(module->getLoc())
                                   << "codegen plugin " << plugin.name << ": " << made->messages;
      setCode(warning, "W_CODEGEN_PLUGIN");
    }
    return std::vector{std::move(made->bytes)};
  }
  Expected<std::string> joinObjects(std::vector<std::string> objects) const override {
    return std::move(objects.front());
  }

  /// One image for each object: only the plugin knows its format, so nothing can link two of them.
  Expected<std::vector<BundleImage>> makeImages(std::vector<CodeUnit> units) const override {
    std::vector<BundleImage> images;
    for (CodeUnit &unit : units) {
      BundleImage &image = images.emplace_back();
      image.target = imageName();
      image.format = row_.format;
      image.data = std::move(unit.objects.front());
      image.entries = std::move(unit.entries);
    }
    return images;
  }

private:
  const TargetBackend &backend_;
  PluginRow row_;
  std::unique_ptr<const LlvmLowering> lowering_;
  Capabilities capabilities_;
};

Expected<std::unique_ptr<const LlvmLowering>> findLowering(const std::string &name,
                                                           const LlvmMachine &machine) {
  for (const TargetBackend *backend : targetBackends()) {
    auto lowering = backend->lowerFor(name, machine);
    if (!lowering || *lowering) return lowering;
  }
  return Error{"E_TARGET_UNKNOWN", "this compiler has no lowering to LLVM IR", ""};
}

/// The targets of one plugin name that were asked for. It holds no reference to the plugin, because another
/// plugin may be registered under the name later.
class PluginBackend final : public TargetBackend {
public:
  explicit PluginBackend(std::string name) : name_(std::move(name)) {}
  llvm::StringRef name() const override { return name_; }
  std::vector<std::string> targetNames() const override { return {name_ + ":..."}; }
  Expected<std::unique_ptr<const Target>> parse(llvm::StringRef architecture) const override {
    std::string why;
    const CodegenPlugin plugin = load(name_, why);
    if (!plugin) return Error{"E_TARGET_UNKNOWN", why, ""};
    auto rows = readTargets(plugin);
    if (!rows) return rows.error();
    std::string known;
    for (PluginRow &row : *rows) {
      known += (known.empty() ? "" : ", ") + name_ + ":" + row.architecture;
      if (row.architecture != architecture) continue;
      auto lowering = findLowering(name_ + ":" + row.architecture, row.machine);
      if (!lowering) return lowering.error();
      return std::unique_ptr<const Target>(
          std::make_unique<PluginTarget>(*this, std::move(row), std::move(*lowering)));
    }
    return Error{"E_TARGET_UNKNOWN",
                 "codegen plugin " + name_ +
                     (architecture.empty() ? " needs an architecture"
                                           : " has no architecture '" + architecture.str() + "'"),
                 known.empty() ? "it lists none" : "its targets are " + known};
  }
  void registerPasses() const override {}

  /// Calls parse(); returns the same object as before if the plugin's answers are the same.
  Expected<const Target *> find(llvm::StringRef architecture) {
    auto parsed = parse(architecture);
    if (!parsed) return parsed.error();
    const auto &fresh = static_cast<const PluginTarget &>(**parsed);
    std::lock_guard lock(mutex_);
    for (const auto &known : known_)
      if (static_cast<const PluginTarget &>(*known).row() == fresh.row()) return known.get();
    return known_.emplace_back(std::move(*parsed)).get();
  }

private:
  std::string name_;
  std::mutex mutex_;
  HeldAcrossFork heldAcrossFork_{mutex_};
  std::vector<std::unique_ptr<const Target>> known_; // guarded by the mutex; only grows
};

/// Never destroyed: threads may compile while the process exits.
struct PluginBackends {
  std::map<std::string, PluginBackend> all; // guarded by the mutex
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
};
PluginBackends &backends = *new PluginBackends;

PluginBackend &backendOf(llvm::StringRef name) {
  std::lock_guard lock(backends.mutex);
  return backends.all.try_emplace(name.str(), name.str()).first->second;
}

} // namespace

void setCodegenPlugins(CodegenPlugins &plugins) { source = &plugins; }

Expected<const Target *> findPluginTarget(llvm::StringRef name, llvm::StringRef architecture) {
  std::string why;
  if (!load(name, why)) {
    if (why.empty()) return static_cast<const Target *>(nullptr);
    return Error{"E_TARGET_UNKNOWN", why, ""};
  }
  return backendOf(name).find(architecture);
}

std::vector<std::string> codegenPluginNames() {
  CodegenPlugins *plugins = source;
  return plugins ? plugins->names() : std::vector<std::string>();
}

} // namespace tessera::codegen
