// Tests of the calls of the C ABI that compile, with the compiler.
#include <cstring>
#include <gmock/gmock.h>
#include <tessera/tessera.hpp>
#include <unistd.h>

using namespace tessera;
using testing::HasSubstr;

namespace {

constexpr std::string_view kSource = R"(import tessera as ts

@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32 = 2.5):
    i = ts.tile.linear_id()
    if i < n:
        y[i] = alpha * x[i] + y[i]

@ts.jit
def mlp(x: ts.Tensor["M", 64, ts.f32], w: ts.Tensor[64, "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32]:
    return ts.relu(ts.matmul(x, w))
)";

SourceOptions only(const char *kernel) {
  SourceOptions o;
  o.kernel = kernel;
  return o;
}

TEST(Source, ABundleThatWasCompiledWithoutAContextRuns) {
  const std::string path = testing::TempDir() + "/source-" + std::to_string(getpid()) + ".tsrb";
  compileToFile(kSource, path);
  Context context("cpu");
  for (const Module &module : {context.loadBundle(compile(kSource)), context.loadFile(path)}) {
    std::vector<float> host(100, 2.0f);
    auto x = context.upload<float>(host), y = context.upload<float>(host);
    launch(module.kernel("saxpy"), x, y, 3.0f, Dim(host.size()));
    context.synchronize();
    EXPECT_EQ(y.download(), std::vector<float>(100, 8.0f));
  }
  unlink(path.c_str());
}

TEST(Source, EachLevelHasItsText) {
  for (auto [kernel, level, text] : {std::tuple{"mlp", TSR_IR_GRAPH, "graph."},
                                     {"mlp", TSR_IR_SCHEDULE, "schedule."},
                                     {"saxpy", TSR_IR_TILE, "tile."},
                                     {"saxpy", TSR_IR_TARGET, "llvm."},
                                     {"saxpy", TSR_IR_ASSEMBLY, ".text"}})
    EXPECT_THAT(inspectIr(kSource, level, only(kernel)), HasSubstr(text)) << kernel << " " << level;
  EXPECT_THROW(inspectIr(kSource, TSR_IR_TILE), Error); // the source has two kernels
}

TEST(Source, CompilesForATargetThatIsNotHere) {
  SourceOptions o = only("saxpy");
  o.target = "ptx:sm_90";
  EXPECT_THAT(inspectIr(kSource, TSR_IR_ASSEMBLY, o), HasSubstr(".target sm_90"));
  EXPECT_FALSE(compile(kSource, o).empty());
  o.target = "abacus";
  EXPECT_THROW(compile(kSource, o), Error);
}

TEST(Source, DiagnosticsPointAtTheSource) {
  SourceOptions o;
  o.fileName = "k.py";
  std::string seen;
  o.diagnose = [&](const tsr_diagnostic_t &d) {
    if (d.severity != TSR_LOG_ERROR) return;
    ASSERT_EQ(std::string_view(d.source_line).substr(d.column - 1, d.length), "apha");
    seen += std::string(d.file) + ":" + std::to_string(d.line) + " " + d.code + " " + d.hint;
  };
  std::string source(kSource);
  source.replace(source.find("alpha * x"), 5, "apha");
  EXPECT_THROW(compile(source, o), Error);
  EXPECT_THAT(seen, HasSubstr("k.py:7 E_UNDEFINED_NAME"));
  EXPECT_THAT(seen, HasSubstr("alpha"));
}

TEST(Source, SignaturesComeFromTheCompiler) {
  Context context("cpu");
  const Module module = context.load(kSource);
  const Kernel saxpy = module.kernel("saxpy"), mlp = module.kernel("mlp");
  auto arguments = saxpy.arguments();
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[0].is_read, 1);
  EXPECT_EQ(arguments[0].is_written, 0);
  EXPECT_EQ(arguments[1].is_written, 1);
  EXPECT_EQ(arguments[2].has_default, 1);
  float alpha;
  std::memcpy(&alpha, &arguments[2].default_bits, sizeof alpha);
  EXPECT_EQ(alpha, 2.5f);
  EXPECT_EQ(mlp.info().is_function, 1);
  EXPECT_EQ(mlp.info().result_count, 1u);
  const auto x = mlp.dims(0), result = mlp.dims(2);
  ASSERT_EQ(x.size(), 2u);
  EXPECT_STREQ(x[0].text, "M");
  EXPECT_EQ(x[0].kind, TSR_DIM_NAMED);
  EXPECT_EQ(x[1].kind, TSR_DIM_CONSTANT);
  EXPECT_EQ(x[1].value, 64);
  ASSERT_EQ(result.size(), 2u);
  EXPECT_STREQ(mlp.arguments()[result[1].argument].name, "N");
  size_t generated = 0;
  for (const Kernel &k : module.kernels())
    generated += k.info().is_generated;
  EXPECT_GE(generated, 1u);
}

} // namespace
