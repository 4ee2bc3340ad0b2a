// What a running program reports if the system refuses the state of a better image's instructions. The linker
// replaces refusalOf (core/support/HostCpu.h), because a test cannot make Linux refuse what the processor
// lacks.
#include "core/support/HostCpu.h"
#include "core/test/Fixture.h"
#include "core/test/Support.h"

using namespace tessera;
using namespace tessera::test;

extern "C" std::string refused(const std::vector<std::string> &features) __asm__(
    "__wrap__ZN7tessera9refusalOfERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS6_EE");
std::string refused(const std::vector<std::string> &features) {
  const bool needsTiles = std::ranges::find(features, "amx-int8") != features.end();
  return needsTiles ? "Linux refuses this process the tile registers of AMX: Operation not permitted" : "";
}

namespace {

class CpuState : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    tsrSetLogCallback(
        [](void *user, tsr_log_level_t level, const char *code, const char *text) {
          auto &said = *static_cast<std::vector<std::string> *>(user);
          if (level == TSR_LOG_WARNING) said.push_back(std::string(code) + ": " + text);
        },
        &said, TSR_LOG_WARNING);
  }
  void TearDown() override {
    tsrSetLogCallback(nullptr, nullptr, TSR_LOG_WARNING);
    RuntimeTest::TearDown();
  }
  /// Loads a bundle with an image for each list of features, runs its kernel and unloads it.
  int64_t run(const std::vector<std::vector<std::string>> &features) {
    Bundle bundle;
    for (const std::vector<std::string> &list : features) {
      bundle.images.push_back(fixtureImage("cpu:level" + std::to_string(bundle.images.size()), {"first"}));
      bundle.images.back().features = list;
    }
    std::string bytes;
    BundleError error;
    EXPECT_TRUE(writeBundle(bundle, bytes, error)) << error.text();
    tsr_module_t m = nullptr;
    EXPECT_OK(tsrLoadModule(context, bytes.data(), bytes.size(), &m));
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrGetKernel(m, "first", &k));
    auto *out = alloc<int64_t>(1);
    EXPECT_OK(launch(k, nullptr, out));
    EXPECT_OK(tsrSynchronize(context));
    EXPECT_OK(tsrUnloadModule(m));
    return *out;
  }
  std::vector<std::string> said;
};

TEST_F(CpuState, ARefusalIsReportedOnceAndTheOtherImageRuns) {
  EXPECT_EQ(run({{}}), 42);
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(run({{}, {"amx-int8"}}), 42);
  EXPECT_EQ(run({{"amx-int8"}, {}}), 42);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(
      said[0],
      "W_CPU_STATE: code for cpu:level1 is not used: Linux refuses this process the tile registers of AMX: "
      "Operation not permitted");
  EXPECT_EQ(run({{}, {"amx-int8"}}), 42);
  EXPECT_EQ(std::ranges::count(said, said[0]), 1);
}

} // namespace
