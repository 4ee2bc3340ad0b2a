// Hardware detection with a directory tree made by the test.
#include "core/plugin/Match.h"
#include "core/bundle/ImageFormat.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/Registry.h"
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class Machine : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-machine-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home = pattern;
    root = {home / "sys", home};
  }
  void TearDown() override { fs::remove_all(home); }
  void write(const fs::path &path, const std::string &text) {
    fs::create_directories((home / path).parent_path());
    std::ofstream(home / path) << text << "\n";
  }
  void device(const std::string &address, const std::string &vendor, const std::string &kind) {
    write("sys/bus/pci/devices/" + address + "/vendor", vendor);
    write("sys/bus/pci/devices/" + address + "/class", kind);
  }
  fs::path home;
  MachineRoot root;
};

TEST_F(Machine, FindsGpusAmongPciDevices) {
  EXPECT_TRUE(gpuVendors(root).empty());
  device("0000:01:00.0", "0x10de", "0x030200");
  device("0000:02:00.0", "0x1002", "0x120000");
  device("0000:03:00.0", "0x8086", "0x020000"); // a network card
  EXPECT_THAT(gpuVendors(root), testing::ElementsAre("1002", "10de"));
}

TEST_F(Machine, AMissingVendorIsNamed) {
  device("0000:01:00.0", "0x10de", "0x030000");
  Manifest m;
  m.pciVendors = {"10de"};
  EXPECT_FALSE(matchHardware(m, root));
  m.pciVendors = {"1002", "1022"};
  PluginError e = matchHardware(m, root);
  EXPECT_EQ(e.code, refusal::kHardware);
  EXPECT_THAT(e.text, testing::HasSubstr("1002, 1022"));
  EXPECT_THAT(e.text, testing::HasSubstr("vendors 10de"));
}

TEST_F(Machine, OneDeviceNodeIsEnough) {
  Manifest m;
  m.deviceNodes = {"/dev/a", "/dev/b"};
  EXPECT_EQ(matchHardware(m, root).code, refusal::kDeviceNode);
  write("dev/b", "");
  EXPECT_FALSE(matchHardware(m, root));
}

TEST_F(Machine, TheDriverMustBeNewEnough) {
  Manifest m;
  m.driverModule = "nvidia", m.minDriver = "525.60";
  EXPECT_EQ(matchHardware(m, root).code, refusal::kDriver);
  write("sys/module/nvidia/version", "470.239.06");
  EXPECT_THAT(matchHardware(m, root).text, testing::HasSubstr("is 470.239.06; it needs 525.60"));
  write("sys/module/nvidia/version", "550.54");
  EXPECT_FALSE(matchHardware(m, root));
}

/// Returns a file that matches this host.
PluginFile fitting(const tsr_host_info_t &host) {
  PluginFile file;
  file.manifest.abiMajor = host.abi_major;
  file.manifest.builtMinor = host.abi_minor;
#if defined(__x86_64__)
  file.machine = EM_X86_64, file.manifest.triplet = "x86_64-linux-gnu";
#else
  file.machine = EM_AARCH64, file.manifest.triplet = "aarch64-linux-gnu";
#endif
  return file;
}

TEST(Runtime, AcceptsSupportedVersions) {
  tsr_host_info_t host = pluginHost();
  host.abi_minor = 7;
  PluginFile file = fitting(host);
  file.manifest.builtMinor = 3;
  host.abi_floor = 3;
  EXPECT_NE(matchRuntime(file, host).code, refusal::kAbiOlder);
  host.abi_floor = 4;
  PluginError e = matchRuntime(file, host);
  EXPECT_EQ(e.code, refusal::kAbiOlder);
  EXPECT_THAT(e.text, testing::HasSubstr("takes 1.4 and newer"));
}

TEST(Runtime, AnotherCompilersIrIsRefused) {
  PluginFile file = fitting(pluginHost());
  file.manifest.kinds = TSR_PLUGIN_CODEGEN;
  file.manifest.compilerAbi = "another";
  PluginError e = matchRuntime(file, pluginHost());
  EXPECT_EQ(e.code, refusal::kCompilerAbi);
  EXPECT_THAT(e.text, testing::HasSubstr("another"));
}

TEST(Versions, CompareAsNumbers) {
  EXPECT_LT(compareVersions("9.1", "10.0"), 0);
  EXPECT_EQ(compareVersions("1.0", "1"), 0);
  EXPECT_GT(compareVersions("1.0.1", "1.0"), 0);
}

TEST(Hints, NameThePackageOfAGpuWithoutPlugin) {
  EXPECT_TRUE(installHints({"cpu"}, {}).empty());
  EXPECT_THAT(installHints({"cpu"}, {"10de"}),
              testing::ElementsAre(testing::HasSubstr("install tessera-backend-ptx")));
  EXPECT_TRUE(installHints({"cpu", "rocm"}, {"1002"}).empty());
}

TEST(KnownBackends, ComeFromTheFoldersUnderPlugins) {
  ASSERT_GE(knownBackends().size(), 2u);
  EXPECT_EQ(knownBackends().front().name, "cpu");
  for (const KnownBackend &row : knownBackends()) {
    EXPECT_EQ(knownBackend(row.name), &row);
    EXPECT_TRUE(isPluginName(row.name)) << row.name;
    EXPECT_TRUE(isOwnName(row.name)) << row.name;
    EXPECT_EQ(canonicalBackend(row.name), row.name);
    EXPECT_FALSE(row.devices.empty()) << row.name;
    EXPECT_FALSE(row.package.empty()) << row.name;
    EXPECT_EQ(row.pciVendors.empty(), row.name == "cpu") << row.name;
    for (std::string_view alias : row.aliases) {
      EXPECT_EQ(canonicalBackend(alias), row.name);
      EXPECT_TRUE(isOwnName(alias)) << alias;
    }
  }
  EXPECT_EQ(canonicalBackend("level_zero"), "levelzero");
  EXPECT_EQ(knownBackend("level_zero"), nullptr); // aliases are not resolved
  EXPECT_EQ(knownBackend("toy"), nullptr);
  EXPECT_FALSE(isOwnName("toy"));
  for (const char *name : {"null", "inprocess", "openmpi", "mpich", "profiles"})
    EXPECT_TRUE(isOwnName(name)) << name;
}

TEST(KnownBackends, EachImageFormatBelongsToOneBackend) {
  for (int i = 0; i <= static_cast<int>(ImageFormat::Cubin); ++i) {
    const std::string_view format = name(static_cast<ImageFormat>(i));
    int owners = 0;
    for (const KnownBackend &row : knownBackends())
      owners += static_cast<int>(std::count(row.imageFormats.begin(), row.imageFormats.end(), format));
    EXPECT_EQ(owners, 1) << format;
  }
  EXPECT_EQ(backendOfFormat("elf"), knownBackend("cpu"));
  EXPECT_EQ(backendOfFormat("jpeg"), nullptr);
}

} // namespace
