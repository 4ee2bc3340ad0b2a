// The configuration file, tessera.yaml, and what holds where a call says nothing: a TESSERA_* variable, else
// the file, else the default of whoever asks. docs/configuration.md has the keys.
//
// Static library tessera-config. Thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// What a file says.
struct ConfigFile {
  std::string path;                                        // empty: there is none
  std::vector<std::pair<std::string, std::string>> values; // key -> value; lists as their variables have them
  std::string error; // what is wrong, with path and line; then no values
};

/// Who may have written a file. One of the working directory came with what was unpacked or checked out
/// there: it may not name files that are run or written.
enum class ConfigTrust { Full, WorkingDirectory };

/// The file as it is now.
ConfigFile readConfig(const std::string &path, ConfigTrust trust);

/// The file of this process: TESSERA_CONFIG ("off": none), else the first there is of ./tessera.yaml,
/// XDG_CONFIG_HOME/tessera/tessera.yaml (else ~/.config) and /etc/tessera/tessera.yaml. A program that runs
/// with another user's rights reads the last alone.
std::pair<std::string, ConfigTrust> findConfig();

struct Setting {
  std::string value; // empty: said nowhere
  std::string from;  // "TESSERA_BACKEND", or "backend in /etc/tessera/tessera.yaml"
};
/// `variable` is a TESSERA_* that the file may set too. The file is looked for and read at the first
/// question, and again when TESSERA_CONFIG has changed.
Setting setting(const char *variable);

/// What is wrong with the file of this process, "PATH:LINE: ..."; empty when nothing is. Its code is
/// E_CONFIG.
std::string configError();

/// "500M" as bytes (K, M, G may follow); nothing when it is no size.
std::optional<uint64_t> parseBytes(const std::string &text);

} // namespace tessera
