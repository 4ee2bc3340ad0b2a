// Code generators that plugins bring. libtessera.so finds, checks and loads the plugins; the compiler, which
// is handed this interface when it is loaded, calls their tables.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <vector>

namespace tessera {

/// A loaded plugin of kind codegen. Keeps the plugin registered while it lives: hold it during a call, not
/// longer.
struct CodegenPlugin {
  std::string name, version;
  tsr_codegen_api_t table{}; // complete: what the plugin's writer did not know is zero
  std::shared_ptr<const void> keep;
  explicit operator bool() const { return keep != nullptr; }
};

class CodegenPlugins {
public:
  virtual ~CodegenPlugins() = default;
  /// The plugin of that name, loaded if it must be; opens no file of another name. Empty with `why`: the
  /// plugin is refused. Empty without: there is none. Thread-safe.
  virtual CodegenPlugin load(std::string_view name, std::string &why) = 0;
  /// Names of those that nothing refuses before they are loaded.
  virtual std::vector<std::string> names() = 0;
  /// What a cache key needs to know of the plugin that makes code for `target` ("cpu", "NAME:ARCHITECTURE"):
  /// its file as it is on disk, or "" where no plugin file has that name. Nothing: the program registered the
  /// plugin, so that two processes may mean two plugins by one name. Loads nothing.
  virtual std::optional<std::string> identity(std::string_view target) = 0;
};

/// Those of this process. Exported by libtessera.so for tools that load the compiler themselves. Lives as
/// long as the process; before setCodegenPlugins there are none.
__attribute__((visibility("default"))) CodegenPlugins &codegenPlugins();

/// Called once, while libtessera.so is loaded (runtime/Parts.cpp).
void setCodegenPlugins(CodegenPlugins &);

} // namespace tessera
