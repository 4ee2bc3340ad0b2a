// Look-up files of tuned configurations, and what a compilation takes from them (core/tuning).
#include "core/metadata/Guard.h"
#include "core/service/BuildId.h"
#include "core/support/HostCpu.h"
#include "core/support/OutputFile.h"
#include "core/tuning/TunedBodies.h"
#include "core/tuning/TunedFile.h"
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <unistd.h>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Signature signature() {
  Signature s;
  s.kernel = "k";
  s.params = {{.name = "X", .isTensor = true, .dtype = "f32", .dims = {"M", "N"}}};
  s.dims = {"M", "N"};
  s.tunables = {{"B", {1, 2, 3, 4, 5}}};
  return s;
}

TunedRow row(int64_t value, std::vector<std::string> when, double gain = 1.5) {
  return {tunedKernelOf(signature()),
          tunedArchOf("cpu"),
          "standard",
          TESSERA_BUILD_ID,
          std::move(when),
          {{"B", value}},
          gain};
}

TEST(TunedKey, AClassOfSizesHasQuarterSteps) {
  EXPECT_THAT(sizeClassOf({{"M", 512}}, false), ElementsAre("M >= 512", "M < 640", "M % 16 == 0"));
  EXPECT_THAT(sizeClassOf({{"M", 511}}, false), ElementsAre("M >= 448", "M < 512", "M % 16 != 0"));
  EXPECT_THAT(sizeClassOf({{"M", 1}, {"N", 0}}, false), ElementsAre("M == 1", "N == 0"));
  EXPECT_THAT(sizeClassOf({{"M", 512}}, true), ElementsAre("M == 512"));
  for (int64_t value :
       {0L, 1L, 7L, 8L, 9L, 13L, 15L, 16L, 17L, 97L, 127L, 128L, 1L << 31, (1L << 62) - 1, INT64_MAX})
    for (const std::string &text : sizeClassOf({{"M", value}}, false)) {
      Expected<Guard> guard = Guard::parse(text, {"M"});
      ASSERT_TRUE(guard) << text;
      EXPECT_TRUE(guard->holds(&value)) << text << " for " << value;
    }
}

TEST(TunedKey, AKernelIsItsSignature) {
  EXPECT_EQ(tunedKernelOf(signature()), "k(X: f32[M, N]) B: 1 2 3 4 5");
  Signature other = signature();
  other.params[0].dtype = "bf16";
  EXPECT_NE(tunedKernelOf(other), tunedKernelOf(signature()));
}

TEST(TunedKey, AProcessorHasItsNameOrItsModel) {
  EXPECT_EQ(tunedArchOf("ptx:sm_90"), "ptx:sm_90");
  EXPECT_EQ(tunedArchOf("cpu:znver3"), "cpu:znver3");
  if (!hostCpuName().empty()) {
    EXPECT_EQ(tunedArchOf("cpu"), "cpu:" + std::string(hostCpuName()));
    return;
  }
  // Linux reads the same three from the processor.
  std::ifstream file("/proc/cpuinfo");
  std::string vendor, family, model;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string name = line.substr(0, line.find('\t')),
                      value = line.substr(std::min(line.size(), line.find(": ") + 2));
    if (name == "vendor_id") vendor = value;
    if (name == "cpu family") family = value;
    if (name == "model") model = value;
  }
  EXPECT_EQ(tunedArchOf("cpu"), "cpu:" + vendor + "-" + family + "-" + model);
}

TEST(TunedFile, ReadsWhatItWrote) {
  const std::vector<TunedRow> rows = {row(2, {"M == 1"}), row(3, {"M >= 8", "N % 16 != 0"}, 2.25)};
  const std::string bytes = writeTuned(rows);
  EXPECT_EQ(*readTuned(bytes), rows);
  EXPECT_EQ(bytes, writeTuned(rows));
  EXPECT_THAT(*readTuned(writeTuned({})), IsEmpty());
}

TEST(TunedFile, RefusesEveryOtherByte) {
  const std::string bytes = writeTuned({row(2, {"M == 1"})});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(readTuned(damaged)) << "byte " << i;
    EXPECT_FALSE(readTuned(bytes.substr(0, i))) << i << " bytes";
  }
  EXPECT_FALSE(readTuned(bytes + "x"));
  EXPECT_EQ(readTuned("").error().code, "W_TUNED");
}

/// Knows the signatures of one kernel.
struct FakeCompiler : CompilerService {
  CompileStatus signatures(std::string_view, const std::string &, std::vector<Signature> &out,
                           std::vector<Diagnostic> &, const Supplied &supplied) noexcept override {
    ++asked;
    constants = supplied.constants.size();
    out = {signature()};
    return CompileStatus::Ok;
  }
  CompileStatus definition(std::string_view, const CompileOptions &, Definition &,
                           std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  CompileStatus compile(std::string_view, const CompileOptions &, std::string &,
                        std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  CompileStatus emit(std::string_view, const CompileOptions &, Emit, std::string &,
                     std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  CompileStatus choices(std::string_view, const CompileOptions &, std::vector<VariantChoice> &,
                        std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  std::vector<std::string> targets() noexcept override { return {}; }
  std::string explain(std::string_view) noexcept override { return ""; }
  std::string version() noexcept override { return ""; }
  int asked = 0;
  size_t constants = 0;
};

class TunedBodies : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tuned-test-XXXXXX";
    path = std::string(mkdtemp(name)) + "/tuned.tsrt";
    setenv("TESSERA_TUNED", path.c_str(), 1);
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(path.substr(0, path.rfind('/')).c_str());
    unsetenv("TESSERA_TUNED");
  }
  void write(const std::vector<TunedRow> &rows) { ASSERT_FALSE(writeFile(path, writeTuned(rows))); }
  CompileOptions find(CompileOptions options = {}) {
    diags.clear();
    findTuned(compiler, "source", options, diags);
    return options;
  }
  static std::vector<int64_t> valuesOf(const CompileOptions &options) {
    std::vector<int64_t> out;
    for (const TunedBody &body : options.tuned)
      out.push_back(body.values[0].second);
    return out;
  }
  std::string path;
  FakeCompiler compiler;
  std::vector<Diagnostic> diags;
};

TEST_F(TunedBodies, KnownDimsDecide) {
  write({row(2, {"M == 1", "N >= 8"}), row(3, {"M == 2"})});
  CompileOptions known = find({.dims = {{"M", 1}, {"N", 8}}});
  ASSERT_EQ(known.tuned.size(), 1u);
  EXPECT_THAT(known.tuned[0].when, IsEmpty());
  EXPECT_EQ(known.tuned[0].values[0].second, 2);
  EXPECT_THAT(find({.dims = {{"M", 3}, {"N", 8}}}).tuned, IsEmpty());
}

TEST_F(TunedBodies, SignaturesHaveWhatTheCallerSupplies) {
  write({row(2, {"M == 1"})});
  (void)find({.supplied = {.types = {}, .constants = {{"K", "3"}}}});
  EXPECT_EQ(compiler.constants, 1u);
}

TEST_F(TunedBodies, UnknownDimsLeaveConditions) {
  write({row(2, {"M == 1", "N >= 8"}), row(3, {"M == 2"}, 1.9)});
  CompileOptions options = find({.dims = {{"N", 8}}});
  ASSERT_EQ(options.tuned.size(), 2u);
  EXPECT_THAT(options.tuned[0].when, ElementsAre("M == 2"));
  EXPECT_THAT(options.tuned[1].when, ElementsAre("M == 1"));
}

TEST_F(TunedBodies, AtMostThreeBodiesOfTheLargestGain) {
  write({row(2, {"M == 1"}, 1.1), row(3, {"M == 2"}, 1.2), row(4, {"M == 3"}, 1.3), row(5, {"M == 4"}, 1.4),
         row(5, {"M == 5"}, 1.05)});
  EXPECT_THAT(valuesOf(find()), ElementsAre(5, 4, 3, 5));
}

TEST_F(TunedBodies, OnlyTheRowsThatFit) {
  TunedRow kernel = row(2, {"M == 1"}), arch = kernel, numerics = kernel, compiler = kernel,
           value = row(9, {"M == 1"}), name = row(2, {"Q == 1"});
  kernel.kernel = "k(X: bf16[M, N]) B: 1 2 3 4 5";
  arch.arch = "cpu:other";
  numerics.numerics = "fast";
  compiler.compiler = "0.0.1-old";
  write({kernel, arch, numerics, compiler, value, name});
  EXPECT_THAT(find().tuned, IsEmpty());
  EXPECT_THAT(find().tuned, IsEmpty());
}

TEST_F(TunedBodies, TheCallersValuesAndFrozenTunablesComeFirst) {
  write({row(2, {"M == 1"})});
  EXPECT_THAT(valuesOf(find()), ElementsAre(2));
  EXPECT_THAT(find({.tunables = {{"B", 1}}}).tuned, IsEmpty());
  EXPECT_THAT(find({.numerics = "strict"}).tuned, IsEmpty());
  EXPECT_THAT(find({.kernels = {"other"}}).tuned, IsEmpty());
  CompileOptions ir;
  ir.isIr = true;
  EXPECT_THAT(find(ir).tuned, IsEmpty());
}

TEST_F(TunedBodies, AReplacedFileIsReadAgain) {
  EXPECT_THAT(find().tuned, IsEmpty());
  EXPECT_EQ(compiler.asked, 0) << "without a file nothing is asked";
  write({row(2, {"M == 1"})});
  EXPECT_THAT(valuesOf(find()), ElementsAre(2));
  write({row(3, {"M == 1"}), row(4, {"M == 2"})});
  EXPECT_THAT(valuesOf(find()), ElementsAre(3, 4));
  setenv("TESSERA_TUNED", "off", 1);
  EXPECT_THAT(find().tuned, IsEmpty());
}

TEST_F(TunedBodies, AFaultyFileIsReportedOnce) {
  ASSERT_FALSE(writeFile(path, "no look-up file"));
  EXPECT_THAT(find().tuned, IsEmpty());
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, "W_TUNED");
  EXPECT_EQ(diags[0].severity, Diagnostic::Severity::Warning);
  EXPECT_THAT(diags[0].message, HasSubstr(path));
  find();
  EXPECT_THAT(diags, IsEmpty());
}

} // namespace
} // namespace tessera
