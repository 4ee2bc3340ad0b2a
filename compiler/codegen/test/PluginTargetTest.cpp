// Targets of codegen plugins, sound and broken: the compiler gets an image or an error, whatever they do.
#include "core/bundle/Bundle.h"
#include "core/service/BuildId.h"
#include "core/service/CodegenPlugins.h"
#include "core/service/CompilerService.h"
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/codegen.hpp>

using namespace tessera;
using testing::HasSubstr;

namespace {

constexpr const char *kAdd = R"(import tessera as ts
@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        y[i] = x[i] + y[i]
)";

tsr_cg_target_t soundRow() {
  tsr_cg_target_t row{};
  row.struct_size = sizeof row;
  row.architecture = "v1", row.triple = "x86_64-unknown-linux-gnu", row.cpu = "x86-64-v3", row.features = "";
  row.image_format = TSR_IMAGE_SPIRV;
  row.vector_bytes = 32, row.vector_registers = 16;
  return row;
}

/// The one plugin there is, "toy"; its slots are these functions.
struct Toy {
  std::function<int32_t(uint32_t, tsr_cg_target_t *)> target;
  std::function<int32_t(const tsr_cg_input_t *, const tsr_cg_sink_t *, const tsr_cg_sink_t *, tsr_text_t *)>
      compile;
  std::string refusal; // not empty: why it cannot be loaded
  std::string ir;      // what compile was given last
  std::vector<std::string> kernels;
};
Toy toy;

int32_t send(const tsr_cg_sink_t *sink, std::string_view bytes) {
  return sink->write(sink->user, bytes.data(), bytes.size());
}

class OnlyToy final : public CodegenPlugins {
public:
  CodegenPlugin load(std::string_view name, std::string &why) override {
    if (name != "toy") return {};
    why = toy.refusal;
    if (!why.empty()) return {};
    const tsr_codegen_api_t table = {
        sizeof table, TSR_CODEGEN_API_MAJOR, TSR_CODEGEN_API_MINOR,
        [](uint32_t index, tsr_cg_target_t *out) { return toy.target(index, out); },
        [](const tsr_cg_input_t *in, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
           tsr_text_t *text) { return toy.compile(in, image, messages, text); }};
    return {"toy", "1.2", table, std::make_shared<int>()};
  }
  std::vector<std::string> names() override { return {"toy"}; }
  std::optional<std::string> identity(std::string_view) override { return std::nullopt; }
};

class CodegenPluginTest : public testing::Test {
protected:
  CodegenPluginTest() {
    static OnlyToy plugins;
    service_ = tesseraCompilerService(TESSERA_BUILD_ID, &plugins);
    toy = {};
    serve(soundRow());
    toy.compile = [](const tsr_cg_input_t *in, const tsr_cg_sink_t *image, auto, auto) {
      toy.ir.assign(in->ir, in->ir_bytes);
      for (uint64_t i = 0; i < in->kernel_count; ++i)
        toy.kernels.emplace_back(in->kernels[i]);
      return send(image, "an image");
    };
  }

  static void serve(tsr_cg_target_t row) {
    toy.target = [row](uint32_t index, tsr_cg_target_t *out) -> int32_t {
      if (index) return TSR_ENOTFOUND;
      *out = row;
      return TSR_SUCCESS;
    };
  }

  CompileStatus compile(const char *target = "toy:v1") {
    CompileOptions options;
    options.targets = {target};
    bytes_.clear(), diags_.clear();
    return service_->compile(kAdd, options, bytes_, diags_);
  }
  void refused(const char *code, const char *text, const char *target = "toy:v1") {
    EXPECT_NE(compile(target), CompileStatus::Ok);
    ASSERT_EQ(diags_.size(), 1u);
    EXPECT_EQ(diags_[0].code, code);
    EXPECT_THAT(diags_[0].message + " / " + diags_[0].hint, HasSubstr(text));
  }

  CompilerService *service_;
  std::string bytes_;
  std::vector<Diagnostic> diags_;
};

TEST_F(CodegenPluginTest, MakesTheImageOfABundle) {
  ASSERT_EQ(compile(), CompileStatus::Ok) << diags_.at(0).message;
  Bundle bundle;
  BundleError error;
  ASSERT_TRUE(readBundle(bytes_, "toy", bundle, error)) << error.text();
  ASSERT_EQ(bundle.images.size(), 1u);
  const BundleImage &image = bundle.images[0];
  EXPECT_EQ(image.target, "toy:v1");
  EXPECT_EQ(image.format, ImageFormat::Spirv);
  EXPECT_EQ(image.data, "an image");
  ASSERT_EQ(image.entries.size(), 1u);
  EXPECT_THAT(image.entries[0].metadata, HasSubstr("toy:v1"));
  // The kernel that the runtime will look for is the one that the plugin was told of, and is in the IR.
  EXPECT_THAT(toy.kernels, testing::ElementsAre(image.entries[0].name));
  EXPECT_THAT(toy.ir, HasSubstr("define void @" + image.entries[0].name + "(ptr"));
  EXPECT_THAT(toy.ir, HasSubstr("target triple = \"x86_64-unknown-linux-gnu\""));
  EXPECT_THAT(toy.ir, HasSubstr("\"target-cpu\"=\"x86-64-v3\""));
  EXPECT_THAT(toy.ir, HasSubstr("<8 x float>"));
}

TEST_F(CodegenPluginTest, ShowsTheIrAsAssembly) {
  CompileOptions options;
  options.targets = {"toy:v1"};
  std::string text;
  ASSERT_EQ(service_->emit(kAdd, options, Emit::Assembly, text, diags_), CompileStatus::Ok);
  EXPECT_THAT(text, HasSubstr("define void @"));
}

TEST_F(CodegenPluginTest, LowersForOtherProcessors) {
  tsr_cg_target_t row = soundRow();
  row.triple = "aarch64-unknown-linux-gnu", row.cpu = "generic", row.vector_bytes = 16;
  serve(row);
  ASSERT_EQ(compile(), CompileStatus::Ok) << diags_.at(0).message;
  EXPECT_THAT(toy.ir, HasSubstr("target triple = \"aarch64-unknown-linux-gnu\""));
  EXPECT_THAT(toy.ir, HasSubstr("<4 x float>"));
  EXPECT_THAT(toy.ir, testing::Not(HasSubstr("llvm.x86")));
}

TEST_F(CodegenPluginTest, AnotherPluginOfTheNameIsAsked) {
  ASSERT_EQ(compile(), CompileStatus::Ok);
  tsr_cg_target_t row = soundRow();
  row.vector_bytes = 16;
  serve(row);
  ASSERT_EQ(compile(), CompileStatus::Ok);
  EXPECT_THAT(toy.ir, HasSubstr("<4 x float>"));
}

TEST_F(CodegenPluginTest, UnknownNamesListThePlugins) {
  refused("E_TARGET_UNKNOWN", "toy:", "tuy:v1");
  refused("E_TARGET_UNKNOWN", "its targets are toy:v1", "toy:v2");
  refused("E_TARGET_UNKNOWN", "needs an architecture", "toy");
}

TEST_F(CodegenPluginTest, ARefusedPluginSaysWhy) {
  toy.refusal = "TSRP-103 it exchanges IR with another compiler";
  refused("E_TARGET_UNKNOWN", "TSRP-103");
}

struct BrokenRow {
  const char *name;
  void (*alter)(tsr_cg_target_t &);
  const char *text;
};
class BrokenRows : public CodegenPluginTest, public testing::WithParamInterface<BrokenRow> {};

TEST_P(BrokenRows, AreRefused) {
  tsr_cg_target_t row = soundRow();
  GetParam().alter(row);
  serve(row);
  refused("E_TARGET_UNKNOWN", GetParam().text);
}

std::string longName(5000, 'a');

INSTANTIATE_TEST_SUITE_P(
    Each, BrokenRows,
    testing::Values(
        BrokenRow{"Nameless", [](auto &r) { r.architecture = nullptr; }, "no name"},
        BrokenRow{"Path", [](auto &r) { r.architecture = "../v1"; }, "no name"},
        BrokenRow{"Long", [](auto &r) { r.architecture = longName.c_str(); }, "no name"},
        BrokenRow{"NoTriple", [](auto &r) { r.triple = nullptr; }, "no triple"},
        BrokenRow{"EmptyTriple", [](auto &r) { r.triple = ""; }, "no triple"},
        BrokenRow{"Triple32", [](auto &r) { r.triple = "i386-unknown-linux-gnu"; }, "64-bit"},
        BrokenRow{"BigEndian", [](auto &r) { r.triple = "s390x-unknown-linux-gnu"; }, "little-endian"},
        BrokenRow{"UnknownTriple", [](auto &r) { r.triple = "moon64"; }, "moon64"},
        BrokenRow{"UnknownCpu", [](auto &r) { r.cpu = "z80"; }, "z80"},
        BrokenRow{"NoCpu", [](auto &r) { r.cpu = nullptr; }, "cpu"},
        BrokenRow{"NoFeatures", [](auto &r) { r.features = nullptr; }, "features"},
        BrokenRow{"ControlCharacters", [](auto &r) { r.features = "\x1b[2J"; }, "features"},
        BrokenRow{"Format", [](auto &r) { r.image_format = 99; }, "image_format"},
        BrokenRow{"HostKernels", [](auto &r) { r.image_format = TSR_IMAGE_HOST_KERNELS; }, "image_format"},
        BrokenRow{"OddVectors", [](auto &r) { r.vector_bytes = 24; }, "vector_bytes"},
        BrokenRow{"NoVectors", [](auto &r) { r.vector_bytes = 0; }, "vector_bytes"},
        BrokenRow{"NoRegisters", [](auto &r) { r.vector_registers = 0; }, "vector_registers"},
        BrokenRow{"Flag", [](auto &r) { r.collapses_axes = 2; }, "collapses_axes"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST_F(CodegenPluginTest, TablesThatDoNotEndOrRepeatAreRefused) {
  toy.target = [](uint32_t, tsr_cg_target_t *out) -> int32_t {
    *out = soundRow();
    return TSR_SUCCESS;
  };
  refused("E_TARGET_UNKNOWN", "listed twice");
  static std::string names[300];
  toy.target = [](uint32_t index, tsr_cg_target_t *out) -> int32_t {
    *out = soundRow();
    names[index] = "v" + std::to_string(index);
    out->architecture = names[index].c_str();
    return TSR_SUCCESS;
  };
  refused("E_TARGET_UNKNOWN", "more than 256 targets");
}

TEST_F(CodegenPluginTest, TargetsThatThrowAreAnError) {
  toy.target = [](uint32_t, tsr_cg_target_t *) -> int32_t { throw std::runtime_error("no rows"); };
  refused("E_TARGET_UNKNOWN", "no rows");
}

TEST_F(CodegenPluginTest, CompilationsThatThrowAreAnError) {
  toy.compile = [](auto...) -> int32_t { throw std::runtime_error("not today"); };
  refused("E_CODEGEN_PLUGIN", "not today");
  toy.compile = [](auto...) -> int32_t { throw 7; };
  refused("E_CODEGEN_PLUGIN", "not a std::exception");
}

TEST_F(CodegenPluginTest, FailuresAreReportedWithTheirText) {
  toy.compile = [](auto, auto, auto, tsr_text_t *why) -> int32_t {
    thunk::put(why, "no such instruction");
    return TSR_ECOMPILE;
  };
  refused("E_CODEGEN_PLUGIN", "codegen plugin toy 1.2: compile failed with status 6: no such instruction");
  toy.compile = [](auto...) -> int32_t { return -12345; };
  refused("E_CODEGEN_PLUGIN", "status -12345");
}

TEST_F(CodegenPluginTest, NoImageIsAnError) {
  toy.compile = [](auto...) -> int32_t { return TSR_SUCCESS; };
  refused("E_CODEGEN_PLUGIN", "gave no image");
  toy.compile = [](auto, const tsr_cg_sink_t *image, auto, auto) -> int32_t { return send(image, ""); };
  refused("E_CODEGEN_PLUGIN", "gave no image");
}

TEST_F(CodegenPluginTest, SinksTakeNothingImpossible) {
  toy.compile = [](auto, const tsr_cg_sink_t *image, auto, auto) -> int32_t {
    EXPECT_EQ(image->write(image->user, nullptr, 8), TSR_EINVAL);
    EXPECT_EQ(image->write(image->user, nullptr, 0), TSR_SUCCESS);
    // The sizes of a liar: nothing of the data is read.
    EXPECT_EQ(image->write(image->user, "x", uint64_t(1) << 40), TSR_EOOM);
    EXPECT_EQ(image->write(image->user, "x", ~uint64_t(0)), TSR_EOOM);
    return TSR_SUCCESS;
  };
  refused("E_CODEGEN_PLUGIN", "gave no image");
}

TEST_F(CodegenPluginTest, OfAGigabyteOfMessagesTheBeginningIsAWarning) {
  toy.compile = [](auto, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages, auto) -> int32_t {
    const std::string piece(1 << 20, 'm');
    for (int i = 0; i < 1024; ++i)
      EXPECT_EQ(send(messages, piece), TSR_SUCCESS);
    return send(image, "an image");
  };
  ASSERT_EQ(compile(), CompileStatus::Ok);
  ASSERT_EQ(diags_.size(), 1u);
  EXPECT_EQ(diags_[0].code, "W_CODEGEN_PLUGIN");
  EXPECT_EQ(diags_[0].severity, Diagnostic::Severity::Warning);
  EXPECT_THAT(diags_[0].message, HasSubstr("codegen plugin toy: mmm"));
  EXPECT_LT(diags_[0].message.size(), 17000u);
}

} // namespace
