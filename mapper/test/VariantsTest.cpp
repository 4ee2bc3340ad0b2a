// choose_variant from the question to the artifact. In the source "choose" the fake compiler leaves one
// product open.
#include "core/library/Blas.h"
#include "core/plugin/Mappers.h"
#include "core/test/Functions.h"
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <tessera/mapper.hpp>

using namespace tessera;
using namespace tessera::test;

namespace {

/// Returns `answer` and stores the last call.
struct Says : Mapper {
  Says(std::string a, VariantCall &call) : answer(std::move(a)), asked(call) {}
  Choice chooseVariant(const VariantCall &c) override {
    asked = c;
    return {answer, 42};
  }
  std::string answer;
  VariantCall &asked;
};

class Variants : public FunctionTest {
protected:
  void SetUp() override {
    FunctionTest::SetUp();
    unsetenv("TESSERA_MAPPER");
    options.targets = {"cpu:x86-64-v3"};
    options.fileName = "mlp.py";
  }
  void TearDown() override {
    setMapper(nullptr);
    FunctionTest::TearDown();
  }
  void answers(const std::string &name) { setMapper(std::make_unique<Says>(name, asked), "says"); }
  tsr_status_t decide(const char *source = "choose") { return decideVariants(source, options, diags); }
  static bool hasBlas() {
    std::string why;
    return findBlas(why);
  }

  CompileOptions options;
  std::vector<Diagnostic> diags;
  Mapper::VariantCall asked;
};

TEST_F(Variants, NobodyIsAskedWithoutAMapper) {
  EXPECT_EQ(decide(), TSR_SUCCESS);
  EXPECT_TRUE(options.decisions.empty());
}

TEST_F(Variants, TheAnswerBecomesADecision) {
  answers("tile");
  ASSERT_EQ(decide(), TSR_SUCCESS);
  EXPECT_EQ(asked.op + asked.arch + asked.dtype, "matmulcpu:x86-64-v3f32");
  EXPECT_EQ(asked.dim("N"), 8);
  EXPECT_EQ(asked.offers("blas"), hasBlas());
  ASSERT_EQ(options.decisions.size(), 1u);
  const VariantDecision &d = options.decisions[0];
  EXPECT_EQ(d.target + d.id + d.variant + d.by, "cpu:x86-64-v3first:0tilesays");
  EXPECT_EQ(d.legal, asked.variants);
  EXPECT_EQ(d.predictedNs, 42);

  options.decisions.clear();
  EXPECT_EQ(decide("first"), TSR_SUCCESS); // a program without choices
  EXPECT_TRUE(options.decisions.empty());

  options.targets = {"cpu"};
  EXPECT_EQ(decide(), TSR_SUCCESS);
  EXPECT_EQ(asked.arch.rfind("cpu:", 0), 0u) << asked.arch;
}

TEST_F(Variants, AnErrorPointsIntoTheProgram) {
  answers("spectral");
  EXPECT_EQ(decide(), TSR_EINVAL);
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, "E_MAPPER_ANSWER");
  EXPECT_EQ(diags[0].line, 3u);
  EXPECT_NE(diags[0].message.find("at mlp.py:3: the answer 'spectral' is not legal here"), std::string::npos)
      << diags[0].message;
  EXPECT_NE(diags[0].message.find("spectral is not: it is for squares"), std::string::npos)
      << diags[0].message;
}

TEST_F(Variants, LoadingASourceAsks) {
  answers("tile");
  std::string said;
  tsr_source_options_t o{};
  o.struct_size = sizeof o;
  o.log_user = &said;
  o.log = [](void *user, tsr_log_level_t, const char *, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  tsr_module_t m = nullptr;
  ASSERT_OK(tsrLoadModuleFromSource(context, "choose", 6, &o, &m));
  EXPECT_NE(said.find("first:0=tile by says"), std::string::npos) << said;
  answers("spectral");
  said.clear();
  EXPECT_EQ(tsrLoadModuleFromSource(context, "choose", 6, &o, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("[E_MAPPER_ANSWER]"));
  EXPECT_NE(said.find("[E_MAPPER_ANSWER]"), std::string::npos) << said;

  setMapper(nullptr);
  setenv("TESSERA_MAPPER", "nobody", 1);
  EXPECT_EQ(tsrLoadModuleFromSource(context, "choose", 6, &o, &m), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("[E_MAPPER_UNKNOWN] TESSERA_MAPPER: there is no mapper 'nobody'"));
  unsetenv("TESSERA_MAPPER");
}

TEST_F(Variants, CallNames) {
  for (const char *name :
       {"blas.gemm.f32.nn", "blas.gemm.f64.tt", "blas.gemm.f32.nt.ab", "blas.gemm.f32.tn.b"}) {
    auto call = GemmCall::parse(name);
    ASSERT_TRUE(call) << name;
    EXPECT_EQ(call->name(), name);
    KernelMetadata read;
    std::string why;
    EXPECT_TRUE(KernelMetadata::fromYaml(call->metadata().toYaml(), read, why)) << name << ": " << why;
  }
  for (const char *name : {"", "blas.gemm", "blas.gemm.bf16.nn", "blas.gemm.f32.nn.", "blas.gemm.f32.nnx"})
    EXPECT_FALSE(GemmCall::parse(name)) << name;
}

/// A function with one step, the call.
std::string yamlOf(const GemmCall &call) {
  KernelMetadata m = call.metadata();
  m.name = "f";
  m.plan.emplace();
  PlanStep step{call.name(), {}, true};
  for (const MetadataParam &p : m.params)
    step.args.push_back(p.name);
  m.plan->steps.push_back(step);
  m.decisions.push_back({"matmul", 0, "blas", {"tile", "blas"}, "says", 1500});
  return m.toYaml();
}

TEST_F(Variants, EveryCallComputesItsProduct) {
  if (!hasBlas()) GTEST_SKIP() << "libopenblas is not installed on this machine";
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int bits = 0; bits < 32; ++bits) {
    GemmCall call;
    call.dtype = bits & 1 ? DType::F64 : DType::F32;
    call.transA = bits & 2;
    call.transB = bits & 4;
    call.batchA = bits & 8;
    call.batchB = bits & 16;
    SCOPED_TRACE(call.name());
    tsr_kernel_t f = function(yamlOf(call));
    ASSERT_TRUE(f);
    const bool wide = call.dtype == DType::F64, batched = call.batchA || call.batchB;
    for (auto [M, N, K] : {std::array<int64_t, 3>{5, 3, 7}, {1, 1, 1}, {4, 6, 0}, {0, 3, 2}, {33, 65, 130}}) {
      const int64_t B = batched ? 2 : 1;
      auto at = [&](void *p, int64_t i) {
        return wide ? static_cast<double *>(p)[i] : static_cast<float *>(p)[i];
      };
      auto fill = [&](int64_t count) {
        void *p = wide ? static_cast<void *>(alloc<double>(static_cast<size_t>(count + 1), 99))
                       : alloc<float>(static_cast<size_t>(count + 1), 99);
        for (int64_t i = 0; i < count; ++i)
          wide ? static_cast<double *>(p)[i] = unit(random)
               : static_cast<float *>(p)[i] = static_cast<float>(unit(random));
        return p;
      };
      void *a = fill((call.batchA ? B : 1) * M * K), *b = fill((call.batchB ? B : 1) * K * N),
           *c = fill(B * M * N);
      std::vector<int64_t> dims;
      for (char dim : call.dims())
        dims.push_back(dim == 'B' ? B : dim == 'M' ? M : dim == 'N' ? N : K);
      std::vector<void *> args = {&a, &b, &c};
      for (int64_t &dim : dims)
        args.push_back(&dim);
      ASSERT_OK(tsrLaunch(f, nullptr, kFromMetadata, args.data(), args.size()));
      ASSERT_OK(tsrSynchronize(context));
      for (int64_t i = 0; i < B * M * N; ++i) {
        const int64_t batch = i / (M * N), m = i / N % M, n = i % N;
        double sum = 0, bound = 0;
        for (int64_t k = 0; k < K; ++k) {
          const double x = at(a, (call.batchA ? batch * M * K : 0) + (call.transA ? k * M + m : m * K + k));
          const double y = at(b, (call.batchB ? batch * K * N : 0) + (call.transB ? n * K + k : k * N + n));
          sum += x * y;
          bound += std::fabs(x * y);
        }
        // Bound for any order of summation: at most K roundings of partial sums.
        ASSERT_NEAR(at(c, i), sum, double(K + 1) * bound * (wide ? 0x1p-52 : 0x1p-23)) << i;
      }
      EXPECT_EQ(at(c, B * M * N), 99);
    }
  }
}

TEST_F(Variants, ALibraryCallIsAStep) {
  if (!hasBlas()) GTEST_SKIP() << "libopenblas is not installed on this machine";
  // y = 2 * (x @ x) + 1, captured and replayed.
  tsr_kernel_t f = function(
      functionYaml("{name: x, kind: tensor, dtype: f32, dims: [M, M], access: read}, "
                   "{name: y, kind: result, dtype: f32, dims: [M, M], access: write}, {name: M, kind: dim}",
                   "buffers: [{name: t, dtype: f32, dims: [M, M]}], steps: [{call: blas.gemm.f32.nn, args: "
                   "[x, x, t, M, M, M]}, "
                   "{kernel: f.affine, args: [t, y, 2, 1, 'M*M']}]"));
  auto *x = alloc<float>(16), *y = alloc<float>(16);
  for (int i = 0; i < 4; ++i)
    x[5 * i] = 3;
  auto s = stream();
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(f, s, x, y, int64_t{4}));
  tsr_graph_t g = nullptr;
  ASSERT_OK(tsrStreamEndCapture(s, &g));
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(y[0], 19);
  EXPECT_EQ(y[1], 1);
}

TEST_F(Variants, ALibraryCountsIn32Bits) {
  if (!hasBlas()) GTEST_SKIP() << "libopenblas is not installed on this machine";
  tsr_kernel_t f =
      function(functionYaml("{name: x, kind: tensor, dtype: f32, dims: [M, '1'], access: read}, "
                            "{name: y, kind: result, dtype: f32, dims: [M, '1'], access: write}, "
                            "{name: M, kind: dim}",
                            "steps: [{call: blas.gemm.f32.nn, args: [x, x, y, M, 1, 1]}]"));
  uint64_t bytes;
  int64_t huge = int64_t{1} << 31;
  void *args[] = {nullptr, nullptr, &huge};
  EXPECT_EQ(tsrKernelWorkspace(f, args, 3, &bytes), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the library takes at most 2147483647, found 2147483648"));
}

TEST_F(Variants, WrongCallsAreRefusedWhenTheModuleLoads) {
  auto refused = [&](const char *call, const char *args, tsr_status_t status, const char *says) {
    tsr_module_t m = nullptr;
    EXPECT_EQ(
        createModule(
            context,
            withKernels({functionYaml(
                "{name: x, kind: tensor, dtype: f32, dims: [M, M], access: read}, "
                "{name: y, kind: result, dtype: f32, dims: [M, M], access: write}, {name: M, kind: dim}",
                std::string("steps: [{call: ") + call + ", args: [" + args + "]}]")}),
            &m),
        status);
    EXPECT_TRUE(lastErrorHas(says));
  };
  refused("blas.gemm.f8.nn", "x, x, y, M, M, M", TSR_UNIMPLEMENTED,
          "function f: step 0: this version knows no library call blas.gemm.f8.nn");
  if (!hasBlas()) GTEST_SKIP() << "libopenblas is not installed on this machine";
  refused("blas.gemm.f64.nn", "x, x, y, M, M, M", TSR_EINVAL,
          "step 0 (call blas.gemm.f64.nn): argument 0 (a): expected f64, found x of f32");
  refused("blas.gemm.f32.nn", "x, x, y, M, M", TSR_EINVAL, "takes 6 arguments, found 5");
  refused("blas.gemm.f32.nn", "x, x, x, M, M, M", TSR_EINVAL, "which the function only reads");
}

} // namespace
