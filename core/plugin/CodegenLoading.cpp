#include "core/plugin/CodegenLoading.h"
#include "core/plugin/Registered.h"
#include "core/plugin/SearchPath.h"
#include "core/service/CompilerObjects.h"
#include <tessera/thunk.hpp>
#include <unistd.h>

namespace tessera {
namespace {

class Loading final : public CodegenPlugins {
public:
  CodegenPlugin load(std::string_view name, std::string &why) override {
    PluginError error;
    std::string path;
    PluginRef plugin = loadPlugin(TSR_PLUGIN_CODEGEN, name, error, path);
    if (!plugin) {
      if (error.code != refusal::kNotInstalled) why = error.render(path);
      return {};
    }
    return {plugin->name, plugin->version, thunk::copyIn(plugin->info.codegen), plugin};
  }
  std::vector<std::string> names() override { return usablePlugins(TSR_PLUGIN_CODEGEN); }

  std::optional<std::string> identity(std::string_view target) override {
    const std::string name(target.substr(0, target.find(':')));
    if (name == "cpu") return ""; // the compiler's own target, and by far the most common
    if (PluginRef plugin = registeredPlugin(name); plugin && (plugin->info.kinds & TSR_PLUGIN_CODEGEN))
      return std::nullopt;
    std::string out;
    for (const std::string &directory : searchPath().directories)
      for (uint32_t kind : {TSR_PLUGIN_CODEGEN, TSR_PLUGIN_BACKEND, TSR_PLUGIN_MAPPER, TSR_PLUGIN_COLLECTIVE,
                            // a plugin of several kinds has one file, which is named after one of them
                            TSR_PLUGIN_NUMERICS})
        out += identityOf({directory + "/" + fileNameOf(kind, name)});
    return out;
  }
};

} // namespace

CodegenPlugins &loadedCodegenPlugins() {
  static Loading &it = *new Loading; // a compilation may outlive main()
  return it;
}

} // namespace tessera
