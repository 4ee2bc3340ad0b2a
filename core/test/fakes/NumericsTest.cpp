// Numerics profiles of fakes, and hand-written tables that throw.
#include "core/plugin/Profiles.h"
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Finds the profile of that name. Returns the error if there is none.
std::string choose(const std::string &name, Profile &out) {
  auto chosen = chooseProfile(name);
  if (!chosen) return chosen.error().message;
  out = *chosen;
  return "";
}

TEST(FakeProfiles, HaveTheValuesOfTheMocks) {
  NiceMock<MockNumericsProfile> exact("exact"), loose("loose");
  ON_CALL(loose, contraction).WillByDefault(Return(true));
  ON_CALL(loose, frozenTunables).WillByDefault(Return(true));
  FakePlugin plugin("house-rules");
  plugin.serve(exact);
  plugin.serve(loose);
  ASSERT_OK(plugin.add());
  Profile found;
  EXPECT_EQ(choose("exact", found), "");
  EXPECT_EQ(found.plugin, "house-rules");
  EXPECT_FALSE(found.permits.contraction);
  EXPECT_EQ(choose("loose", found), "");
  EXPECT_TRUE(found.permits.contraction && found.permits.frozenTunables);
  EXPECT_FALSE(found.permits.reassociation);
  ASSERT_OK(plugin.remove());
  EXPECT_THAT(choose("exact", found), HasSubstr("there is no such profile"));
}

TEST(FakeProfiles, APluginThatThrowsDoesNotAffectOthers) {
  NiceMock<MockNumericsProfile> sound("sound"), unsound("unsound");
  FakePlugin throwing("a-throws"), other("b-sound", sound);
  throwing.serve(unsound);
  throwing.numericsTable().profile = [](uint32_t, tsr_numerics_profile_t *) -> int32_t {
    throw std::runtime_error("no rows\x1b[2J");
  };
  ASSERT_OK(throwing.add());
  std::string said;
  auto keep = [](void *user, tsr_log_level_t, const char *, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  ASSERT_OK(tsrSetLogCallback(keep, &said, TSR_LOG_WARNING));
  Profile found;
  EXPECT_EQ(choose("sound", found), "");
  EXPECT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_WARNING));
  EXPECT_THAT(said,
              HasSubstr("plugin a-throws: its numerics profile 0 failed with status 10: no rows\\x1b[2J"));
}

} // namespace
