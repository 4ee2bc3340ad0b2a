#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <charconv>
#include <mutex>
#include <sys/auxv.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr const char *kSystemWide = "/etc/tessera/tessera.yaml";

struct State {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  bool isRead = false;
  std::string asked; // value of TESSERA_CONFIG when the file was read
  ConfigFile file;
};

State &state() {
  static State &s = *new State; // never destroyed: settings may be read after static destructors
  return s;
}
[[maybe_unused]] const State &madeState = state(); // when the library is loaded: see HeldAcrossFork

/// Returns the file's settings, reading it if necessary. Precondition: the lock is held.
const ConfigFile &current(State &s) {
  std::string asked = environment("TESSERA_CONFIG");
  if (s.isRead && asked == s.asked) return s.file;
  const auto [path, trust] = findConfig();
  s.file = path.empty() ? ConfigFile() : readConfig(path, trust);
  s.asked = std::move(asked);
  s.isRead = true;
  return s.file;
}

/// Returns the key of a variable: "TESSERA_PLUGIN_PATH" -> "plugin_path".
std::string keyOf(std::string_view variable) {
  std::string key(variable.substr(std::string_view("TESSERA_").size()));
  for (char &c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return key;
}

} // namespace

std::pair<std::string, ConfigTrust> findConfig() {
  auto exists = [](const std::string &path) { return ::access(path.c_str(), F_OK) == 0; };
  const bool isPrivileged = getauxval(AT_SECURE) != 0;
  if (!isPrivileged) {
    if (std::string named = environment("TESSERA_CONFIG"); !named.empty())
      return {named == "off" ? "" : named, ConfigTrust::Full};
    if (exists("./tessera.yaml")) return {"./tessera.yaml", ConfigTrust::WorkingDirectory};
    std::string own = environment("XDG_CONFIG_HOME");
    if (!own.starts_with('/')) {
      own = environment("HOME");
      own = own.starts_with('/') ? own + "/.config" : "";
    }
    if (!own.empty())
      if (own += "/tessera/tessera.yaml"; exists(own)) return {own, ConfigTrust::Full};
  }
  return {exists(kSystemWide) ? kSystemWide : "", ConfigTrust::Full};
}

Setting setting(const char *variable) {
  if (std::string value = environment(variable); !value.empty()) return {std::move(value), variable};
  const std::string key = keyOf(variable);
  State &s = state();
  std::lock_guard lock(s.mutex);
  const ConfigFile &file = current(s);
  for (const auto &[name, value] : file.values)
    if (name == key) return {value, key + " in " + file.path};
  return {};
}

std::string variableOf(std::string_view key) {
  std::string variable = "TESSERA_";
  for (char c : key)
    variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return variable;
}

std::string configPath() {
  State &s = state();
  std::lock_guard lock(s.mutex);
  return current(s).path;
}

std::string configError() {
  State &s = state();
  std::lock_guard lock(s.mutex);
  return current(s).error;
}

std::optional<uint64_t> parseBytes(const std::string &text) {
  uint64_t n = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc()) return std::nullopt;
  const int shift = rest == end ? 0 : *rest == 'K' ? 10 : *rest == 'M' ? 20 : *rest == 'G' ? 30 : -1;
  if (shift < 0 || rest + (shift ? 1 : 0) != end || n > (UINT64_MAX >> shift)) return std::nullopt;
  return n << shift;
}

} // namespace tessera
