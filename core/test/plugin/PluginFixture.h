// Makes a private copy of the broken plugins, with modes that the loader accepts whatever the umask of the
// build was.
#pragma once
#include "core/plugin/Registry.h"
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::test {

class PluginTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-plugins-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    directory = root / "plugins";
    std::filesystem::create_directory(directory);
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
    setenv("TESSERA_PLUGIN_PATH", directory.c_str(), 1);
    setenv("TESSERA_CACHE_DIR", (root / "cache").c_str(), 1);
    for (const char *name : {"TESSERA_PROBE", "TESSERA_BACKENDS_DISABLE", "TESSERA_BACKEND"})
      unsetenv(name);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::filesystem::path pathOf(const std::string &name) { return directory / ("libtessera-" + name + ".so"); }
  /// Copies the plugin into the directory and returns its path.
  std::filesystem::path install(const std::string &name) {
    std::filesystem::copy_file(std::filesystem::path(TESSERA_BROKEN_PLUGINS) / ("libtessera-" + name + ".so"),
                               pathOf(name));
    std::filesystem::permissions(pathOf(name), std::filesystem::perms(0644));
    return pathOf(name);
  }
  /// Returns the code of an explicit load; 0: it loaded.
  PluginError load(const std::string &name) {
    PluginError error;
    std::string path;
    PluginRef plugin = loadPlugin(TSR_PLUGIN_BACKEND, name, error, path);
    EXPECT_EQ(plugin == nullptr, bool(error));
    return error;
  }
  /// Returns what automatic selection finds out about the plugin.
  Candidate survey(const std::string &name) {
    for (Candidate &c : surveyPlugins(TSR_PLUGIN_BACKEND, /*probe=*/true))
      if (c.name == name && std::filesystem::path(c.path).parent_path() == directory) return c;
    ADD_FAILURE() << name << " is not in the survey";
    return {};
  }

  std::filesystem::path root, directory;
};

} // namespace tessera::test
