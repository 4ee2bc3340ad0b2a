#include "core/plugin/Quarantine.h"
#include "core/cache/Store.h"
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tessera/plugin.h>
#include <unistd.h>

namespace tessera {
namespace fs = std::filesystem;
namespace {

fs::path home() {
  cache::Store store = cache::Store::ofEnvironment();
  return store ? fs::path(store.directory()) / "quarantine" : fs::path();
}

} // namespace

std::string quarantineKey(const std::string &path, const std::string &driver) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (!in) return "";
  return hexadecimal(hash128(hexadecimal(hash128(bytes.str())) + "|" + driver + "|" +
                             std::to_string(TSR_PLUGIN_ABI_MAJOR) + "." +
                             std::to_string(TSR_PLUGIN_ABI_MINOR)));
}

std::string quarantined(const std::string &key) {
  fs::path folder = home();
  if (folder.empty() || key.empty()) return "";
  std::ifstream in(folder / key);
  std::string why;
  std::getline(in, why);
  return why;
}

void quarantine(const std::string &key, const std::string &path, const std::string &why) {
  fs::path folder = home();
  if (folder.empty() || key.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  fs::path beside = folder / (key + "." + std::to_string(getpid()));
  bool written;
  {
    std::ofstream out(beside);
    out << why << "\n" << path << "\n";
    written = static_cast<bool>(out.flush());
  }
  if (written) fs::rename(beside, folder / key, error);
  if (!written || error) fs::remove(beside, error);
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
