// Code generators of plugins. libtessera.so finds, checks and loads the plugins. It passes this interface to
// the compiler when it loads the compiler, which calls the plugins' tables.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <vector>

namespace tessera {

/// A loaded plugin of kind codegen. The plugin stays registered while this object lives, so hold it only for
/// the duration of a call.
struct CodegenPlugin {
  std::string name, version;
  tsr_codegen_api_t table{}; // complete: fields that the plugin's version does not have are zero
  std::shared_ptr<const void> keep;
  explicit operator bool() const { return keep != nullptr; }
};

class CodegenPlugins {
public:
  virtual ~CodegenPlugins() = default;
  /// Returns the plugin of that name and loads it if necessary. Opens only files of that name. Returns an
  /// empty object if there is none, and fills `why` as well if the plugin was refused. Thread-safe.
  virtual CodegenPlugin load(std::string_view name, std::string &why) = 0;
  /// Returns the names of the plugins that pass every check before loading.
  virtual std::vector<std::string> names() = 0;
  /// Returns what a cache key must contain about the plugin that generates code for `target` ("cpu",
  /// "NAME:ARCHITECTURE"): the identity of its file on disk, or "" if no plugin file has that name. Returns
  /// nullopt if the program registered the plugin, since two processes may register different plugins by one
  /// name. Loads nothing.
  virtual std::optional<std::string> identity(std::string_view target) = 0;
};

/// Returns the plugins of this process. Exported by libtessera.so for tools that load the compiler
/// themselves. The object lives as long as the process; it is empty before setCodegenPlugins.
__attribute__((visibility("default"))) CodegenPlugins &codegenPlugins();

/// Sets the plugins of this process. Called once, while libtessera.so is loaded (runtime/Parts.cpp).
void setCodegenPlugins(CodegenPlugins &);

} // namespace tessera
