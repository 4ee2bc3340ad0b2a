// A backend compiled against the header of plugin ABI 1.0 loads and runs. Features added in 1.1 are reported
// as missing by name.
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

extern "C" int32_t plugin10Query(const tsr_host_info_t *, tsr_plugin_info_t *);
extern "C" uint32_t plugin10Block;

namespace {

class OldPlugin : public FakeTest {
protected:
  void SetUp() override {
    ASSERT_OK(tsrRegisterPlugin(plugin10Query));
    ASSERT_OK(create("plugin10"));
    word = alloc();
  }
  void TearDown() override {
    EXPECT_OK(tsrFree(context, word));
    FakeTest::TearDown();
    EXPECT_OK(tsrUnregisterPlugin("plugin10"));
  }
};

TEST_F(OldPlugin, Runs) {
  int64_t value = 100;
  EXPECT_OK(tsrMemcpyH2D(context, word, &value, sizeof value));
  EXPECT_OK(launch(kernel(), 7));
  EXPECT_OK(tsrMemcpyD2H(context, &value, word, sizeof value));
  EXPECT_EQ(value, 107);
}

TEST_F(OldPlugin, SeesTheBlockOfTheMetadata) {
  ASSERT_NE(kernel(R"yaml({name: digit, target: cpu, numerics: standard, params: [
    {name: word, kind: tensor, dtype: i64, dims: ["1"], access: readwrite},
    {name: digit, kind: scalar, dtype: i32}], launch: {block: [256, 1, 1]}})yaml"),
            nullptr);
  EXPECT_EQ(plugin10Block, 256u);
}

TEST_F(OldPlugin, DecidesAboutFlagsItself) {
  void *p = nullptr;
  EXPECT_OK(tsrAlloc(context, 8, TSR_MEM_MANAGED, &p));
  EXPECT_OK(tsrFree(context, p));
}

TEST_F(OldPlugin, LacksLaterSlots) {
  std::string why;
  DeviceContext &device = *lookup<ContextObject>(context)->device;
  EXPECT_EQ(device.reportActivities([](const auto &) {}, why), TSR_UNIMPLEMENTED);
  EXPECT_EQ(why, "the backend has no activity records");
  EXPECT_OK(tsrRangePush(context, "range"));
  EXPECT_OK(tsrRangePop(context));
  tsr_event_t event = nullptr;
  EXPECT_EQ(tsrCreateEvent(context, &event), TSR_UNIMPLEMENTED);
}

} // namespace
