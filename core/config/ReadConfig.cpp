// Converts tessera.yaml to settings. The whole file is checked before any setting takes effect.
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/support/NearestName.h"
#include "core/support/YamlText.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr yaml::Bounds kBounds = {.bytes = 64 << 10, .nodes = 1 << 16};

/// Returns null if the value is valid, else a description of what is expected.
using Check = const char *(*)(const std::string &value);

const char *anything(const std::string &) { return nullptr; }
const char *absolute(const std::string &v) {
  return v[0] == '/' && v.find(':') == v.npos ? nullptr : "an absolute path without ':'";
}
const char *pathOrOff(const std::string &v) {
  return v[0] == '/' || v == "off" ? nullptr : "an absolute path, or off";
}
const char *logFile(const std::string &v) {
  return v[0] == '/' || v == "1" || v == "0" ? nullptr
                                             : "an absolute path, 1 (standard error) or 0 (nowhere)";
}
const char *probing(const std::string &v) {
  return v == "spawn" || v == "inproc" || v == "note" ? nullptr : "spawn, inproc or note";
}
const char *bytes(const std::string &v) {
  return parseBytes(v) ? nullptr : "a size in bytes (500000, 20K, 500M, 2G)";
}
const char *pluginName(const std::string &v) {
  return v.find_first_of(", :/") == v.npos ? nullptr : "the name of a backend";
}

struct Key {
  std::string_view name;
  Check check;
  char join;      // separator of list entries; 0: not a list
  bool isTrusted; // names files that are executed or written, so it needs full trust
};
constexpr Key kKeys[] = {
    {"backend", anything, 0, false},   {"backends_disable", pluginName, ',', false},
    {"cache_dir", pathOrOff, 0, true}, {"cache_size", bytes, 0, false},
    {"mapper", anything, 0, true},     {"numerics", anything, 0, false},
    {"plugin_log", logFile, 0, true},  {"plugin_path", absolute, ':', true},
    {"probe", probing, 0, false},      {"tuned", pathOrOff, 0, true},
};

} // namespace

std::vector<std::string_view> configKeys() {
  std::vector<std::string_view> out;
  for (const Key &key : kKeys)
    out.push_back(key.name);
  return out;
}

namespace {

struct Wrong {
  YAML::Mark where;
  std::string text;
};

const Key &keyNamed(const YAML::Node &node) {
  const std::vector<std::string_view> names = configKeys();
  const std::string found = node.IsScalar() ? node.Scalar() : "";
  for (const Key &key : kKeys)
    if (key.name == found) return key;
  std::string text = "unknown key '" + found + "'";
  if (auto near = nearestName(found, names); !near.empty())
    throw Wrong{node.Mark(), text + ", did you mean " + std::string(near) + "?"};
  text += "; known keys:";
  for (std::string_view name : names)
    text += " " + std::string(name);
  throw Wrong{node.Mark(), text};
}

std::string oneValue(const Key &key, const YAML::Node &node) {
  if (!node.IsScalar() || node.Scalar().empty())
    throw Wrong{node.Mark(), std::string(key.name) +
                                 (key.join ? ": expected a text, or a list of them" : ": expected a text")};
  if (const char *expected = key.check(node.Scalar()))
    throw Wrong{node.Mark(),
                std::string(key.name) + ": expected " + expected + ", found '" + node.Scalar() + "'"};
  return node.Scalar();
}

std::string valueOf(const Key &key, const YAML::Node &node) {
  if (!key.join || !node.IsSequence()) return oneValue(key, node);
  std::string out;
  for (const YAML::Node &entry : node)
    out += (out.empty() ? "" : std::string(1, key.join)) + oneValue(key, entry);
  return out;
}

/// Turns a first line `---`, with which many files begin, into a comment.
std::string withoutFirstMarker(std::string text) {
  for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    if (text[at] == '#' || text[at] == '\n' || text[at] == '\r') continue;
    if (text.compare(at, 3, "---") == 0 && text.find_first_not_of(" \t\r", at + 3) == text.find('\n', at))
      text[at] = '#';
    break;
  }
  return text;
}

void read(const std::string &text, ConfigTrust trust, ConfigFile &out) {
  const YAML::Node root = yaml::load(withoutFirstMarker(text), kBounds);
  if (root.IsNull()) return; // only comments
  if (!root.IsMap()) throw Wrong{root.Mark(), "expected lines of the form 'key: value'"};
  for (const auto &entry : root) {
    const Key &key = keyNamed(entry.first);
    const std::string name(key.name);
    if (std::any_of(out.values.begin(), out.values.end(), [&](const auto &v) { return v.first == name; }))
      throw Wrong{entry.first.Mark(), name + " occurs twice"};
    if (key.isTrusted && trust == ConfigTrust::WorkingDirectory)
      throw Wrong{entry.first.Mark(),
                  name + " may not be set by a file of the working directory, since it names files "
                         "that are run or written; set it in ~/.config/tessera/tessera.yaml, or name "
                         "this file in TESSERA_CONFIG"};
    if (entry.second.IsNull()) throw Wrong{entry.first.Mark(), name + " has no value"};
    out.values.emplace_back(name, valueOf(key, entry.second));
  }
}

/// Returns why a file that was opened must not be read, or null.
const char *refusal(const struct stat &about, ConfigTrust trust) {
  if (S_ISFIFO(about.st_mode)) return "is not a configuration file: it is a pipe";
  // Another user may leave a file in a shared directory.
  if (trust == ConfigTrust::WorkingDirectory && about.st_uid != 0 && about.st_uid != ::geteuid())
    return "belongs to another user: name it in TESSERA_CONFIG to use it, or set that to off";
  return nullptr;
}

/// Returns the file's bytes, or fills `error`.
std::string bytesOf(const std::string &path, ConfigTrust trust, std::string &error) {
  std::string out;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about{};
  if (const char *why = fd >= 0 && ::fstat(fd, &about) == 0 ? refusal(about, trust) : nullptr) {
    error = why;
  } else {
    out.resize(kBounds.bytes + 1);
    const ssize_t n = fd < 0 ? -1 : ::read(fd, out.data(), out.size());
    if (n < 0) error = std::string("cannot be read: ") + std::strerror(errno);
    if (n > static_cast<ssize_t>(kBounds.bytes))
      error = "is not a configuration file: it has more than 64 KiB";
    out.resize(n < 0 ? 0 : static_cast<size_t>(n));
  }
  if (fd >= 0) ::close(fd);
  return out;
}

} // namespace

ConfigFile readConfig(const std::string &path, ConfigTrust trust) {
  ConfigFile out;
  out.path = path;
  const std::string text = bytesOf(path, trust, out.error);
  if (!out.error.empty()) {
    out.error = path + " " + out.error;
    return out;
  }
  auto fail = [&](const YAML::Mark &where, const std::string &what) {
    out.values.clear();
    out.error = path + (where.is_null() ? "" : ":" + std::to_string(where.line + 1)) + ": " + what;
  };
  try {
    read(text, trust, out);
  } catch (const Wrong &e) {
    fail(e.where, e.text);
  } catch (const YAML::Exception &e) {
    fail(e.mark, "not valid YAML: " + e.msg);
  }
  return out;
}

} // namespace tessera
