// The compiler as users of the library and the runtime see it: levels, metadata, snapshots, refusals.
#include "compiler/pipeline/Codes.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "core/metadata/KernelMetadata.h"
#include "core/service/BuildId.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "plugins/cpu/runtime/SharedObject.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/compiler.hpp>
#include <thread>

using namespace tessera;
using testing::HasSubstr;

namespace {

constexpr const char *kScale = R"(import tessera as ts
@ts.kernel
def scale(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = ts.tile.exp(x[i:i+64]) * a
)";

/// The width of a group depends on the backend.
constexpr const char *kGroupSum = R"(import tessera as ts
@ts.kernel
def total(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    sum = ts.tile.group.sum(x[i])
    if i < n:
        y[i] = sum
)";

constexpr const char *kCount = R"(import tessera as ts
@ts.kernel
def count(x: ts.Tensor["n", ts.f32], s: ts.Tensor[1, ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_add(s, 0, x[i])
)";

constexpr const char *kAttend = R"(import tessera as ts
@ts.jit
def attend(q: ts.Tensor["S", "D", ts.f32], k: ts.Tensor["S", "D", ts.f32], v: ts.Tensor["S", "D", ts.f32]):
    return ts.op.flash_attention(q, k, v)
)";

constexpr const char *kTuned = R"(import tessera as ts
@ts.kernel.autotune(space=dict(BLOCK=[16, 32]))
def tuned(x: ts.Tensor["n", ts.f32]):
    ctx = ts.tile.context()
    for i in ts.tile.parallel(0, n, ctx.BLOCK):
        x[i:i+ctx.BLOCK] = x[i:i+ctx.BLOCK] + 1.0
)";

/// The only kernel of a bundle, loaded.
struct Loaded {
  std::string metadata;
  std::shared_ptr<void> code;
  CpuKernelFn entry = nullptr;

  void open(const BundleImage &image) {
    std::string why;
    metadata = image.entries.at(0).metadata;
    code = cpu::loadSharedObject(image.data, why);
    ASSERT_TRUE(code) << why;
    entry = reinterpret_cast<CpuKernelFn>(const_cast<void *>(cpu::findSymbol(code, image.entries[0].name)));
    ASSERT_TRUE(entry);
  }
  void open(const std::string &bytes) {
    Bundle bundle;
    BundleError error;
    ASSERT_TRUE(readBundle(bytes, "bundle", bundle, error)) << error.text();
    ASSERT_EQ(bundle.images.size(), 1u);
    open(bundle.images[0]);
  }
};

CompilerService &service() { return *tesseraCompilerService(TESSERA_BUILD_ID); }

TEST(Sdk, EveryLevelCanBeInspectedInAnyOrder) {
  ModuleIR ir = tessera_frontend_compile(kScale);
  ASSERT_TRUE(ir);
  EXPECT_THAT(ir.inspect_ir("target"), HasSubstr("target.module"));
  EXPECT_THAT(ir.inspect_ir("graph"), HasSubstr("graph.launch @scale"));
  EXPECT_THAT(ir.inspect_ir("schedule"), HasSubstr("placement"));
  EXPECT_THAT(ir.inspect_ir("tile"), HasSubstr("tile.kernel @scale"));
  EXPECT_TRUE(ir.messages().empty());
  EXPECT_EQ(ir.inspect_ir("ptx"), "");
  ASSERT_EQ(ir.messages().size(), 1u);
  EXPECT_EQ(ir.messages()[0].code, "E_LEVEL_UNKNOWN");
}

TEST(Sdk, ARefusedSourceSaysWhyAndWhere) {
  ModuleIR ir = tessera_frontend_compile(
      "import tessera as ts\n@ts.kernel\ndef k(x: ts.Tensor[4, ts.f32]):\n    y = row_mx(x[0:4])\n");
  EXPECT_FALSE(ir);
  ASSERT_FALSE(ir.messages().empty());
  EXPECT_EQ(ir.messages()[0].line, 4u);
  EXPECT_EQ(ir.inspect_ir("graph"), "");
  EXPECT_EQ(tessera_validate_shapes(ir, "known").error, "the module did not compile");
}

TEST(Sdk, ShapesAreValidatedAgainstAPolicy) {
  ModuleIR ir = tessera_frontend_compile(kScale);
  ASSERT_TRUE(ir);
  EXPECT_FALSE(tessera_validate_shapes(ir, "known").ok());
  EXPECT_TRUE(tessera_validate_shapes(ir, "known,n=128,whole_tiles").ok());
  EXPECT_FALSE(tessera_validate_shapes(ir, "n=100,whole_tiles").ok());
  EXPECT_FALSE(tessera_validate_shapes(ir, "n=128,max_bytes=100").ok());
  EXPECT_NE(tessera_validate_shapes(ir, "sometimes").error, "");
}

TEST(Sdk, LaunchesWithTensorsOfRank0CanBeInspectedAndReadAgain) {
  for (const char *body : {"k * x", "x / ts.sum(x)", "x[0] * x"}) {
    ModuleIR ir = tessera_frontend_compile(std::string(R"(import tessera as ts
@ts.jit
def f(k: ts.Tensor[ts.f32], x: ts.Tensor["n", ts.f32]):
    return )") + body + "\n");
    ASSERT_TRUE(ir) << body;
    CompileOptions options;
    options.isIr = true;
    const std::string tile = ir.inspect_ir("tile");
    std::string out;
    std::vector<Diagnostic> diags;
    EXPECT_EQ(service().emit(tile, options, Emit::Tile, out, diags), CompileStatus::Ok) << body;
    EXPECT_EQ(out, tile) << body;
    EXPECT_EQ(service().emit(tile, options, Emit::Assembly, out, diags), CompileStatus::Ok) << body;
  }
}

TEST(Pipeline, SnapshotsAreNumberedInPipelineOrder) {
  CompileOptions options;
  options.fileName = "scale.py";
  std::string folder = testing::TempDir() + "/tessera-snapshots-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  options.printIrAfterAll = folder;
  std::string out;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(service().emit(kScale, options, Emit::Target, out, diags), CompileStatus::Ok);
  std::vector<std::string> names;
  std::string last;
  for (const auto &entry : std::filesystem::directory_iterator(options.printIrAfterAll))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::filesystem::remove_all(folder);
  ASSERT_GT(names.size(), 15u);
  EXPECT_TRUE(names.front().starts_with("001-"));
  auto has = [&](const char *pass) {
    return std::any_of(names.begin(), names.end(),
                       [&](auto &n) { return n.find(pass) != std::string::npos; });
  };
  for (const char *pass :
       {"tile-simplify", "schedule-decide", "schedule-expand", "tile-vectorize", "tile-plan-memory",
        "tile-fuse", "tile-legalize-numerics", "cpu-lower-tile", "cpu-wrap-target"})
    EXPECT_TRUE(has(pass)) << pass;
}

TEST(Pipeline, OperationsKeepTheirSourceLineDownToTarget) {
  CompileOptions options;
  options.fileName = "scale.py";
  std::vector<Diagnostic> diags;
  Compilation c(options, diags);
  ASSERT_EQ(c.begin(kScale), CompileStatus::Ok);
  ASSERT_EQ(c.advance(Level::Target), CompileStatus::Ok);
  int located = 0, onLine = 0, memory = 0;
  c.module()->walk([&](mlir::Operation *op) {
    auto where = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    located += where && where.getFilename() == "scale.py";
    if (!llvm::isa<mlir::LLVM::FMAOp, mlir::LLVM::MaskedLoadOp, mlir::LLVM::MaskedStoreOp>(op)) return;
    ++memory;
    onLine += where && where.getLine() == 5; // y[...] = exp(x[...]) * a
  });
  EXPECT_GT(located, 100);
  EXPECT_GT(memory, 10);
  EXPECT_EQ(onLine, memory);
}

TEST(Pipeline, MetadataReadsBackAndNamesTheLaunch) {
  std::string bytes;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(service().compile(kScale, {}, bytes, diags), CompileStatus::Ok);
  Loaded kernel;
  ASSERT_NO_FATAL_FAILURE(kernel.open(bytes));
  KernelMetadata meta;
  std::string why;
  ASSERT_TRUE(KernelMetadata::fromYaml(kernel.metadata, meta, why)) << why;
  EXPECT_EQ(meta.name, "scale");
  EXPECT_EQ(meta.axes, std::vector<std::string>{"ceildiv(n, 64)"});
  ASSERT_EQ(meta.params.size(), 4u);
  EXPECT_EQ(meta.params[3].kind, MetadataParam::Kind::Dim);

  // And the machine code behind it runs: 2 programs, the second one past the edge.
  std::vector<float> x(100, 0.5f), y(101, -1.0f);
  float a = 2;
  uint64_t values[4] = {reinterpret_cast<uint64_t>(x.data()), reinterpret_cast<uint64_t>(y.data()), 0, 100};
  std::memcpy(&values[2], &a, sizeof a);
  std::vector<uint8_t> scratch(static_cast<size_t>(meta.scratchBytes) + 64);
  uint8_t *aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  kernel.entry(values, 0, 2, aligned);
  EXPECT_FLOAT_EQ(y[0], 2 * std::exp(0.5f));
  EXPECT_FLOAT_EQ(y[99], 2 * std::exp(0.5f));
  EXPECT_EQ(y[100], -1.0f);
}

struct Refusal {
  const char *name, *source, *target, *numerics;
  CompileStatus status;
  const char *code, *text;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, IsNamed) {
  const Refusal &r = GetParam();
  CompileOptions options;
  options.targets = {r.target};
  options.numerics = r.numerics;
  std::string bundle;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service().compile(r.source, options, bundle, diags), r.status);
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, r.code);
  EXPECT_THAT(diags[0].message, HasSubstr(r.text));
  EXPECT_EQ(bundle, "");
  EXPECT_NE(service().explain(r.code), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        Refusal{"Target", kScale, "gpu", "standard", CompileStatus::BadProgram, "E_TARGET_UNKNOWN", "gpu"},
        Refusal{"NoKernel", "import tessera as ts\n", "cpu", "standard", CompileStatus::BadProgram,
                "E_NO_KERNEL", "no kernel"},
        Refusal{"GpuArch", kScale, "ptx:sm_20", "standard", CompileStatus::BadProgram, "E_TARGET_UNKNOWN",
                "unknown architecture 'sm_20'; there are ptx:sm_75, ptx:sm_80, ptx:sm_86, ptx:sm_89, "
                "ptx:sm_90, ptx:sm_90a, ptx:sm_100a, ptx:sm_120"},
        Refusal{"GpuNoArch", kScale, "rocm", "standard", CompileStatus::BadProgram, "E_TARGET_UNKNOWN",
                "names no architecture; there are rocm:gfx90a, rocm:gfx942, rocm:gfx1100"},
        Refusal{"Profile", kScale, "cpu", "exact", CompileStatus::BadProgram, "E_NUMERICS_UNKNOWN", "exact"},
        Refusal{
            "Strict", kGroupSum, "cpu", "strict", CompileStatus::Unimplemented, "E_UNIMPLEMENTED",
            "'strict' (fixed_reductions) is not honoured by backend cpu: tile.group_reduce on f32 does not "
            "follow the fixed tree"},
        Refusal{"StrictOnGpu", kGroupSum, "ptx:sm_90", "strict", CompileStatus::Unimplemented,
                "E_UNIMPLEMENTED", "(fixed_reductions) is not honoured by backend ptx"},
        Refusal{
            "AttentionOfUnknownWidth", kAttend, "cpu", "standard", CompileStatus::BadProgram,
            "E_DIM_NOT_STATIC",
            "attention keeps rows of \"D\" elements in the program; the value must be known at compile time "
            "(--dim)"},
        Refusal{"UnorderedAtomics", kCount, "cpu", "deterministic", CompileStatus::Unimplemented,
                "E_UNIMPLEMENTED", "order of arrival"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Pipeline, ProfilesThatAreHonouredCompile) {
  for (const char *profile : {"fast", "standard", "deterministic", "strict"}) {
    CompileOptions options;
    options.numerics = profile;
    std::string bytes;
    std::vector<Diagnostic> diags;
    EXPECT_EQ(service().compile(kScale, options, bytes, diags), CompileStatus::Ok) << profile;
    Loaded kernel;
    ASSERT_NO_FATAL_FAILURE(kernel.open(bytes));
    EXPECT_THAT(kernel.metadata, HasSubstr(profile));
  }
}

constexpr const char *kAxpy = R"(import tessera as ts
@ts.kernel
def axpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = a * x[i:i+64] + y[i:i+64]
)";

/// Forbids all but what it is asked for.
struct House : NumericsProfile {
  const char *name() const override { return "house"; }
  bool unorderedAtomics() const override { return true; }
};

TEST(Pipeline, EveryLevelSaysWhatAProfilePermits) {
  House house;
  FrontendCompileOptions options;
  options.profile = &house;
  ModuleIR ir = tessera_frontend_compile(kAxpy, options);
  ASSERT_TRUE(ir) << ir.messages().at(0).text;
  for (const char *level : {"graph", "schedule", "tile", "target"}) {
    EXPECT_THAT(ir.inspect_ir(level), HasSubstr("tessera.numerics = {house = [\"unordered_atomics\"]}"));
    if (level != std::string("target"))
      EXPECT_THAT(ir.inspect_ir(level), HasSubstr("numerics = \"house\"")) << level;
  }
  EXPECT_THAT(ir.inspect_ir("target"), HasSubstr("numerics: house\\0Apermits: [unordered_atomics]"));
}

/// Of one kernel for one target, as assembly.
std::string assemblyOf(const char *source, const char *target) {
  CompileOptions options;
  options.targets = {target};
  options.numerics = "house";
  options.permits = NumericsPermissions{.unorderedAtomics = true};
  std::string out;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service().emit(source, options, Emit::Assembly, out, diags), CompileStatus::Ok) << target;
  return out;
}

TEST(Pipeline, WhereContractionIsForbiddenNothingContracts) {
  const std::string cpu = assemblyOf(kAxpy, "cpu:x86-64-v3");
  EXPECT_THAT(cpu, HasSubstr("vmulps"));
  EXPECT_THAT(cpu, Not(HasSubstr("vfm")));
  const std::string ptx = assemblyOf(kAxpy, "ptx:sm_90"); // .rn: ptxas leaves them apart
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("add.rn.f32"));
  EXPECT_THAT(ptx, Not(HasSubstr("fma")));
  const std::string rocm = assemblyOf(kAxpy, "rocm:gfx90a");
  EXPECT_THAT(rocm, testing::ContainsRegex("v_(pk_)?mul_f32"));
  EXPECT_THAT(rocm, Not(testing::ContainsRegex("v_(pk_)?(fma|mac|mad)")));
}

TEST(Pipeline, ProfilesOfPluginsAreRefusedByWhatTheyAskFor) {
  const struct {
    const char *source;
    NumericsPermissions permits;
    std::pair<std::string, int64_t> tunable;
    CompileStatus status;
    const char *text;
  } rows[] = {
      {kGroupSum,
       {.fixedReductions = true},
       {},
       CompileStatus::Unimplemented,
       "profile 'house' (fixed_reductions) is not honoured by backend cpu"},
      {kCount,
       {.contraction = true},
       {},
       CompileStatus::Unimplemented,
       "profile 'house' (no unordered_atomics) is not honoured by backend cpu: atomic_add on f32"},
      {kCount, {.unorderedAtomics = true}, {}, CompileStatus::Ok, ""},
      {kTuned,
       {.frozenTunables = true},
       {"BLOCK", 32},
       CompileStatus::Unimplemented,
       "profile 'house' (frozen_tunables): BLOCK of tuned keeps its first value, 16, on backend cpu, not 32"},
      {kTuned, {.frozenTunables = true}, {"BLOCK", 16}, CompileStatus::Ok, ""},
      {kTuned, {.frozenTunables = true}, {}, CompileStatus::Ok, ""},
  };
  for (const auto &row : rows) {
    CompileOptions options;
    options.numerics = "house";
    options.permits = row.permits;
    if (!row.tunable.first.empty()) options.tunables = {row.tunable};
    std::string bundle;
    std::vector<Diagnostic> diags;
    EXPECT_EQ(service().compile(row.source, options, bundle, diags), row.status);
    if (*row.text) {
      ASSERT_EQ(diags.size(), 1u);
      EXPECT_THAT(diags[0].message, HasSubstr(row.text));
    }
  }
}

TEST(Pipeline, WhatIsSuppliedToTheSourceIsCompiled) {
  constexpr const char *kOpen = R"(import tessera as ts
@ts.kernel
def scale(x, y, a):
    for i in ts.tile.parallel(0, x.shape[0], STEP):
        y[i:i+STEP] = ts.tile.exp(x[i:i+STEP]) * a
)";
  CompileOptions options;
  std::string written, supplied;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(service().emit(kScale, options, Emit::Metadata, written, diags), CompileStatus::Ok);
  EXPECT_EQ(service().emit(kOpen, options, Emit::Metadata, supplied, diags), CompileStatus::BadProgram);
  options.supplied = {{{"x", "Tensor['n', f32]"}, {"y", "Tensor['n', f32]"}, {"scale.a", "f32"}},
                      {{"STEP", "64"}}};
  ASSERT_EQ(service().emit(kOpen, options, Emit::Metadata, supplied, diags), CompileStatus::Ok);
  EXPECT_EQ(supplied, written);
  std::string bundle; // whose kernels are found by their signatures
  EXPECT_EQ(service().compile(kOpen, options, bundle, diags), CompileStatus::Ok);
}

TEST(Pipeline, LongRowsAreSortedByWhatSharesTheTilesOfAProgram) {
  const std::string source =
      "import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor[\"N\", ts.f32]):\n  return ts.sort(x)\n";
  for (const char *target : {"cpu", "ptx:sm_80", "rocm:gfx942", "levelzero:pvc"}) {
    CompileOptions options;
    options.targets = {target};
    std::string graph;
    std::vector<Diagnostic> diags;
    ASSERT_EQ(service().emit(source, options, Emit::Graph, graph, diags), CompileStatus::Ok) << target;
    EXPECT_EQ(graph.find("launch @ts.sort_f32_merge") != std::string::npos, target != std::string("cpu"))
        << target;
  }
}

struct WrongTable {
  const char *from, *to, *text;
};

TEST(Pipeline, ProfilesWrittenIntoIrAreChecked) {
  CompileOptions options;
  std::string graph, out;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(service().emit(kAxpy, options, Emit::Graph, graph, diags), CompileStatus::Ok);
  const std::string table = "tessera.numerics = {standard = [\"contraction\", \"unordered_atomics\"]}";
  ASSERT_THAT(graph, HasSubstr(table));
  const std::string name = "numerics = \"standard\"";
  const WrongTable rows[] = {
      {table.c_str(), "tessera.numerics = 1 : i64", "is no dictionary of profiles"},
      {table.c_str(), "tessera.numerics = {standard = 1 : i64}", "is no list of permissions"},
      {table.c_str(), "tessera.numerics = {standard = [1 : i64]}", "a permission that is no text"},
      {table.c_str(), "tessera.numerics = {standard = [\"magic\"]}", "unknown permission 'magic'"},
      {table.c_str(), "tessera.numerics = {standard = []}", "is built in and permits something else"},
      {table.c_str(), "tessera.numerics = {Standard = []}", "is no profile's name"},
      {name.c_str(), "numerics = \"house\"", "unknown numerics profile 'house'"},
  };
  options.isIr = true;
  for (const WrongTable &row : rows) {
    std::string text = graph;
    for (size_t at; (at = text.find(row.from)) != text.npos;)
      text.replace(at, strlen(row.from), row.to);
    diags.clear();
    EXPECT_NE(service().emit(text, options, Emit::Tile, out, diags), CompileStatus::Ok) << row.text;
    ASSERT_GE(diags.size(), 1u) << row.text;
    EXPECT_THAT(diags[0].message, HasSubstr(row.text));
    if (row.from == name && std::string(row.to).ends_with("\"house\""))
      EXPECT_EQ(diags[0].code, "E_NUMERICS_UNKNOWN");
  }
}

TEST(Pipeline, FusedAndUnfusedAgree) {
  std::vector<float> x(100), results[2];
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i));
  int64_t scratchBytes[2];
  for (int unfused : {0, 1}) {
    std::vector<Diagnostic> diags;
    Compilation c({}, diags);
    ASSERT_EQ(c.begin(kScale), CompileStatus::Ok);
    ASSERT_EQ(c.advance(Level::Schedule), CompileStatus::Ok);
    c.module()->walk([&](schedule::KernelOp kernel) {
      EXPECT_TRUE(kernel->hasAttr("schedule.fusion"));
      if (unfused) kernel->setAttr("schedule.fusion", mlir::StringAttr::get(kernel.getContext(), "none"));
    });
    ASSERT_EQ(c.advance(Level::Target), CompileStatus::Ok);
    std::string why;
    std::vector<codegen::CodeUnit> units(1);
    ASSERT_EQ(c.makeUnit(units[0]), CompileStatus::Ok);
    auto images = c.target().makeImages(std::move(units));
    ASSERT_TRUE(bool(images)) << images.error().message;
    Loaded code;
    ASSERT_NO_FATAL_FAILURE(code.open(images->at(0)));
    KernelMetadata meta;
    ASSERT_TRUE(KernelMetadata::fromYaml(code.metadata, meta, why)) << why;
    scratchBytes[unfused] = meta.scratchBytes;
    results[unfused].assign(100, 0);
    float a = 3;
    uint64_t values[4] = {reinterpret_cast<uint64_t>(x.data()),
                          reinterpret_cast<uint64_t>(results[unfused].data()), 0, 100};
    std::memcpy(&values[2], &a, sizeof a);
    std::vector<uint8_t> scratch(static_cast<size_t>(meta.scratchBytes) + 64);
    uint8_t *aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    code.entry(values, 0, 2, aligned);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(scratchBytes[0], 0); // one loop
  EXPECT_GT(scratchBytes[1], 0); // every value in memory
}

TEST(Pipeline, AttentionOfKnownWidthCompiles) {
  CompileOptions options;
  options.dims = {{"D", 32}};
  std::string bytes;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service().compile(kAttend, options, bytes, diags), CompileStatus::Ok);
}

/// The option speaks of graph functions: what a kernel's own program says is not touched.
TEST(Pipeline, FusionIsAnOptionOfGraphFunctions) {
  for (const char *source : {kScale, kAttend}) {
    CompileOptions options;
    options.fuse = false;
    std::vector<Diagnostic> diags;
    Compilation c(options, diags);
    ASSERT_EQ(c.begin(source), CompileStatus::Ok);
    EXPECT_EQ(c.text().find("schedule.fusion = \"none\"") != std::string::npos, source == kAttend);
  }
}

TEST(Pipeline, EveryValueIsLookedAtOnce) {
  // x has two uses on each line: anything that follows uses without remembering them would need 2^300 steps.
  std::string source =
      "import tessera as ts\n@ts.kernel\ndef k(X: ts.Tensor[\"n\", ts.f32], Z: ts.Tensor[\"n\", ts.f32]):\n"
      "    for i in ts.tile.parallel(0, n, 64):\n        x = X[i:i+64]\n        for t in range(2):\n";
  for (int line = 0; line < 300; ++line)
    source += "            x = x + x * 0.5\n";
  source += "        Z[i:i+64] = x\n";
  std::string out;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service().emit(source, {}, Emit::Target, out, diags), CompileStatus::Ok);
}

TEST(Pipeline, CompilesFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::string bytes;
      std::vector<Diagnostic> diags;
      Loaded kernel;
      good += service().compile(kScale, {}, bytes, diags) == CompileStatus::Ok &&
              (kernel.open(bytes), kernel.entry != nullptr);
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(good, 4);
}

TEST(Service, AnotherBuildIsRefused) { EXPECT_EQ(tesseraCompilerService("0.0.0-other"), nullptr); }

TEST(Service, ExplainsEveryCode) {
  for (const auto &info : kPipelineCodes)
    EXPECT_THAT(service().explain(info.code), HasSubstr(info.explanation));
  EXPECT_EQ(service().explain("E_NOTHING"), "");
}

} // namespace
