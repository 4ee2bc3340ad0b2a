// The plugins this process has: those inside libtessera.so, and those loaded from the plugin directories.
#pragma once
#include <string>
#include <string_view>
#include <tessera/plugin.h>

namespace tessera {

/// One plugin that is loaded, checked and here to stay.
struct Plugin {
  std::string name, version, path; // path: "" when it is part of libtessera.so
  tsr_plugin_info_t info;          // complete: what the plugin's writer did not know is zero
};

/// What plugins are told about this process. Stands for ever.
const tsr_host_info_t &pluginHost();

/// The plugin of that name which serves `kind` (TSR_PLUGIN_*), loaded if it must be; touches no other. Null
/// with `why` filled: the code, what is wrong and how to mend it. Thread-safe.
const Plugin *loadPlugin(uint32_t kind, std::string_view name, std::string &why);

/// Names of the plugins inside libtessera.so that serve `kind`, comma-separated.
std::string builtinNames(uint32_t kind);

} // namespace tessera
