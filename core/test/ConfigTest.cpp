// tessera.yaml: its contents, what is refused, and which settings override it.
#include "core/config/Config.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <tessera/tessera.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

class Config : public testing::Test {
protected:
  Config() : folder_(fs::temp_directory_path() / ("config-test-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Config() override {
    for (const char *name : {"TESSERA_NUMERICS", "TESSERA_BACKEND", "XDG_CONFIG_HOME"})
      unsetenv(name);
    setenv("TESSERA_CONFIG", "off", 1);
    fs::current_path(home_);
    fs::remove_all(folder_);
  }
  std::string write(const std::string &text, const std::string &name = "c.yaml") {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  /// Makes the text this process's file.
  std::string use(const std::string &text) {
    const std::string path = write(text, "used-" + std::to_string(++uses_) + ".yaml");
    setenv("TESSERA_CONFIG", path.c_str(), 1);
    return path;
  }
  /// Returns the error without the path.
  std::string errorOf(const std::string &text, ConfigTrust trust = ConfigTrust::Full) {
    const std::string path = write(text);
    const ConfigFile file = readConfig(path, trust);
    EXPECT_EQ(file.values, Values()) << text;
    EXPECT_EQ(file.error.substr(0, path.size()), path) << text;
    return file.error.substr(path.size());
  }

  const fs::path folder_, home_ = fs::current_path();
  static inline int uses_ = 0; // a path is read only once
};

TEST_F(Config, EveryKey) {
  const ConfigFile file = readConfig(write("# all there is\n"
                                           "backend: rocm\nbackends_disable: [ptx, levelzero]\n"
                                           "cache_dir: /var/cache/x\ncache_size: 2G\n"
                                           "mapper: logging(default, /tmp/d.yaml)\nnumerics: strict\n"
                                           "plugin_log: 1\nplugin_path: [/opt/a, /opt/b]\nprobe: note\n"),
                                     ConfigTrust::Full);
  EXPECT_EQ(file.error, "");
  EXPECT_EQ(file.values, (Values{{"backend", "rocm"},
                                 {"backends_disable", "ptx,levelzero"},
                                 {"cache_dir", "/var/cache/x"},
                                 {"cache_size", "2G"},
                                 {"mapper", "logging(default, /tmp/d.yaml)"},
                                 {"numerics", "strict"},
                                 {"plugin_log", "1"},
                                 {"plugin_path", "/opt/a:/opt/b"},
                                 {"probe", "note"}}));
}

TEST_F(Config, JsonAndEmptyFiles) {
  EXPECT_EQ(readConfig(write(R"({"numerics": "fast", "plugin_path": ["/a"]})"), ConfigTrust::Full).values,
            (Values{{"numerics", "fast"}, {"plugin_path", "/a"}}));
  for (const char *text : {"", "# nothing\n", "---\n"}) {
    const ConfigFile file = readConfig(write(text), ConfigTrust::Full);
    EXPECT_EQ(file.error, "") << text;
    EXPECT_TRUE(file.values.empty());
  }
}

TEST_F(Config, ErrorsNameTheLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"numerics: fast\nbakend: cpu\n", ":2: unknown key 'bakend', did you mean backend?"},
      {"colour: red\n",
       ":1: unknown key 'colour'; known keys: backend backends_disable cache_dir cache_size mapper "
       "numerics plugin_log plugin_path probe tuned"},
      {"probe: fork\n", ":1: probe: expected spawn, inproc or note, found 'fork'"},
      {"\ncache_size: 1 GB\n",
       ":2: cache_size: expected a size in bytes (500000, 20K, 500M, 2G), found '1 GB'"},
      {"plugin_path: [/a, b]\n", ":1: plugin_path: expected an absolute path without ':', found 'b'"},
      {"plugin_path: /a:/b\n", ":1: plugin_path: expected an absolute path without ':', found '/a:/b'"},
      {"cache_dir: here\n", ":1: cache_dir: expected an absolute path, or off, found 'here'"},
      {"plugin_log: x\n",
       ":1: plugin_log: expected an absolute path, 1 (standard error) or 0 (nowhere), found 'x'"},
      {"backends_disable: a b\n", ":1: backends_disable: expected the name of a backend, found 'a b'"},
      {"backend: [cpu]\n", ":1: backend: expected a text"},
      {"backend:\n", ":1: backend has no value"},
      {"plugin_path: {a: b}\n", ":1: plugin_path: expected a text, or a list of them"},
      {"backend: cpu\nbackend: ptx\n", ":2: backend occurs twice"},
      {"- backend\n", ":1: expected lines of the form 'key: value'"},
      {"a\n---\nb\n", ":2: not valid YAML: expected one YAML document without markers (---)"},
      {"---\n---\nbackend: cpu\n", ":2: not valid YAML: expected one YAML document without markers (---)"},
      {", a\n", ":1: not valid YAML: expected nothing after the document"},
      {"{backend: cpu} b\n", ":1: not valid YAML: expected nothing after the document"},
      {"probe: note\nbackend: [cpu\n", ":3: not valid YAML: "},
      {"backend: cpu: ptx\n", ":1: not valid YAML: "},
  };
  for (const auto &[text, expected] : cases)
    EXPECT_EQ(errorOf(text).substr(0, std::string(expected).size()), expected) << text;
}

TEST_F(Config, FilesThatCannotBeRead) {
  EXPECT_EQ(readConfig("/nowhere/c.yaml", ConfigTrust::Full).error,
            "/nowhere/c.yaml cannot be read: No such file or directory");
  EXPECT_EQ(readConfig(folder_.string(), ConfigTrust::Full).error,
            folder_.string() + " cannot be read: Is a directory");
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readConfig(pipe, ConfigTrust::Full).error, pipe + " is not a configuration file: it is a pipe");
  EXPECT_EQ(errorOf(std::string(70000, '#')), " is not a configuration file: it has more than 64 KiB");
  EXPECT_EQ(errorOf("backend: " + std::string(30000, '[')).substr(0, 3), ":1:");
}

TEST_F(Config, AnotherUsersFileInTheWorkingDirectoryIsRefused) {
  const std::string path = write("backend: cpu\n");
  if (chown(path.c_str(), 12345, gid_t(-1)) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_EQ(readConfig(path, ConfigTrust::WorkingDirectory).error,
            path + " belongs to another user: name it in TESSERA_CONFIG to use it, or set that to off");
  EXPECT_EQ(readConfig(path, ConfigTrust::Full).values.size(), 1u);
}

TEST_F(Config, TheWorkingDirectoryMayNotNameFiles) {
  for (const char *text :
       {"plugin_path: /a", "cache_dir: /a", "plugin_log: /a", "mapper: logging(default, /a)"})
    EXPECT_NE(errorOf(text, ConfigTrust::WorkingDirectory)
                  .find("may not be set by a file of the working directory"),
              std::string::npos)
        << text;
  EXPECT_EQ(readConfig(write("backend: cpu\nnumerics: fast\n"), ConfigTrust::WorkingDirectory).values.size(),
            2u);
}

TEST_F(Config, SearchOrder) {
  using Found = std::pair<std::string, ConfigTrust>;
  setenv("TESSERA_CONFIG", "/named/t.json", 1);
  EXPECT_EQ(findConfig(), Found("/named/t.json", ConfigTrust::Full));
  setenv("TESSERA_CONFIG", "off", 1);
  EXPECT_EQ(findConfig().first, "");
  unsetenv("TESSERA_CONFIG");
  setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  fs::current_path(folder_);
  const std::string own = write("", "tessera/tessera.yaml");
  EXPECT_EQ(findConfig(), Found(own, ConfigTrust::Full));
  write("", "tessera.yaml");
  EXPECT_EQ(findConfig(), Found("./tessera.yaml", ConfigTrust::WorkingDirectory));
}

TEST_F(Config, TheEnvironmentOverridesTheFile) {
  const std::string path = use("numerics: fast\nprobe: note\n");
  EXPECT_EQ(setting("TESSERA_NUMERICS").value, "fast");
  EXPECT_EQ(setting("TESSERA_NUMERICS").from, "numerics in " + path);
  setenv("TESSERA_NUMERICS", "strict", 1);
  EXPECT_EQ(setting("TESSERA_NUMERICS").value, "strict");
  EXPECT_EQ(setting("TESSERA_NUMERICS").from, "TESSERA_NUMERICS");
  EXPECT_EQ(setting("TESSERA_PROBE").value, "note");
  EXPECT_EQ(setting("TESSERA_MAPPER").value, "");
}

TEST_F(Config, IsReturnedAsJson) {
  auto read = [] {
    const char *json = nullptr;
    EXPECT_EQ(tsrGetConfig(&json), TSR_SUCCESS);
    return nlohmann::json::parse(json);
  };
  const std::string path = use("numerics: fast\nbackends_disable: [ptx, rocm]\n");
  setenv("TESSERA_NUMERICS", "strict", 1);
  nlohmann::json config = read();
  EXPECT_EQ(config["file"], path);
  EXPECT_EQ(config["error"], nullptr);
  EXPECT_EQ(config["settings"]["numerics"],
            (nlohmann::json{{"value", "strict"}, {"from", "TESSERA_NUMERICS"}}));
  EXPECT_EQ(config["settings"]["backends_disable"],
            (nlohmann::json{{"value", "ptx,rocm"}, {"from", "backends_disable in " + path}}));
  EXPECT_EQ(config["settings"]["mapper"], (nlohmann::json{{"value", nullptr}, {"from", nullptr}}));
  EXPECT_EQ(config["settings"].size(), configKeys().size());
  use("bakend: cpu\n");
  EXPECT_EQ(read()["error"], configError());
  setenv("TESSERA_CONFIG", "off", 1);
  EXPECT_EQ(read()["file"], nullptr);
}

TEST_F(Config, AnInvalidFileFailsTheUseOfABackend) {
  const std::string path = use("bakend: cpu\n");
  EXPECT_EQ(configError(), path + ":1: unknown key 'bakend', did you mean backend?");
  tsr_context_t context = nullptr;
  tsr_context_options_t options{};
  options.struct_size = sizeof options;
  options.backend = "cpu";
  EXPECT_EQ(tsrCreateContextEx(&options, &context), TSR_EINVAL);
  EXPECT_EQ(std::string(tsrLastError()), "E_CONFIG " + configError());
  use("backend: cpu\n");
  EXPECT_EQ(tsrCreateContextEx(&options, &context), TSR_SUCCESS) << tsrLastError();
  tsrDestroyContext(context);
}

TEST_F(Config, ItsBackendIsUsed) {
  const std::string path = use("backend: rocn\n");
  tsr_context_t context = nullptr;
  tsr_context_options_t options{};
  options.struct_size = sizeof options;
  EXPECT_NE(tsrCreateContextEx(&options, &context), TSR_SUCCESS);
  EXPECT_EQ(std::string(tsrLastError()).find("backend in " + path + ": rocn"), 0u) << tsrLastError();
  setenv("TESSERA_BACKEND", "cpu", 1);
  EXPECT_EQ(tsrCreateContextEx(&options, &context), TSR_SUCCESS) << tsrLastError();
  tsrDestroyContext(context);
}

} // namespace
