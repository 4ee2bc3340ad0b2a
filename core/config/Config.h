// The configuration file, tessera.yaml, and the settings that apply where a call specifies none. A TESSERA_*
// variable takes precedence over the file, and the file over the caller's default. The keys are listed in
// docs/configuration.md.
//
// Static library tessera-config. Thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// The contents of a configuration file.
struct ConfigFile {
  std::string path;                                        // empty: there is no file
  std::vector<std::pair<std::string, std::string>> values; // key -> value; lists joined as in their variables
  std::string error; // what is wrong, with path and line; then `values` is empty
};

/// How far a file is trusted. A file in the working directory may come from an archive or a checkout, so it
/// must not name files that are executed or written.
enum class ConfigTrust { Full, WorkingDirectory };

/// Reads the file.
ConfigFile readConfig(const std::string &path, ConfigTrust trust);

/// Returns the path of this process's file: TESSERA_CONFIG ("off": none), else the first that exists of
/// ./tessera.yaml, XDG_CONFIG_HOME/tessera/tessera.yaml (else ~/.config) and /etc/tessera/tessera.yaml. A
/// program that runs with elevated rights (setuid) uses only the last one. The path is empty if there is no
/// file.
std::pair<std::string, ConfigTrust> findConfig();

struct Setting {
  std::string value; // empty: not set
  std::string from;  // where it is set: "TESSERA_BACKEND", or "backend in /etc/tessera/tessera.yaml"
};
/// Returns the value of `variable`, a TESSERA_* name that the file may also set. The file is found and read
/// by the first call, and again when TESSERA_CONFIG has changed.
Setting setting(const char *variable);

/// The keys that a file may have, in the order of the alphabet. Each is also a variable, TESSERA_KEY.
std::vector<std::string_view> configKeys();
/// Returns the variable of a key: "plugin_path" -> "TESSERA_PLUGIN_PATH".
std::string variableOf(std::string_view key);
/// Returns the path of this process's file; empty if there is none.
std::string configPath();

/// Returns what is wrong with this process's file, "PATH:LINE: ..."; empty if nothing is. Callers report it
/// with code E_CONFIG.
std::string configError();

/// Parses a size in bytes such as "500M" (suffix K, M or G). Returns nullopt if the text is not a size.
std::optional<uint64_t> parseBytes(const std::string &text);

} // namespace tessera
