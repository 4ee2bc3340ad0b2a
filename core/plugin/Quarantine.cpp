#include "core/plugin/Quarantine.h"
#include "core/cache/Store.h"
#include "core/support/InputFile.h"
#include "core/support/OutputFile.h"
#include <filesystem>
#include <tessera/plugin.h>

namespace tessera {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxPluginBytes = size_t{1} << 30, kMaxEntryBytes = 1 << 16;

fs::path home() {
  cache::Store store = cache::Store::ofEnvironment();
  return store ? fs::path(store.directory()) / "quarantine" : fs::path();
}

} // namespace

std::string quarantineKey(const std::string &path, const std::string &driver) {
  auto bytes = readFile(path, kMaxPluginBytes);
  if (!bytes) return "";
  return hexadecimal(hash128(hexadecimal(hash128(*bytes)) + "|" + driver + "|" +
                             std::to_string(TSR_PLUGIN_ABI_MAJOR) + "." +
                             std::to_string(TSR_PLUGIN_ABI_MINOR)));
}

std::string quarantined(const std::string &key) {
  fs::path folder = home();
  if (folder.empty() || key.empty()) return "";
  auto text = readFile(folder / key, kMaxEntryBytes);
  return text ? text->substr(0, text->find('\n')) : "";
}

void quarantine(const std::string &key, const std::string &path, const std::string &why) {
  fs::path folder = home();
  if (folder.empty() || key.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  OutputFile file; // if the write fails, the next process probes the plugin again
  if (!file.open(folder / key, OutputFile::Pipe::Refuse) && !file.write(why + "\n" + path + "\n"))
    (void)file.commit();
}

size_t resetQuarantine() {
  fs::path folder = home();
  size_t count = 0;
  std::error_code error;
  if (folder.empty()) return 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::remove(it->path(), ignored)) ++count;
  }
  return count;
}

} // namespace tessera
