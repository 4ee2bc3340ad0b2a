// Every way in which a plugin can be refused, each with its own code.
#include "core/objects/Backends.h"
#include "core/plugin/Probe.h"
#include "core/plugin/Quarantine.h"
#include "core/test/plugin/PluginFixture.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <tessera/tessera.h>

using namespace tessera;
using namespace tessera::test;
using testing::HasSubstr;

namespace {

using Plugins = PluginTest;

// First, because the automatic choice is made once per process.
TEST_F(Plugins, AnEmptyDirectoryLeavesTheCpu) {
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend(nullptr, selected, why), TSR_SUCCESS) << why;
  EXPECT_STREQ(selected.backend->name(), "cpu");
}

struct Refusal {
  const char *name;
  int code;
  const char *text;
};

/// Names the cases for gtest.
std::string caseName(const testing::TestParamInfo<Refusal> &info) {
  std::string out = info.param.name;
  for (char &c : out)
    if (c == '-') c = '_';
  return out;
}

class Loading : public PluginTest, public testing::WithParamInterface<Refusal> {};

TEST_P(Loading, IsRefused) {
  install(GetParam().name);
  PluginError error = load(GetParam().name);
  EXPECT_EQ(error.code, GetParam().code) << error.text;
  EXPECT_THAT(error.text, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Explicit, Loading,
    testing::Values(Refusal{"noteless", refusal::kNoNote, "no manifest"},
                    Refusal{"major", refusal::kAbiMajor, "plugin ABI 2."},
                    Refusal{"newer", refusal::kAbiNewer, "needs plugin ABI 1.99"},
                    Refusal{"foreign", refusal::kArchitecture, "riscv64-linux-gnu"},
                    Refusal{"isa", refusal::kIsa, "hypervector9"},
                    Refusal{"hardware", refusal::kHardware, "vendor ffff"},
                    Refusal{"node", refusal::kDeviceNode, "/dev/no-such-device does not exist"},
                    Refusal{"driver", refusal::kDriver, "no_such_module is not loaded"},
                    Refusal{"sanitized", refusal::kSanitizer, "memory sanitizer"},
                    Refusal{"feature", refusal::kFeature, "time_travel@1"},
                    Refusal{"undefined", refusal::kLoad, "nobodyHasThisSymbol"},
                    Refusal{"mute", refusal::kNoExport, "tsrPluginQuery"},
                    Refusal{"extra", refusal::kExtraExport, "oneMoreExport"},
                    Refusal{"fails", refusal::kQuery, "status 10"},
                    Refusal{"writes", refusal::kQuery, "past the end"},
                    Refusal{"lies", refusal::kNoteLies, "version '1.2.3', its code says '9.9.9'"},
                    Refusal{"slotless", refusal::kSlot, "context_create"},
                    Refusal{"tableless", refusal::kSlot, "no table"},
                    Refusal{"interface", refusal::kInterface, "interface is 9."}),
    caseName);

class Probing : public Loading {};

TEST_P(Probing, IsRefused) {
  install(GetParam().name);
  Candidate c = survey(GetParam().name);
  EXPECT_EQ(c.error.code, GetParam().code) << c.error.text;
  EXPECT_THAT(c.error.text, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(Automatic, Probing,
                         testing::Values(Refusal{"hangs", refusal::kProbeTimeout, "2 s"},
                                         Refusal{"floods", refusal::kProbeTimeout, "2 s"},
                                         Refusal{"exits", refusal::kProbeExited, "instead of answering"},
                                         Refusal{"crashes", refusal::kProbeCrashed, "signal"},
                                         Refusal{"nodevice", refusal::kNoDevice,
                                                 "the cable is not plugged in"},
                                         Refusal{"boasts", refusal::kProbeFailed, "score of 1000000"},
                                         Refusal{"undefined", refusal::kLoad, "nobodyHasThisSymbol"},
                                         Refusal{"fails", refusal::kQuery, "query failed"}),
                         caseName);

TEST_F(Plugins, AValidPluginIsSelected) {
  install("sound");
  EXPECT_EQ(load("sound").code, 0);
  Candidate c = survey("sound");
  EXPECT_EQ(c.error.code, 0) << c.error.text;
  EXPECT_TRUE(c.isLoaded);
  ASSERT_TRUE(c.found);
  EXPECT_EQ(c.found->score, 50);
  EXPECT_GT(c.noteMicroseconds, 0);
}

TEST_F(Plugins, UnknownOptionalFeaturesAreIgnored) {
  install("optional");
  EXPECT_EQ(load("optional").code, 0);
}

TEST_F(Plugins, TheOutputOfAProbeIsDiscarded) {
  install("chatty");
  testing::internal::CaptureStdout();
  EXPECT_EQ(survey("chatty").error.code, 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_F(Plugins, ChildrenOfAProbeAreNotWaitedFor) {
  const ProbeResult result = probeApart(proberPath(), install("parent").string());
  EXPECT_EQ(result.error.code, 0) << result.error.text;
  EXPECT_EQ(result.found.score, 50);
}

// The dynamic linker would map what is not there, and fault.
/// Returns the size of the part of the file that its loadable segments cover. The rest, such as debug
/// information, is not mapped.
uintmax_t mappedBytes(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  Elf64_Ehdr head;
  std::memcpy(&head, bytes.data(), sizeof head);
  uintmax_t end = 0;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + head.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max<uintmax_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

TEST_F(Plugins, TruncatedFilesAreRefused) {
  for (uintmax_t part = 1; part < 16; ++part) {
    // a different file each time, since a loaded file stays mapped
    directory = root / ("cut-" + std::to_string(part));
    std::filesystem::create_directory(directory);
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
    setenv("TESSERA_PLUGIN_PATH", directory.c_str(), 1);
    const auto path = install("sound");
    const uintmax_t mapped = mappedBytes(path), left = mapped * part / 16;
    std::filesystem::resize_file(path, left);
    const PluginError error = load("sound");
    EXPECT_EQ(error.code, refusal::kNotElf) << left << " of " << mapped;
    EXPECT_THAT(error.text, HasSubstr("truncated"));
  }
}

TEST_F(Plugins, WithoutTheProberThereIsNoProbe) {
  EXPECT_EQ(probeApart("", install("sound").string()).error.code, refusal::kNoProber);
}

TEST_F(Plugins, AThrowingConstructorBecomesAStatus) {
  install("throws");
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend("throws", selected, why), TSR_EDEVICE);
  EXPECT_THAT(why, HasSubstr("TSRP-307"));
  EXPECT_THAT(why, HasSubstr("no luck today"));
}

TEST_F(Plugins, AreDestroyedThenShutDownWhenTheProcessEnds) {
  install("polite");
  auto use = [] {
    const bool ok = [] {
      Selection selected; // destroyed before the end of the process, as in the calls of the C ABI
      std::string why;
      return selectBackend("polite", selected, why) == TSR_SUCCESS;
    }();
    std::exit(ok ? 0 : 1);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), "destroyed, shut down");
}

TEST_F(Plugins, ACrashIsQuarantinedUntilReset) {
  std::string path = install("crashes").string();
  EXPECT_EQ(survey("crashes").error.code, refusal::kProbeCrashed);
  const std::string key = quarantineKey(path, "");
  EXPECT_THAT(quarantined(key), HasSubstr("signal"));
  // The same file at another path represents another process: this process has not probed it yet.
  std::filesystem::rename(directory, root / "moved");
  directory = root / "moved";
  setenv("TESSERA_PLUGIN_PATH", directory.c_str(), 1);
  EXPECT_EQ(survey("crashes").error.code, refusal::kQuarantined);
  uint32_t count = 0;
  EXPECT_EQ(tsrResetQuarantine(&count), TSR_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(quarantined(key), "");
}

TEST_F(Plugins, AnotherBuildIsNotQuarantined) {
  std::string path = install("crashes").string();
  const std::string before = quarantineKey(path, "550.1");
  EXPECT_NE(before, quarantineKey(path, "550.2")); // another driver version
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_NE(before, quarantineKey(path, "550.1"));
}

TEST_F(Plugins, OneDeviceIsNotOfferedTwice) {
  install("twin-a");
  install("twin-b");
  const auto report = loadReport(/*probe=*/true);
  // The survey finds both. The selection goes by rank, and the second has no device left.
  EXPECT_EQ(survey("twin-a").error.code, 0);
  size_t count = 0;
  bool refused = false;
  for (size_t i = 0;; ++i) {
    auto row = backendRow(i, count);
    if (!row) break;
    if (std::string_view(row->name) == "twin-b")
      refused = std::string_view(row->reason).find("TSRP-206") != std::string_view::npos;
  }
  EXPECT_TRUE(refused);
  EXPECT_THAT(report, HasSubstr("twin-a"));
}

TEST_F(Plugins, DisabledOnesAreNotLoaded) {
  install("sound");
  setenv("TESSERA_BACKENDS_DISABLE", "ptx,sound", 1);
  EXPECT_EQ(load("sound").code, refusal::kDisabled);
  EXPECT_EQ(survey("sound").error.code, refusal::kDisabled);
  unsetenv("TESSERA_BACKENDS_DISABLE");
}

TEST_F(Plugins, AliasesAreDisabledToo) {
  PluginError error;
  std::string path;
  setenv("TESSERA_BACKENDS_DISABLE", "level_zero", 1);
  EXPECT_FALSE(loadPlugin(TSR_PLUGIN_BACKEND, "levelzero", error, path));
  EXPECT_EQ(error.code, refusal::kDisabled);
  unsetenv("TESSERA_BACKENDS_DISABLE");
}

TEST_F(Plugins, TheFirstOfTwoWithOneNameIsSelected) {
  install("sound");
  std::filesystem::path second = root / "second";
  std::filesystem::create_directory(second);
  std::filesystem::permissions(second, std::filesystem::perms(0755));
  std::filesystem::copy_file(pathOf("sound"), second / "libtessera-sound.so");
  setenv("TESSERA_PLUGIN_PATH", (directory.string() + ":" + second.string()).c_str(), 1);
  int duplicates = 0;
  for (Candidate &c : surveyPlugins(TSR_PLUGIN_BACKEND, true))
    if (c.name == "sound" && c.error.code == refusal::kDuplicate) ++duplicates;
  EXPECT_EQ(duplicates, 1);
}

TEST_F(Plugins, TheFileNameMustMatchTheManifest) {
  install("sound");
  std::filesystem::rename(pathOf("sound"), pathOf("other"));
  EXPECT_EQ(load("other").code, refusal::kFileName);
}

TEST_F(Plugins, TheKindMustMatch) {
  install("sound");
  std::filesystem::rename(pathOf("sound"), directory / "libtessera-mapper-sound.so");
  PluginError error;
  std::string path;
  EXPECT_EQ(loadPlugin(TSR_PLUGIN_MAPPER, "sound", error, path), nullptr);
  EXPECT_EQ(error.code, refusal::kKind);
}

TEST_F(Plugins, AFileNamedAsAnotherKindIsRefused) {
  install("sound");
  std::filesystem::rename(pathOf("sound"), pathOf("mapper-sound"));
  Candidate c = survey("sound");
  EXPECT_EQ(c.error.code, refusal::kKind);
  EXPECT_EQ(c.error.text, "it is of kind backend, its file is named as a mapper is");
  EXPECT_THAT(c.error.fix, HasSubstr("name it libtessera-sound.so"));
  const auto house = directory / "libtessera-house.so"; // profiles in a file named like a backend
  std::filesystem::copy_file(std::filesystem::path(TESSERA_BROKEN_PLUGINS) / "libtessera-numerics-house.so",
                             house);
  std::filesystem::permissions(house, std::filesystem::perms(0644));
  EXPECT_EQ(load("house").code, refusal::kKind);
}

TEST_F(Plugins, APluginOfTwoKindsIsFoundAsEither) {
  install("numerics-both");
  for (uint32_t kind : {TSR_PLUGIN_MAPPER, TSR_PLUGIN_NUMERICS}) {
    PluginError error;
    std::string path;
    EXPECT_NE(loadPlugin(kind, "both", error, path), nullptr) << error.text;
    EXPECT_THAT(usablePlugins(kind), testing::Contains("both"));
  }
  EXPECT_EQ(load("both").code, refusal::kNotInstalled);
}

TEST_F(Plugins, ANameOfTesseraIsRefused) {
  install("cpu");
  bool isThere = false;
  for (const Candidate &c : surveyPlugins(TSR_PLUGIN_BACKEND, /*probe=*/false))
    if (c.path == pathOf("cpu")) {
      isThere = true;
      EXPECT_EQ(c.error.code, refusal::kNameTaken);
      EXPECT_THAT(c.error.text, HasSubstr("'cpu'"));
    }
  EXPECT_TRUE(isThere);
  // It does not hide the plugin that has the name either.
  size_t count = 0;
  for (size_t i = 0; auto row = backendRow(i, count); ++i)
    if (std::string_view(row->name) == "cpu") EXPECT_STREQ(row->reason, "");
}

TEST_F(Plugins, AnUnknownNameListsThoseInTheDirectories) {
  install("sound");
  install("newer"); // cannot be used
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend("elsewhere", selected, why), TSR_ENOTFOUND);
  EXPECT_THAT(why, testing::ContainsRegex("available: cpu, .*sound"));
  EXPECT_THAT(why, testing::Not(HasSubstr("newer")));
  EXPECT_EQ(selectBackend("suond", selected, why), TSR_ENOTFOUND);
  EXPECT_THAT(why, HasSubstr("did you mean sound?"));
}

TEST_F(Plugins, AMissingPluginListsTheSearchedDirectories) {
  PluginError error = load("nowhere");
  EXPECT_EQ(error.code, refusal::kNotInstalled);
  EXPECT_THAT(error.text, HasSubstr(directory.string()));
}

TEST_F(Plugins, AnExplicitChoiceLoadsNoOtherPlugin) {
  install("sound");
  install("crashes");
  Selection selected;
  std::string why;
  EXPECT_EQ(selectBackend("sound", selected, why), TSR_SUCCESS) << why;
  EXPECT_STREQ(selected.backend->name(), "sound");
  EXPECT_FALSE(std::filesystem::exists(root / "cache" / "quarantine")); // the other plugin was not probed
}

TEST_F(Plugins, TheNoteMayReplaceTheProbe) {
  install("nodevice");
  setenv("TESSERA_PROBE", "note", 1);
  EXPECT_EQ(survey("nodevice").error.code, 0);
  unsetenv("TESSERA_PROBE");
}

TEST_F(Plugins, TheProbeMayBeMadeInProcess) {
  install("nodevice");
  setenv("TESSERA_PROBE", "inproc", 1);
  EXPECT_EQ(survey("nodevice").error.code, refusal::kNoDevice);
  unsetenv("TESSERA_PROBE");
}

TEST_F(Plugins, TheReportHasCodeReasonAndFix) {
  install("newer");
  const char *json = nullptr;
  ASSERT_EQ(tsrGetLoadReport(TSR_REPORT_PROBE, &json), TSR_SUCCESS);
  EXPECT_THAT(json, HasSubstr("TSRP-104"));
  EXPECT_THAT(json, HasSubstr("upgrade libtessera1"));
  EXPECT_THAT(json, HasSubstr("\"name\":\"cpu\""));
}

TEST(PluginErrors, RenderTheirParts) {
  PluginError e{refusal::kAbiNewer, "needs more", "upgrade"};
  EXPECT_EQ(e.render("/x/libtessera-a.so"), "TSRP-104 /x/libtessera-a.so: needs more / fix: upgrade");
  EXPECT_EQ(e.render(""), "TSRP-104: needs more / fix: upgrade");
  EXPECT_EQ(e.render("/x/\x1b[31m\n\x7f"), "TSRP-104 /x/\\x1b[31m\\x0a\\x7f: needs more / fix: upgrade");
}

} // namespace
