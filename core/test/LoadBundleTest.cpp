// Bundles through the C ABI: which image is taken, and what is said when none can be.
#include "core/HostCpu.h"
#include "core/test/Fixture.h"
#include "core/test/Support.h"
#include <elf.h>

using namespace tessera;
using namespace tessera::test;

namespace {

class LoadBundle : public RuntimeTest {
protected:
  std::string bytes(const Bundle &bundle) {
    std::string out;
    BundleError error;
    EXPECT_TRUE(writeBundle(bundle, out, error)) << error.text();
    return out;
  }
  tsr_status_t load(const Bundle &bundle) { return load(bytes(bundle)); }
  tsr_status_t load(const std::string &image) {
    return tsrLoadModule(context, image.data(), image.size(), &m);
  }
  /// What kernel `name` of the module computes.
  int64_t run(const char *name) {
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrGetKernel(m, name, &k));
    auto *out = alloc<int64_t>(1);
    EXPECT_OK(launch(k, nullptr, out));
    EXPECT_OK(tsrSynchronize(context));
    return *out;
  }
  tsr_module_t m = nullptr;
};

TEST_F(LoadBundle, RunsItsKernels) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first", "second"})};
  ASSERT_OK(load(bundle));
  EXPECT_EQ(run("first"), 42);
  EXPECT_EQ(run("second"), 42);
  ASSERT_OK(tsrUnloadModule(m));
}

/// Each image holds one kernel, so that the kernel tells which one was taken.
TEST_F(LoadBundle, TakesTheImageThatAsksForMostOfWhatIsThere) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:plain", {"first"}), fixtureImage("cpu:better", {"second"}),
                   fixtureImage("cpu:impossible", {"first"})};
  bundle.images[1].features = {"sse3"};
  bundle.images[2].features = {"sse3", "telepathy"};
  ASSERT_OK(load(bundle));
  EXPECT_EQ(run(nullptr), 42);
  tsr_kernel_t k = nullptr;
  EXPECT_OK(tsrGetKernel(m, "second", &k));
}

TEST_F(LoadBundle, TakesTheImageOfThisProcessorFirst) {
  if (hostCpuName().empty()) GTEST_SKIP() << "this processor is not among the known ones";
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:better", {"first"}),
                   fixtureImage("cpu:" + std::string(hostCpuName()), {"second"})};
  bundle.images[0].features = {"sse3"};
  ASSERT_OK(load(bundle));
  tsr_kernel_t k = nullptr;
  EXPECT_OK(tsrGetKernel(m, "second", &k));
}

TEST_F(LoadBundle, ImagesOfOneTargetMakeOneModule) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"}), fixtureImage("cpu:x86-64", {"second"})};
  ASSERT_OK(load(bundle));
  EXPECT_EQ(run("first"), 42);
  EXPECT_EQ(run("second"), 42);
}

TEST_F(LoadBundle, NoImageIsToldWithWhatThereIs) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:impossible", {"first"}), fixtureImage("ptx:sm_90", {"first"})};
  bundle.images[0].features = {"telepathy"};
  EXPECT_EQ(load(bundle), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("[E_BUNDLE_NO_IMAGE] the image: no image for cpu"));
  EXPECT_TRUE(
      lastErrorHas("cpu:impossible (this processor has no telepathy), ptx:sm_90 (not of backend cpu)"));
  EXPECT_TRUE(lastErrorHas("and no IR"));
  bundle.images.clear();
  bundle.ir = {{"graph", "first", "module {}"}};
  EXPECT_NE(load(bundle), TSR_SUCCESS); // no compiler stands beside this program, or it refuses such IR
  EXPECT_EQ(m, nullptr);
}

TEST_F(LoadBundle, BadImagesAreRefused) {
  Bundle good;
  good.images = {fixtureImage("cpu:x86-64", {"first"})};
  Bundle bundle = good;
  bundle.images[0].entries[0].name = "third";
  EXPECT_EQ(load(bundle), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("[E_IMAGE_LOAD] the image: image for cpu:x86-64: it exports no symbol third"));
  bundle = good;
  bundle.images[0].data[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
  EXPECT_EQ(load(bundle), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("code for riscv, this machine is"));
  bundle = good;
  bundle.images[0].format = ImageFormat::Spirv;
  EXPECT_EQ(load(bundle), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("backend cpu loads no images of format spirv"));
  bundle = good;
  bundle.images[0].entries[0].metadata = "{name: x}";
  EXPECT_EQ(load(bundle), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("kernel metadata: line 1: target: missing"));
  bundle = good;
  bundle.abiMajor = 9;
  EXPECT_EQ(load(bundle), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("[E_BUNDLE_VERSION] the image: its ABI is 9.0"));
  std::string cut = bytes(good);
  cut.pop_back();
  EXPECT_EQ(load(cut), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("[E_BUNDLE_TRUNCATED]"));
  EXPECT_EQ(m, nullptr);
}

TEST_F(LoadBundle, Arguments) {
  const char text[] = "# source";
  EXPECT_EQ(tsrLoadModule(context, text, 8, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("[E_BUNDLE_FORMAT]"));
  EXPECT_EQ(tsrLoadModule(context, text, 0, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModule(context, nullptr, 7, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModule(context, text, 7, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModule(nullptr, text, 7, &m), TSR_EINVAL);
  EXPECT_EQ(m, nullptr);
}

} // namespace
