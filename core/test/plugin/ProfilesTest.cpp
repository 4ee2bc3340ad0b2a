// Numerics profiles: the table of the classes, the built-in plugin, and selecting profiles of plugins by
// name.
#include "core/plugin/Profiles.h"
#include "core/log/Log.h"
#include "core/test/plugin/PluginFixture.h"
#include <fstream>
#include <tessera/numerics.hpp>
#include <tessera/tessera.h>

using namespace tessera;
using testing::HasSubstr;

namespace {

struct One : NumericsProfile {
  const char *name() const override { return "one"; }
  bool contraction() const override { return true; }
  bool frozenTunables() const override { return true; }
};
struct Throws : NumericsProfile {
  const char *name() const override { throw 1; }
};

class Profiles : public test::PluginTest {
protected:
  void SetUp() override {
    PluginTest::SetUp();
    unsetenv("TESSERA_NUMERICS");
  }
  void TearDown() override {
    unsetenv("TESSERA_NUMERICS");
    PluginTest::TearDown();
  }
  void installHouse() {
    const auto to = directory / "libtessera-numerics-house.so";
    std::filesystem::copy_file(std::filesystem::path(TESSERA_BROKEN_PLUGINS) / to.filename(), to);
    std::filesystem::permissions(to, std::filesystem::perms(0644));
  }
  /// Returns the profile's name, or the error.
  std::string choose(const std::string &asked) {
    auto chosen = chooseProfile(asked);
    if (!chosen) return chosen.error().message + " / " + chosen.error().hint;
    profile = *chosen;
    return profile.name;
  }
  Profile profile;
};

} // namespace

TEST(NumericsTable, HasTheValuesOfTheClasses) {
  const tsr_numerics_api_t &api = *numericsTable<One>();
  EXPECT_EQ(api.struct_size, sizeof api);
  EXPECT_EQ(api.version_major, TSR_NUMERICS_API_MAJOR);
  tsr_numerics_profile_t row{};
  row.struct_size = sizeof row;
  ASSERT_EQ(api.profile(0, &row), TSR_SUCCESS);
  EXPECT_STREQ(row.name, "one");
  EXPECT_EQ(row.contraction, 1);
  EXPECT_EQ(row.frozen_tunables, 1);
  EXPECT_EQ(row.reassociation + row.approximate + row.reduced_multiply + row.unordered_atomics +
                row.fixed_reductions + row.reserved,
            0);
  EXPECT_EQ(api.profile(1, &row), TSR_ENOTFOUND);
}

TEST(NumericsTable, WritesNoFieldsUnknownToAnOlderHost) {
  tsr_numerics_profile_t row{};
  row.struct_size = offsetof(tsr_numerics_profile_t, contraction);
  row.contraction = 7;
  ASSERT_EQ(numericsTable<One>()->profile(0, &row), TSR_SUCCESS);
  EXPECT_STREQ(row.name, "one");
  EXPECT_EQ(row.contraction, 7);
}

TEST(NumericsTable, ExceptionsBecomeStatuses) {
  tsr_numerics_profile_t row{};
  row.struct_size = sizeof row;
  EXPECT_EQ(numericsTable<Throws>()->profile(0, &row), TSR_EINTERNAL);
}

TEST_F(Profiles, BuiltInProfilesUseAPluginTable) {
  std::string why;
  auto plugin = loadPlugin(TSR_PLUGIN_NUMERICS, "profiles", why);
  ASSERT_TRUE(plugin) << why;
  uint32_t index = 0;
  for (const BuiltinProfile &row : builtinProfiles()) {
    tsr_numerics_profile_t out{};
    out.struct_size = sizeof out;
    ASSERT_EQ(plugin->info.numerics->profile(index++, &out), TSR_SUCCESS);
    EXPECT_STREQ(out.name, row.name);
    EXPECT_EQ(out.contraction, row.permits.contraction);
    EXPECT_EQ(out.fixed_reductions, row.permits.fixedReductions);
  }
}

TEST_F(Profiles, ACallOverridesTheEnvironmentWhichOverridesStandard) {
  EXPECT_EQ(choose(""), "standard");
  setenv("TESSERA_NUMERICS", "fast", 1);
  EXPECT_EQ(choose(""), "fast");
  EXPECT_EQ(choose("strict"), "strict");
  EXPECT_TRUE(profile.permits.fixedReductions);
}

TEST_F(Profiles, APluginsProfileIsFoundByItsName) {
  installHouse();
  EXPECT_EQ(choose("house"), "house");
  EXPECT_EQ(profile.plugin, "house");
  EXPECT_FALSE(profile.permits.contraction);
  EXPECT_TRUE(profile.permits.unorderedAtomics);
  setenv("TESSERA_NUMERICS", "frozen", 1); // listed after the two that are left out
  EXPECT_EQ(choose(""), "frozen");
}

TEST_F(Profiles, AnUnknownNameListsProfilesAndSuggestsOne) {
  installHouse();
  std::vector<std::string> said;
  auto keep = [](void *user, tsr_log_level_t, const char *code, const char *text) {
    static_cast<std::vector<std::string> *>(user)->push_back(std::string(code) + " " + text);
  };
  ASSERT_EQ(tsrSetLogCallback(keep, &said, TSR_LOG_WARNING), TSR_SUCCESS);
  EXPECT_EQ(choose("hause"), "numerics 'hause': there is no such profile; available: fast, standard, "
                             "deterministic, strict, house, tree, frozen / did you mean house?");
  tsrSetLogCallback(nullptr, nullptr, TSR_LOG_WARNING);
  EXPECT_THAT(said, testing::UnorderedElementsAre(
                        "W_PLUGIN plugin house: numerics profile 'standard' is already defined by another "
                        "plugin; it is left out",
                        HasSubstr("numerics profile 'Bad Name' is not a valid name")));
  setenv("TESSERA_NUMERICS", "xyz", 1);
  EXPECT_THAT(choose(""), HasSubstr("TESSERA_NUMERICS 'xyz': there is no such profile"));
}

/// Lists one profile, then fails.
int32_t failingProfile(uint32_t index, tsr_numerics_profile_t *out) {
  if (index) return TSR_EIO;
  tsr_numerics_profile_t row{};
  row.struct_size = sizeof row;
  row.name = "half";
  thunk::copyOut(out, row);
  return TSR_SUCCESS;
}

int32_t failingQuery(const tsr_host_info_t *, tsr_plugin_info_t *out) {
  static constexpr tsr_numerics_api_t table = {sizeof table, TSR_NUMERICS_API_MAJOR, TSR_NUMERICS_API_MINOR,
                                               failingProfile};
  tsr_plugin_info_t info{};
  info.abi_major = TSR_PLUGIN_ABI_MAJOR;
  info.built_minor = TSR_PLUGIN_ABI_MINOR;
  info.kinds = TSR_PLUGIN_NUMERICS;
  info.name = "failing";
  info.version = "1.0";
  info.description = info.features_required = info.features_optional = info.compiler_abi = "";
  info.numerics = &table;
  thunk::copyOut(out, info);
  return TSR_SUCCESS;
}

TEST_F(Profiles, AListThatFailsIsReportedAndKeptUpToThere) {
  ASSERT_EQ(tsrRegisterPlugin(failingQuery), TSR_SUCCESS) << tsrLastError();
  std::string said;
  auto keep = [](void *user, tsr_log_level_t, const char *, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  ASSERT_EQ(tsrSetLogCallback(keep, &said, TSR_LOG_WARNING), TSR_SUCCESS);
  EXPECT_EQ(choose("half"), "half");
  tsrSetLogCallback(nullptr, nullptr, TSR_LOG_WARNING);
  EXPECT_THAT(said, HasSubstr("plugin failing: its numerics profile 1 failed with status"));
  EXPECT_EQ(tsrUnregisterPlugin("failing"), TSR_SUCCESS) << tsrLastError();
}

TEST_F(Profiles, UpperCaseNamesAreCorrected) {
  EXPECT_THAT(choose("STANDARD"), HasSubstr("did you mean standard?"));
}

TEST_F(Profiles, APluginThatCannotBeUsedIsNamedInTheError) {
  std::ofstream(directory / "libtessera-numerics-empty.so").put('x');
  std::filesystem::permissions(directory / "libtessera-numerics-empty.so", std::filesystem::perms(0644));
  installHouse();
  std::filesystem::permissions(directory / "libtessera-numerics-house.so", std::filesystem::perms(0666));
  EXPECT_THAT(choose("house"), testing::AllOf(HasSubstr("there is no such profile"), HasSubstr("TSRP-")));
}
