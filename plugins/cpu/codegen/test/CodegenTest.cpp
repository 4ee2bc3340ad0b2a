// What the generated machine code must and must not contain, independent of the machine the test runs on.
#include "core/service/BuildId.h"
#include "core/service/CompilerService.h"
#include "plugins/cpu/codegen/CpuTarget.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>
#include <tessera/plugin.h>

using namespace tessera;

namespace {

// Adds to C, so that it is no whole product, which a body would compute.
constexpr const char *kGemm = R"(import tessera as ts
@ts.kernel
def gemm(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32]:
    for m in ts.tile.parallel(0, M, 96):
        for n in ts.tile.parallel(0, N, 256):
            acc = C[m:m+96, n:n+256]
            for k in ts.tile.range(0, K, 256):
                acc = ts.tile.mma(A[m:m+96, k:k+256], B[k:k+256, n:n+256], acc)
            C[m:m+96, n:n+256] = acc
    return C
)";

constexpr const char *kLanes = R"(import tessera as ts
@ts.kernel
def activate(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        y[i] = ts.tile.tanh(x[i]) + ts.tile.exp(x[i])
)";

constexpr const char *kProducts = R"(import tessera as ts
@ts.kernel
def products(A: ts.Tensor["M", 64, ts.f32], B: ts.Tensor[64, 64, ts.f32], C: ts.Tensor["M", 64, ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        a = A[m:m+16, 0:64]
        b = B[0:64, 0:64]
        once = ts.tile.mma(a, b, C[m:m+16, 0:64])
        twice = ts.tile.mma(once, b, once)
        C[m:m+16, 0:64] = ts.tile.mma(twice, b, twice)
)";

constexpr const char *kLinear = R"(import tessera as ts
@ts.jit
def linear(x: ts.Tensor["n", ts.f32]):
    return x * 2.0 + 1.0
)";

constexpr const char *kSmall = R"(import tessera as ts
@ts.jit
def linear(x: ts.Tensor[4096, ts.f32]):
    return x * 2.0 + 1.0
)";

// Reads its result again.
constexpr const char *kSoftmax = R"(import tessera as ts
@ts.jit
def softmax(x: ts.Tensor["R", 3000, ts.f32]):
    return ts.softmax(x)
)";

// Tells other threads that elements are stored.
constexpr const char *kPublished = R"(import tessera as ts
@ts.kernel
def publish(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], count: ts.Tensor[1, ts.i32]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = x[i:i+64]
        ts.tile.atomic_add(count[0], 1, order="release")
)";

std::string compiled(const char *source, const char *target, Emit form) {
  CompilerService *service = tesseraCompilerService(TESSERA_BUILD_ID);
  EXPECT_NE(service, nullptr);
  CompileOptions options;
  options.targets = {target};
  std::string out;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service->emit(source, options, form, out, diags), CompileStatus::Ok)
      << (diags.empty() ? "" : diags[0].message);
  return out;
}

std::string assembly(const char *source, const char *target) {
  return compiled(source, target, Emit::Assembly);
}

/// The innermost loop with the most FMAs: the lines from a label to the branch back to it.
std::vector<std::string> hottestLoop(const std::string &text) {
  std::vector<std::string> best, block;
  std::string label, line;
  size_t bestCount = 0;
  for (std::istringstream in(text); std::getline(in, line);) {
    if (line.starts_with(".L")) {
      label = line.substr(0, line.find(':'));
      block.clear();
      continue;
    }
    block.push_back(line);
    if (label.empty() || !line.ends_with(label) || line.find("\tj") == std::string::npos) continue;
    size_t count = 0;
    for (const std::string &l : block)
      count += l.find("vfmadd") != std::string::npos;
    if (count > bestCount) bestCount = count, best = block;
  }
  return best;
}

struct MicroKernel {
  const char *target, *reg;
  int fmas; // rows x vectors x unroll
};

class MicroKernelTest : public testing::TestWithParam<MicroKernel> {};

TEST_P(MicroKernelTest, KeepsItsAccumulatorsInRegisters) {
  std::vector<std::string> loop = hottestLoop(assembly(kGemm, GetParam().target));
  int fmas = 0;
  for (const std::string &line : loop) {
    EXPECT_EQ(line.find("rsp"), std::string::npos) << "spill in the micro-kernel: " << line;
    fmas += line.find("vfmadd") != std::string::npos && line.find(GetParam().reg) != std::string::npos;
  }
  EXPECT_EQ(fmas, GetParam().fmas);
}

INSTANTIATE_TEST_SUITE_P(Targets, MicroKernelTest,
                         testing::Values(MicroKernel{"cpu:skylake-avx512", "zmm", 6 * 4 * 4},
                                         MicroKernel{"cpu:x86-64-v3", "ymm", 6 * 2 * 4}),
                         [](const auto &info) { return std::string(info.param.reg); });

TEST(Codegen, LaneProgramsVectorizeWithoutLibraryCalls) {
  std::string text = assembly(kLanes, "cpu:skylake-avx512");
  EXPECT_NE(text.find("zmm"), std::string::npos);
  EXPECT_EQ(text.find("call"), std::string::npos) << "a call per lane or a run-time library function";
  EXPECT_GT(hottestLoop(text).size(), 20u);
}

TEST(Codegen, LargeResultsAreStoredPastTheCaches) {
  for (auto [target, store] :
       {std::pair("cpu:x86-64-v4", "vmovntps\t%zmm"), {"cpu:x86-64-v3", "vmovntps\t%ymm"}}) {
    const std::string text = assembly(kLinear, target);
    const size_t stored = text.find(store);
    ASSERT_NE(stored, std::string::npos) << target;
    // Something that waits for these stores ends the function.
    EXPECT_TRUE(text.find("mfence", stored) != std::string::npos ||
                text.find("\tlock", stored) != std::string::npos)
        << text;
    for (const char *source : {kSmall, kSoftmax, kPublished})
      EXPECT_EQ(assembly(source, target).find("vmovnt"), std::string::npos) << source;
  }
}

TEST(Codegen, AProductsShapeIsCompiledOnce) {
  // Of 64 columns, which always read their operands in place: no other function is there.
  size_t functions = 0, calls = 0;
  std::string one;
  for (std::istringstream in(assembly(kProducts, "cpu:skylake-avx512")); std::getline(in, one);)
    functions += one.starts_with("mma.") || one.starts_with("\"mma.");
  // LLVM may copy a call when it splits the loop over programs by what does not change in it.
  for (std::istringstream in(compiled(kProducts, "cpu:skylake-avx512", Emit::Target)); std::getline(in, one);)
    calls += one.find("llvm.call @mma.") != std::string::npos;
  EXPECT_EQ(functions, 1u);
  EXPECT_EQ(calls, 3u);
}

TEST(Codegen, PartsOfAModuleAreOneObject) {
  // Enough functions for several parts, which share the function of the product's shape.
  std::string source = "import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor[\"M\", 256, ts.f32], w: "
                       "ts.Tensor[256, 256, ts.f32]) -> ts.Tensor[\"M\", 256, ts.f32]:\n";
  for (const char *act : {"gelu", "tanh", "silu", "sigmoid"})
    source += std::string("    x = ts.") + act + "(ts.softmax(x) @ w)\n";
  source += "    return x\n";
  CompilerService *service = tesseraCompilerService(TESSERA_BUILD_ID);
  CompileOptions options;
  options.targets = {"cpu:x86-64-v3"};
  std::string object, again;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(service->emit(source, options, Emit::Object, object, diags), CompileStatus::Ok)
      << (diags.empty() ? "" : diags[0].message);
  EXPECT_TRUE(object.starts_with("\177ELF"));
  EXPECT_NE(object.find("$epilogue." TSR_ENTRY_PREFIX "f$g0"), std::string::npos)
      << "a shared function is named for the module";
  ASSERT_EQ(service->emit(source, options, Emit::Object, again, diags), CompileStatus::Ok);
  EXPECT_EQ(object, again) << "whatever thread was first";
}

TEST(Codegen, BaselineX86HasNoFmaInstructions) {
  std::string text = assembly(kGemm, "cpu:x86-64");
  EXPECT_EQ(text.find("vfmadd"), std::string::npos);
  EXPECT_EQ(text.find("ymm"), std::string::npos);
}

TEST(Link, WhatIsNoObjectIsRefused) {
  Expected<std::string> linked = cpu::linkShared({"this is no object"}, {"k"}, {});
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, "E_BACKEND");
  EXPECT_NE(linked.error().message.find("/proc/self/fd/"), std::string::npos) // lld names the input
      << linked.error().message;
  linked = cpu::linkShared({"nor this"}, {"k"}, {}); // lld can be used again
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message, "");
}

TEST(Codegen, UnknownCpuIsRefusedByName) {
  CompilerService *service = tesseraCompilerService(TESSERA_BUILD_ID);
  CompileOptions options;
  options.targets = {"cpu:i8086x"};
  std::string out;
  std::vector<Diagnostic> diags;
  EXPECT_EQ(service->emit(kGemm, options, Emit::Assembly, out, diags), CompileStatus::BadProgram);
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, "E_TARGET_UNKNOWN");
  EXPECT_NE(diags[0].message.find("i8086x"), std::string::npos);
}

} // namespace
