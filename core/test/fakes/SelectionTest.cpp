// Which of several backends is selected for a context, and which device.
#include "core/objects/Backends.h"
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Above every real device of this machine; 1000 is the highest score.
constexpr int kFirst = 1000, kSecond = 999;

std::vector<FakeDevice> gpus(std::initializer_list<const char *> addresses) {
  std::vector<FakeDevice> out;
  for (const char *pci : addresses) {
    out.emplace_back();
    out.back().info.name = std::string("GPU at ") + pci;
    out.back().pci = pci;
  }
  return out;
}

std::string best() {
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend(nullptr, selected, why), TSR_SUCCESS) << why;
  return selected.backend ? selected.backend->name() : "";
}

/// Returns why the backend is not available; "" if it is.
std::string reason(const std::string &name) {
  size_t count;
  for (size_t i = 0; auto row = backendRow(i, count); ++i)
    if (row->name == name) return row->reason;
  return "there is none";
}

TEST(Selecting, TheHigherScoreWins) {
  NiceMock<MockBackend> a(std::vector<FakeDevice>(1), kSecond), b(std::vector<FakeDevice>(1), kFirst);
  FakePlugin first("a", a);
  EXPECT_EQ(best(), "a");
  {
    FakePlugin second("b", b);
    EXPECT_EQ(best(), "b"); // the selection is repeated
  }
  EXPECT_EQ(best(), "a");
}

TEST(Selecting, EqualScoresAreOrderedByName) {
  NiceMock<MockBackend> mock(std::vector<FakeDevice>(1), kFirst);
  FakePlugin b("b", mock), a("a", mock);
  EXPECT_EQ(best(), "a");
}

TEST(Selecting, EqualScoresPreferTheLibrarysOwn) {
  NiceMock<MockBackend> mock(std::vector<FakeDevice>(1), 100); // the same score as cpu
  FakePlugin plugin("aardvark", mock);
  setenv("TESSERA_BACKENDS_DISABLE", "ptx, rocm, levelzero", 1);
  EXPECT_EQ(best(), "cpu");
  unsetenv("TESSERA_BACKENDS_DISABLE");
}

TEST(Selecting, APluginRegisteredMeanwhileIsConsidered) {
  NiceMock<MockBackend> a(std::vector<FakeDevice>(1), kSecond), b(std::vector<FakeDevice>(1), kFirst);
  FakePlugin first("a", a), second("b");
  second.serve(b);
  // The backends have been listed and a is being probed when b is registered.
  EXPECT_CALL(a, probe)
      .WillOnce([&](tsr_probe_t &out, std::string &) {
        EXPECT_OK(second.add());
        out.device_count = 1;
        out.score = kSecond;
        return TSR_SUCCESS;
      })
      .WillRepeatedly(testing::DoDefault());
  EXPECT_EQ(best(), "a");
  EXPECT_EQ(best(), "b");
}

TEST(Selecting, ABackendThatCannotBeCreatedIsSkipped) {
  NiceMock<MockBackend> broken(std::vector<FakeDevice>(1), kFirst),
      sound(std::vector<FakeDevice>(1), kSecond);
  EXPECT_CALL(broken, create)
      .WillOnce(Fail(TSR_EDEVICE, "the driver is gone"))
      .WillOnce(Throw(std::runtime_error("the driver came back too late")))
      .WillRepeatedly(testing::DoDefault());
  FakePlugin first("broken", broken), second("sound", sound);
  EXPECT_EQ(best(), "sound");
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend("broken", selected, why), TSR_EDEVICE);
  EXPECT_THAT(why, HasSubstr("TSRP-307"));
  EXPECT_THAT(why, HasSubstr("the driver came back too late"));
  EXPECT_EQ(selectBackend("broken", selected, why), TSR_SUCCESS) << why;
}

TEST(Selecting, AScoreOfZeroIsSelectedByNameOnly) {
  NiceMock<MockBackend> mock;
  FakePlugin plugin("modest", mock);
  EXPECT_NE(best(), "modest");
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend("modest", selected, why), TSR_SUCCESS) << why;
}

TEST(Selecting, OneDeviceIsServedOnce) {
  NiceMock<MockBackend> a(gpus({"0000:65:00.0"}), kFirst), b(gpus({"0000:65:00.0"}), kSecond);
  FakePlugin first("a", a), second("b", b);
  EXPECT_EQ(reason("a"), "");
  EXPECT_THAT(reason("b"), HasSubstr("TSRP-206"));
  EXPECT_THAT(reason("b"), HasSubstr("0000:65:00.0 is served by a"));
  Selection selected; // selecting it by name still works
  std::string why;
  EXPECT_EQ(selectBackend("b", selected, why), TSR_SUCCESS) << why;
}

TEST(Selecting, OneUnsharedDeviceIsEnough) {
  NiceMock<MockBackend> a(gpus({"0000:65:00.0"}), kFirst), b(gpus({"0000:65:00.0", "0000:66:00.0"}), kSecond);
  FakePlugin first("a", a), second("b", b);
  EXPECT_EQ(reason("b"), "");
}

TEST(Selecting, WithoutADeviceTheNextIsSelected) {
  NiceMock<MockBackend> none(gpus({}), kFirst), some(std::vector<FakeDevice>(1), kSecond);
  FakePlugin first("none", none), second("some", some);
  EXPECT_EQ(best(), "some");
  EXPECT_THAT(reason("none"), HasSubstr("TSRP-204"));
  EXPECT_THAT(reason("none"), HasSubstr("the fake has no device"));
}

TEST(Selecting, AProbeThatThrowsIsReported) {
  NiceMock<MockBackend> mock;
  ON_CALL(mock, probe).WillByDefault(Throw(std::runtime_error("the driver is of the wrong age")));
  FakePlugin plugin("sick", mock);
  EXPECT_THAT(reason("sick"), HasSubstr("TSRP-205"));
  EXPECT_THAT(reason("sick"), HasSubstr("the driver is of the wrong age"));
}

TEST(Selecting, InvalidProbeResultsAreRefused) {
  NiceMock<MockBackend> mock(std::vector<FakeDevice>(1), 1001);
  FakePlugin plugin("boasts", mock);
  EXPECT_THAT(reason("boasts"), HasSubstr("score of 1001"));
}

TEST(Selecting, EachDeviceHasItsContext) {
  NiceMock<MockBackend> mock(gpus({"0000:65:00.0", "0000:66:00.0"}));
  FakePlugin plugin("pair", mock);
  EXPECT_CALL(mock, createContext(1, nullptr, _));
  tsr_context_options_t o = {sizeof o, "pair", 1, nullptr};
  tsr_context_t context = nullptr;
  ASSERT_OK(tsrCreateContextEx(&o, &context));
  tsr_device_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrGetDeviceInfo(context, &info));
  EXPECT_STREQ(info.name, "GPU at 0000:66:00.0");
  EXPECT_OK(tsrDestroyContext(context));

  o.device = 2;
  EXPECT_EQ(tsrCreateContextEx(&o, &context), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("2 device(s), there is no device 2"));
}

} // namespace
