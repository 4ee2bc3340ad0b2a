// Bundles through the C ABI: which image is selected, and the error if none can run.
#include "core/support/HostCpu.h"
#include "core/test/Fixture.h"
#include "core/test/Support.h"
#include <elf.h>
#include <tessera/tessera.hpp>
#include <unistd.h>

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
  /// Returns what kernel `name` of the module computes.
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

/// Each image contains one kernel, so that the kernel identifies the selected image.
TEST_F(LoadBundle, PrefersTheImageWithTheMostSupportedFeatures) {
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

TEST_F(LoadBundle, PrefersTheImageOfThisProcessor) {
  if (hostCpuName().empty()) GTEST_SKIP() << "this processor is not among the known ones";
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:better", {"first"}),
                   fixtureImage("cpu:" + std::string(hostCpuName()), {"second"})};
  bundle.images[0].features = {"sse3"};
  ASSERT_OK(load(bundle));
  tsr_kernel_t k = nullptr;
  EXPECT_OK(tsrGetKernel(m, "second", &k));
}

TEST(HostCpu, HasATargetEvenIfItsNameIsUnknown) {
  const std::string_view level = __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
                                 : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
                                                                       : "x86-64-v2";
  EXPECT_EQ(hostCpuTarget(), "cpu:" + std::string(hostCpuName().empty() ? level : hostCpuName()));
}

TEST(HostCpu, TileRegistersTakeTheProcessorItsStateAndAPermission) {
  static int requests;
  requests = 0;
  constexpr uint32_t kAll = 1u << 22 | 1u << 24 | 1u << 25;
  constexpr uint64_t kState = uint64_t{3} << 17;
  auto grant = [] { return ++requests, 0; };
  auto refuse = [] { return ++requests, EPERM; };
  TileRegisters tiles = examineTiles(kAll, kState | 0xe7, grant);
  EXPECT_TRUE(tiles.hasTiles && tiles.multipliesBytes && tiles.multipliesBf16);
  EXPECT_EQ(requests, 1);
  tiles = examineTiles(1u << 24 | 1u << 25, kState, grant);
  EXPECT_TRUE(tiles.hasTiles && tiles.multipliesBytes && !tiles.multipliesBf16);
  tiles = examineTiles(kAll, kState, refuse);
  EXPECT_FALSE(tiles.hasTiles || tiles.multipliesBytes || tiles.multipliesBf16);
  EXPECT_EQ(tiles.refusal, EPERM);
  EXPECT_EQ(requests, 3);
  // Nothing is requested where it could not be granted.
  for (auto [edx, xcr0] : {std::pair<uint32_t, uint64_t>{0, kState},
                           {1u << 22 | 1u << 25, kState},
                           {kAll, uint64_t{1} << 17},
                           {kAll, uint64_t{1} << 18},
                           {kAll, 0}}) {
    tiles = examineTiles(edx, xcr0, grant);
    EXPECT_FALSE(tiles.hasTiles || tiles.multipliesBytes || tiles.multipliesBf16) << edx << " " << xcr0;
    EXPECT_EQ(tiles.refusal, 0);
  }
  EXPECT_EQ(requests, 3);
}

TEST(HostCpu, AnObstacleNamesTheFeature) {
  EXPECT_EQ(obstacleTo({}), "");
  EXPECT_EQ(obstacleTo({"telepathy"}), "this processor has no telepathy");
  if (firstMissing({"amx-tile"}).empty()) {
    EXPECT_EQ(obstacleTo({"amx-tile"}), "");
  } else if (std::string refusal = refusalOf({"amx-tile"}); refusal.empty()) {
    EXPECT_EQ(obstacleTo({"amx-tile"}), "this processor has no amx-tile");
  } else {
    EXPECT_EQ(obstacleTo({"amx-tile"}), refusal);
  }
  EXPECT_EQ(refusalOf({"telepathy"}), "");
}

TEST_F(LoadBundle, ImagesOfOneTargetMakeOneModule) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"}), fixtureImage("cpu:x86-64", {"second"})};
  ASSERT_OK(load(bundle));
  EXPECT_EQ(run("first"), 42);
  EXPECT_EQ(run("second"), 42);
}

TEST_F(LoadBundle, AMissingImageIsReportedWithTheAvailableOnes) {
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
  EXPECT_NE(load(bundle), TSR_SUCCESS); // there is no compiler beside this program, or it refuses such IR
  EXPECT_EQ(m, nullptr);
}

/// Whatever an image says of features, as raw ones say nothing: Linux has to be asked for tile registers.
TEST_F(LoadBundle, ProductsByAmxTakeItsTileRegisters) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"})};
  std::string &metadata = bundle.images[0].entries[0].metadata;
  const size_t at = metadata.find("numerics:");
  ASSERT_NE(at, std::string::npos) << metadata;
  metadata.insert(at, "products: [{instruction: tdpbssd.16x16x64, in: i8, acc: i32}], ");
  const std::string obstacle = obstacleTo({"amx-tile"});
  if (obstacle.empty()) {
    ASSERT_OK(load(bundle));
    return;
  }
  EXPECT_EQ(load(bundle), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("[E_IMAGE_LOAD] the image: image for cpu:x86-64: kernel first multiplies by AMX: "));
  EXPECT_TRUE(lastErrorHas(obstacle.c_str()));
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

TEST_F(LoadBundle, FromAFile) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"})};
  std::string path = testing::TempDir() + "/tessera-load-" + std::to_string(getpid()) + ".tsrb";
  std::ofstream(path, std::ios::binary) << bytes(bundle);
  std::string notes;
  tsr_load_options_t options{};
  options.struct_size = sizeof options;
  options.log = [](void *user, tsr_log_level_t, const char *, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  options.log_user = &notes;
  EXPECT_OK(tsrLoadModuleFromFile(context, path.c_str(), &options, &m));
  EXPECT_EQ(notes, "fp4 runs as fp6");
  EXPECT_EQ(run("first"), 42);
  m = nullptr;
  std::ofstream(path, std::ios::binary) << "cut";
  EXPECT_EQ(tsrLoadModuleFromFile(context, path.c_str(), nullptr, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas(("[E_BUNDLE_FORMAT] " + path).c_str()));
  std::remove(path.c_str());
  EXPECT_EQ(tsrLoadModuleFromFile(context, path.c_str(), nullptr, &m), TSR_EIO);
  EXPECT_TRUE(lastErrorHas("No such file"));
  EXPECT_EQ(tsrLoadModuleFromFile(context, "/", nullptr, &m), TSR_EIO);
  EXPECT_EQ(tsrLoadModuleFromFile(context, nullptr, nullptr, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleFromFile(nullptr, "x", nullptr, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleFromFile(context, "x", nullptr, nullptr), TSR_EINVAL);
  options.struct_size = 1;
  EXPECT_EQ(tsrLoadModuleFromFile(context, "x", &options, &m), TSR_EINVAL);
  EXPECT_EQ(m, nullptr);
}

TEST_F(LoadBundle, ThroughTheCppWrapper) {
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"})};
  Context own("cpu");
  const std::string image = bytes(bundle);
  EXPECT_NE(own.loadBundle(image).kernel("first").metadata().find("first"), std::string::npos);
  const std::string path = testing::TempDir() + "/tessera-wrapper-" + std::to_string(getpid()) + ".tsrb";
  std::ofstream(path, std::ios::binary) << image;
  EXPECT_NE(own.loadFile(path).kernel().metadata().find("first"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_ANY_THROW(own.loadFile(path));
  EXPECT_ANY_THROW(own.loadBundle("no bundle"));
}

class LoadImage : public LoadBundle {
protected:
  tsr_status_t load(const std::string &data) {
    std::vector<const char *> texts;
    for (const std::string &document : documents)
      texts.push_back(document.c_str());
    tsr_image_t image{};
    image.struct_size = sizeof image;
    image.data = data.data();
    image.size = data.size();
    image.metadata = texts.data();
    image.metadata_count = texts.size();
    return tsrLoadModuleEx(context, &image, &m);
  }
  std::vector<std::string> documents = {fixtureMetadata("first"), fixtureMetadata("second")};
  std::string elf = fileBytes(TESSERA_FIXTURE_KERNELS);
};

TEST_F(LoadImage, AnElfSharedObjectRuns) {
  ASSERT_OK(load(elf));
  EXPECT_EQ(run("first"), 42);
  EXPECT_EQ(run("second"), 42);
}

TEST_F(LoadImage, TheCompilersSymbolIsFound) {
  documents.push_back(fixtureMetadata("prefixed"));
  ASSERT_OK(load(elf));
  EXPECT_EQ(run("prefixed"), 42);
}

/// Kernels are not searched in the libraries that an image needs.
TEST_F(LoadImage, AFunctionOfALibraryIsNotAKernel) {
  documents = {fixtureMetadata("malloc")};
  EXPECT_EQ(load(elf), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("it exports no symbol malloc"));
}

/// Fallbacks of kernels are logged, however the code was loaded.
TEST_F(LoadImage, LogsFallbacks) {
  static std::vector<std::string> said;
  said.clear();
  auto say = [](void *, tsr_log_level_t, const char *code, const char *text) {
    said.push_back(std::string(code) + " " + text);
  };
  auto withFallback = [](const std::string &text) {
    std::string document = fixtureMetadata("first");
    return document.replace(document.find("fp4 runs as fp6"), 15, text);
  };
  Bundle bundle;
  bundle.images = {fixtureImage("cpu:x86-64", {"first"})};
  bundle.images[0].entries[0].metadata = withFallback("from memory");
  documents = {withFallback("of an image")};
  ASSERT_OK(tsrSetLogCallback(say, nullptr, TSR_LOG_NOTE));
  EXPECT_OK(LoadBundle::load(bundle));
  EXPECT_OK(load(elf));
  EXPECT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_ERROR));
  EXPECT_EQ(said, (std::vector<std::string>{"N_FALLBACK from memory", "N_FALLBACK of an image"}));
}

TEST_F(LoadImage, GpuFormatsAreUnimplementedByName) {
  EXPECT_EQ(load("// made elsewhere\n.version 8.4\n.target sm_90\n"), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("backend cpu loads no images of format ptx"));
  EXPECT_EQ(load(std::string("\x03\x02\x23\x07 spirv", 10)), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("backend cpu loads no images of format spirv"));
  std::string gpu = elf;
  gpu[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_AMDGPU);
  EXPECT_EQ(load(gpu), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("backend cpu loads no images of format hsaco"));
  gpu[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_CUDA);
  EXPECT_EQ(load(gpu), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("backend cpu loads no images of format cubin"));
}

TEST_F(LoadImage, ErrorsNameTheCause) {
  EXPECT_EQ(load("of no format"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the image (12 bytes) has no known format"));
  std::string other = elf;
  other[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
  EXPECT_EQ(load(other), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("[E_IMAGE_LOAD]"));
  EXPECT_TRUE(lastErrorHas("code for riscv"));
  documents[1] = fixtureMetadata("third");
  EXPECT_EQ(load(elf), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("exports no symbol third"));
  documents[1] = "{name: x}";
  EXPECT_EQ(load(elf), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("metadata[1]: line 1: target: missing"));
  documents.clear();
  EXPECT_EQ(load(elf), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("metadata is missing"));
  tsr_image_t image{};
  EXPECT_EQ(tsrLoadModuleEx(context, &image, &m), TSR_EINVAL); // struct_size is not set
  image.struct_size = sizeof image;
  EXPECT_EQ(tsrLoadModuleEx(context, &image, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("data is NULL"));
  EXPECT_EQ(tsrLoadModuleEx(context, nullptr, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleEx(nullptr, &image, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleEx(context, &image, nullptr), TSR_EINVAL);
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
