#include "core/config/Environment.h"
#include "core/support/NearestName.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(Environment, WarnsAboutUnknownVariables) {
  const char *entries[] = {"PATH=/bin",
                           "TESSERA_BACKEND=cpu",
                           "TESSERA_BAKEND=cpu",
                           "TESSERA_XYZZY_PLUGH=1",
                           "TESSERA=1",
                           "TESSERA_CONFIG=x.yaml",
                           "TESSERA_JOBS=2",
                           "TESSERA_PLUGIN_PATH=/:/usr",
                           "TESSERA_BACKENDS_DISABLE=cpu",
                           "TESSERA_PROBE=note",
                           "TESSERA_PLUGIN_LOG=1",
                           nullptr};
  EXPECT_EQ(
      unknownVariableWarnings(entries),
      (std::vector<std::string>{"unknown environment variable TESSERA_BAKEND, did you mean TESSERA_BACKEND?",
                                "unknown environment variable TESSERA_XYZZY_PLUGH"}));
  EXPECT_TRUE(unknownVariableWarnings(nullptr).empty());
}

TEST(Environment, WarnsAboutAnInvalidCacheSize) {
  const char *good[] = {"TESSERA_CACHE_SIZE=", "TESSERA_CACHE_SIZE=0", "TESSERA_CACHE_SIZE=3G", nullptr};
  EXPECT_TRUE(unknownVariableWarnings(good).empty());
  const char *bad[] = {"TESSERA_CACHE_SIZE=1 GB", nullptr};
  EXPECT_EQ(unknownVariableWarnings(bad),
            (std::vector<std::string>{
                "TESSERA_CACHE_SIZE is '1 GB', which is not a size (500000, 20K, 500M, 2G): using 1G"}));
}

TEST(Environment, WarnsAboutAnUnknownCpuInline) {
  const char *good[] = {"TESSERA_CPU_INLINE=", "TESSERA_CPU_INLINE=on", "TESSERA_CPU_INLINE=off", nullptr};
  EXPECT_TRUE(unknownVariableWarnings(good).empty());
  const char *bad[] = {"TESSERA_CPU_INLINE=0", nullptr};
  EXPECT_EQ(unknownVariableWarnings(bad),
            (std::vector<std::string>{"TESSERA_CPU_INLINE is '0'; expected on or off: using on"}));
  const char *pin[] = {"TESSERA_CPU_PIN=1", nullptr};
  EXPECT_EQ(unknownVariableWarnings(pin),
            (std::vector<std::string>{"TESSERA_CPU_PIN is '1'; expected on or off: using off"}));
  const char *others[] = {"TESSERA_PROBE=spawn", "TESSERA_PROBE=maybe", "TESSERA_SUPERVISE=0",
                          "TESSERA_SUPERVISE=no", nullptr};
  EXPECT_EQ(unknownVariableWarnings(others),
            (std::vector<std::string>{"TESSERA_PROBE is 'maybe'; expected spawn, inproc or note: using spawn",
                                      "TESSERA_SUPERVISE is 'no'; expected 0 or 1: using 1"}));
}

TEST(Environment, WarnsAboutPluginDirectoriesThatAreNotSearched) {
  const char *entries[] = {"TESSERA_PLUGIN_PATH=plugins:/::/no/such:/dev/null", nullptr};
  EXPECT_EQ(unknownVariableWarnings(entries),
            (std::vector<std::string>{
                "TESSERA_PLUGIN_PATH: 'plugins' is left out, because it is not an absolute path",
                "TESSERA_PLUGIN_PATH: there is no directory '/no/such'",
                "TESSERA_PLUGIN_PATH: there is no directory '/dev/null'"}));
}

TEST(Environment, WarnsAboutALogThatCannotBeWritten) {
  const char *good[] = {"TESSERA_PLUGIN_LOG=", "TESSERA_PLUGIN_LOG=0", "TESSERA_PLUGIN_LOG=stderr",
                        "TESSERA_PLUGIN_LOG=/dev/null", nullptr};
  EXPECT_TRUE(unknownVariableWarnings(good).empty());
  for (const char *entry : {"TESSERA_PLUGIN_LOG=/no/such/log", "TESSERA_PLUGIN_LOG=/usr"}) {
    const char *bad[] = {entry, nullptr};
    EXPECT_EQ(unknownVariableWarnings(bad),
              std::vector<std::string>{"TESSERA_PLUGIN_LOG: '" + std::string(entry).substr(19) +
                                       "' cannot be written, so there is no log"});
  }
}

TEST(Environment, NearestName) {
  constexpr std::string_view names[] = {"cpu", "ptx", "rocm", "levelzero"};
  auto nearest = [&](std::string_view word) { return nearestName(word, names); };
  EXPECT_EQ(nearest("cpus"), "cpu");
  EXPECT_EQ(nearest("levlzero"), "levelzero");
  EXPECT_EQ(nearest("cup"), "cpu");
  EXPECT_EQ(nearest("rcom"), "rocm");
  EXPECT_EQ(nearest("cuda"), "");
  EXPECT_EQ(nearest(""), "");
}

} // namespace
