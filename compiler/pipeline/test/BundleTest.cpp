// What the compiler puts into a bundle: images by target, IR on request, nothing a host would have to
// provide.
#include "core/bundle/Bundle.h"
#include "core/service/BuildId.h"
#include "core/service/CompilerService.h"
#include "core/support/HostCpu.h"
#include "plugins/cpu/runtime/SharedObject.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *kTwo = R"(import tessera as ts
@ts.kernel
def double(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = x[i:i+64] + x[i:i+64]

@ts.kernel
def clear(y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = ts.tile.zeros((64,), ts.f32)
)";

Bundle compile(const CompileOptions &options, std::string_view source = kTwo) {
  std::string bytes;
  std::vector<Diagnostic> diags;
  Bundle bundle;
  BundleError error;
  EXPECT_EQ(tesseraCompilerService(TESSERA_BUILD_ID)->compile(source, options, bytes, diags),
            CompileStatus::Ok)
      << (diags.empty() ? "" : render(diags[0], false));
  EXPECT_TRUE(readBundle(bytes, "bundle", bundle, error)) << error.text();
  return bundle;
}

std::vector<std::string> targets(const Bundle &bundle) {
  std::vector<std::string> out;
  for (const BundleImage &image : bundle.images)
    out.push_back(image.target);
  return out;
}

TEST(CompiledBundle, HoldsEveryKernelInOneImage) {
  Bundle bundle = compile({});
  EXPECT_EQ(bundle.producer, TESSERA_BUILD_ID);
  ASSERT_EQ(bundle.images.size(), 1u);
  ASSERT_EQ(bundle.images[0].entries.size(), 2u);
  EXPECT_EQ(bundle.images[0].entries[0].name, "tsr_kernel_double");
  EXPECT_EQ(bundle.images[0].entries[1].name, "tsr_kernel_clear");
  EXPECT_EQ(bundle.images[0].format, ImageFormat::Elf);
  EXPECT_TRUE(bundle.ir.empty());
  std::string why;
  std::shared_ptr<void> code = cpu::loadSharedObject(bundle.images[0].data, why);
  ASSERT_TRUE(code) << why;
  EXPECT_TRUE(cpu::findSymbol(code, "tsr_kernel_double"));
  EXPECT_TRUE(cpu::findSymbol(code, "tsr_kernel_clear"));
}

TEST(CompiledBundle, HoldsOneImagePerTarget) {
  CompileOptions options;
  options.targets = {"cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v3"};
  options.kernels = {"clear"};
  Bundle bundle = compile(options);
  EXPECT_THAT(targets(bundle), ElementsAre("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"));
  for (const BundleImage &image : bundle.images)
    EXPECT_EQ(image.entries.size(), 1u);
  EXPECT_THAT(bundle.images[0].features, testing::Contains("sse4.2"));
  EXPECT_THAT(bundle.images[0].features, testing::Not(testing::Contains("avx")));
  EXPECT_THAT(bundle.images[1].features, testing::Contains("avx2"));
  EXPECT_THAT(bundle.images[2].features, testing::Contains("avx512vl"));
}

/// The runtime recognises processors without LLVM. Only an image of exactly its name is preferred.
TEST(CompiledBundle, NamesTheProcessorAsTheLoaderDoes) {
  if (hostCpuName().empty()) GTEST_SKIP() << "this processor is not among the known ones";
  EXPECT_THAT(targets(compile({})), ElementsAre(hostCpuTarget()));
}

TEST(CompiledBundle, KeepsIrThatCompilesAgain) {
  CompileOptions options;
  options.kernels = {"double"};
  options.embedIr = {"graph", "tile"};
  Bundle bundle = compile(options);
  ASSERT_EQ(bundle.ir.size(), 2u);
  EXPECT_EQ(bundle.ir[0].level, "graph");
  EXPECT_THAT(bundle.ir[0].text, HasSubstr("graph.launch @double"));
  EXPECT_THAT(bundle.ir[1].text, HasSubstr("tile.kernel @double"));
  for (const BundleIr &ir : bundle.ir) {
    CompileOptions again;
    again.kernels = {ir.entry};
    again.isIr = true;
    Bundle made = compile(again, ir.text);
    ASSERT_EQ(made.images.size(), 1u) << ir.level;
    EXPECT_EQ(made.images[0].entries.at(0).metadata, bundle.images[0].entries.at(0).metadata) << ir.level;
    EXPECT_EQ(made.images[0].hash, bundle.images[0].hash) << ir.level;
  }
}

/// Names that mean something to a linker are kernels like any other.
TEST(CompiledBundle, NamesOfTheLinkerAreFree) {
  for (const char *name : {"_init", "_fini", "_end", "main"}) {
    Bundle bundle = compile({}, "import tessera as ts\n@ts.kernel\ndef " + std::string(name) +
                                    "(y: ts.Tensor[\"n\", ts.f32]):\n    i = ts.tile.linear_id()\n"
                                    "    if i < n:\n        y[i] = 1.0\n");
    std::string why;
    ASSERT_EQ(bundle.images.size(), 1u) << name;
    std::shared_ptr<void> code =
        cpu::loadSharedObject(bundle.images[0].data, why); // runs an _init there may be
    ASSERT_TRUE(code) << name << ": " << why;
    EXPECT_TRUE(cpu::findSymbol(code, "tsr_kernel_" + std::string(name))) << name;
  }
}

/// The kernels of a graph function too, whose names have dots.
TEST(CompiledBundle, EntriesAreNamedAfterTheirSymbols) {
  for (const char *target : {"cpu:x86-64-v3", "ptx:sm_90", "rocm:gfx90a", "levelzero:pvc"}) {
    CompileOptions options;
    options.targets = {target};
    Bundle bundle = compile(options, "import tessera as ts\n@ts.jit\n"
                                     "def f(x: ts.Tensor[\"n\", ts.f32]):\n    return x + 1.0\n");
    ASSERT_EQ(bundle.images.size(), 1u) << target;
    const BundleImage &image = bundle.images[0];
    ASSERT_EQ(image.entries.size(), 2u) << target;
    EXPECT_EQ(image.entries[0].name, "f") << target;
    EXPECT_EQ(image.entries[1].name, "tsr_kernel_f$g0") << target;
    EXPECT_THAT(image.entries[1].metadata, HasSubstr("name: f.g0\n")) << target;
    EXPECT_THAT(image.data, HasSubstr("tsr_kernel_f$g0")) << target;
  }
}

TEST(CompiledBundle, IsTheSameEveryTime) {
  std::string first, second;
  std::vector<Diagnostic> diags;
  CompilerService &service = *tesseraCompilerService(TESSERA_BUILD_ID);
  ASSERT_EQ(service.compile(kTwo, {}, first, diags), CompileStatus::Ok);
  ASSERT_EQ(service.compile(kTwo, {}, second, diags), CompileStatus::Ok);
  EXPECT_EQ(first, second);
}

/// A bundle of one product holds the product's body and micro-kernels, of any dtype, layout and batch.
TEST(CompiledBundle, OfOneProductIsSmall) {
  constexpr size_t kMostBytes = size_t{64} << 10;
  for (const char *target : {"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:znver4", // with dots of bf16 and of i8
                             "cpu:sapphirerapids"})                          // and with AMX
    for (const char *dtype : {"f32", "f64", "f16", "bf16", "i8", "u8"})
      for (int form = 0; form < 8; ++form) {
        const bool isTiled = std::string_view(target) == "cpu:sapphirerapids" && dtype[0] != 'f';
        if (std::string_view(dtype) == "u8" && !isTiled) continue; // has no body
        const bool transA = form & 1, transB = form & 2, isBatch = form & 4;
        auto tensor = [&](std::string dims) {
          return "ts.Tensor[" + (isBatch ? "'B0', 'B1', " + dims : dims) + ", ts." + dtype + "]";
        };
        const std::string source =
            "import tessera as ts\n@ts.jit\ndef product(a: " + tensor(transA ? "'K', 'M'" : "'M', 'K'") +
            ", b: " + tensor(transB ? "'N', 'K'" : "'K', 'N'") +
            "):\n    return ts.matmul(a, b, trans_a=" + (transA ? "True" : "False") +
            ", trans_b=" + (transB ? "True" : "False") + ")\n";
        CompileOptions options;
        options.targets = {target};
        std::string bytes;
        std::vector<Diagnostic> diags;
        ASSERT_EQ(tesseraCompilerService(TESSERA_BUILD_ID)->compile(source, options, bytes, diags),
                  CompileStatus::Ok)
            << (diags.empty() ? "" : render(diags[0], false));
        // More than code without a body: the product was not compiled to something else.
        EXPECT_GT(bytes.size(), kMostBytes / 8) << target << "\n" << source;
        EXPECT_EQ(bytes.find("instruction: tdp") != bytes.npos, isTiled) << target << "\n" << source;
        EXPECT_LE(bytes.size(), kMostBytes) << target << "\n" << source;
      }
}

TEST(CompiledBundle, BadIrIsRefused) {
  CompilerService &service = *tesseraCompilerService(TESSERA_BUILD_ID);
  CompileOptions options;
  options.kernels = {"k"};
  options.isIr = true;
  std::string bytes;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service.compile("this is no MLIR", options, bytes, diags), CompileStatus::BadProgram);
  ASSERT_FALSE(diags.empty());
  EXPECT_EQ(diags[0].code, "E_IR_INVALID");
  diags.clear();
  EXPECT_EQ(service.compile("module {}", options, bytes, diags), CompileStatus::BadProgram);
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, "E_IR_INVALID");
  EXPECT_THAT(diags[0].message, HasSubstr("no kernel"));
}

} // namespace
