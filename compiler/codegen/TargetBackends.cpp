#include "compiler/codegen/PluginBackend.h"
#include "compiler/codegen/TargetBackend.h"
#include "core/support/Fork.h"
#include "core/support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

// CMake generates TargetBackends.inc: TESSERA_TARGET_BACKEND(NAME) for every plugins/NAME/codegen.
#define TESSERA_TARGET_BACKEND(NAME)                                                                         \
  namespace tessera::NAME {                                                                                  \
  const codegen::TargetBackend &targetBackend();                                                             \
  }
#include "TargetBackends.inc"
#undef TESSERA_TARGET_BACKEND

namespace tessera::codegen {
namespace {

const TargetBackend *findBackend(llvm::StringRef name) {
  for (const TargetBackend *backend : targetBackends())
    if (backend->name() == name || llvm::is_contained(backend->aliases(), name)) return backend;
  return nullptr;
}

Error unknownTarget(llvm::StringRef text) {
  std::string known;
  std::vector<std::string> names;
  for (const TargetBackend *backend : targetBackends()) {
    known += (known.empty() ? "" : ", ") + backend->targets();
    names.push_back(backend->name().str());
    for (llvm::StringRef alias : backend->aliases())
      names.push_back(alias.str());
  }
  for (const std::string &plugin : codegenPluginNames()) {
    known += ", " + plugin + ":... (a plugin's)";
    names.push_back(plugin);
  }
  const std::string_view near = nearestName(std::string_view(text.split(':').first), names);
  return {"E_TARGET_UNKNOWN", "unknown target '" + text.str() + "'",
          (near.empty() ? "" : "did you mean " + std::string(near) + "? ") + "the targets are " + known};
}

} // namespace

std::string TargetBackend::targets() const { return llvm::join(targetNames(), ", "); }

llvm::ArrayRef<const TargetBackend *> targetBackends() {
  static const TargetBackend *const backends[] = {
#define TESSERA_TARGET_BACKEND(NAME) &NAME::targetBackend(),
#include "TargetBackends.inc"
#undef TESSERA_TARGET_BACKEND
  };
  return backends;
}

namespace {
/// One entry per name that parses. Never destroyed, because threads may compile while the process exits.
struct Parsed {
  llvm::StringMap<std::unique_ptr<const Target>> targets; // guarded by the mutex
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
};
Parsed &parsed = *new Parsed;
} // namespace

Expected<const Target *> findTarget(llvm::StringRef text) {
  auto [name, architecture] = text.split(':');
  const TargetBackend *backend = findBackend(name);
  if (!backend) { // without the lock, because the plugin's code runs
    auto target = findPluginTarget(name, architecture);
    return target && !*target ? unknownTarget(text) : target;
  }
  std::lock_guard lock(parsed.mutex);
  auto &found = parsed.targets;
  if (auto known = found.find(text); known != found.end()) return known->second.get();
  if (text.ends_with(":"))
    return Error{"E_TARGET_UNKNOWN", "target '" + text.str() + "' names no architecture after the colon",
                 "the targets are " + backend->targets()};
  auto made = backend->parse(architecture);
  if (!made) {
    Error error = made.error();
    error.code = "E_TARGET_UNKNOWN";
    error.message = "target '" + text.str() + "': " + error.message;
    return error;
  }
  return (found[text] = std::move(*made)).get();
}

mlir::LogicalResult Target::buildBody(schedule::GroupOp group, schedule::VariantAttr variant, llvm::StringRef,
                                      llvm::SmallVectorImpl<mlir::Attribute> &) const {
  return group.emitError() << "TSR_UNIMPLEMENTED: body " << variant.getBody() << " of variant "
                           << variant.getName() << " of a group of kind "
                           << schedule::stringifyGroupKind(group.getKind()) << " is not built on target "
                           << name();
}

} // namespace tessera::codegen
