#include "core/metadata/KernelMetadata.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

const std::string kMlp = R"yaml(name: mlp
target: cpu
numerics: standard
params:
  - {name: x, kind: tensor, dtype: f32, dims: [M, D], access: read}
  - {name: result, kind: result, dtype: f32, dims: [M, D], access: write}
  - {name: scale, kind: scalar, dtype: f32}
  - {name: turns, kind: scalar, dtype: i32}
  - {name: M, kind: dim}
  - {name: D, kind: dim}
specialized: {D: 64}
plan:
  buffers:
    - {name: t0, dtype: f32, dims: [M, "4*D"]}
    - {name: loss, dtype: bf16, dims: []}
  steps:
    - {kernel: mlp.g0, args: [x, t0, loss, 1.5, M, "4*D", D]}
    - {kernel: mlp.g1, args: [t0, loss, result, scale, "turns + 1", -.inf, true, M, D]}
fallbacks: ["fp4 -> fp6: no fp4 here"]
)yaml";

KernelMetadata parsed(const std::string &text) {
  KernelMetadata m;
  std::string why;
  EXPECT_TRUE(KernelMetadata::fromYaml(text, m, why)) << why;
  return m;
}

/// Returns the error of the valid document with one piece replaced.
std::string errorWith(const std::string &from, const std::string &to) {
  std::string text = kMlp, why;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  KernelMetadata m;
  EXPECT_FALSE(KernelMetadata::fromYaml(text.replace(at, from.size(), to), m, why)) << text;
  return why;
}

TEST(HostPlan, ReadsEveryField) {
  KernelMetadata m = parsed(kMlp);
  ASSERT_TRUE(m.plan);
  ASSERT_EQ(m.plan->buffers.size(), 2u);
  EXPECT_EQ(m.plan->buffers[0].name, "t0");
  EXPECT_EQ(m.plan->buffers[0].dtype, DType::F32);
  EXPECT_EQ(m.plan->buffers[0].dims, (std::vector<std::string>{"M", "4*D"}));
  EXPECT_TRUE(m.plan->buffers[1].dims.empty());
  ASSERT_EQ(m.plan->steps.size(), 2u);
  EXPECT_EQ(m.plan->steps[0].kernel, "mlp.g0");
  EXPECT_EQ(m.plan->steps[1].args, (std::vector<std::string>{"t0", "loss", "result", "scale", "turns + 1",
                                                             "-.inf", "true", "M", "D"}));
  EXPECT_EQ(m.specialized.size(), 1u);
  EXPECT_EQ(m.fallbacks.size(), 1u);
}

TEST(HostPlan, RoundTrips) {
  std::string once = parsed(kMlp).toYaml();
  KernelMetadata again = parsed(once);
  EXPECT_EQ(again.toYaml(), once);
  EXPECT_EQ(once.find("launch"), std::string::npos) << once;
  EXPECT_EQ(again.plan->steps[1].args[4], "turns + 1");
  EXPECT_EQ(again.plan->buffers[0].dims[1], "4*D");
}

TEST(HostPlan, ChecksAreReadAndWritten) {
  KernelMetadata m = parsed("{name: f, target: cpu, numerics: fast, params: [], plan: {steps: [], checks: "
                            "[{value: 3 - 4, says: \"index: 'x'\"}]}}");
  ASSERT_EQ(m.plan->checks.size(), 1u);
  KernelMetadata again = parsed(m.toYaml());
  ASSERT_EQ(again.plan->checks.size(), 1u);
  EXPECT_EQ(again.plan->checks[0].value, "3 - 4");
  EXPECT_EQ(again.plan->checks[0].says, "index: 'x'");
}

TEST(HostPlan, RejectsChecks) {
  auto errorOf = [](const std::string &check) {
    return errorWith("  steps:", "  checks: [" + check + "]\n  steps:");
  };
  EXPECT_EQ(errorOf("{value: M}"), "line 16: plan.checks: says is missing");
  EXPECT_EQ(errorOf("{says: no}"), "line 16: plan.checks: value is missing");
  EXPECT_EQ(errorOf("{value: M, says: no, line: 3}"), "line 16: plan.checks: unknown key 'line'");
  EXPECT_EQ(errorOf("{value: K, says: no}"), "line 16: plan.checks.value: 'K': unknown name 'K' at column 1");
}

TEST(HostPlan, StepsMayCallALibrary) {
  std::string text = kMlp;
  text.replace(text.find("{kernel: mlp.g0"), 15, "{call: blas.gemm.f32.nn");
  KernelMetadata m = parsed(text);
  EXPECT_TRUE(m.plan->steps[0].isLibraryCall);
  EXPECT_EQ(m.plan->steps[0].kernel, "blas.gemm.f32.nn");
  EXPECT_FALSE(m.plan->steps[1].isLibraryCall);
  EXPECT_TRUE(parsed(m.toYaml()).plan->steps[0].isLibraryCall);
  EXPECT_EQ(errorWith("kernel: mlp.g0", "kernel: mlp.g0, call: blas.gemm.f32.nn"),
            "line 17: plan.steps[0]: a step has either kernel or call");
  EXPECT_EQ(errorWith("kernel: mlp.g0", "call: no name"),
            "line 17: plan.steps[0].call: 'no name' is not a name");
}

TEST(HostPlan, Decisions) {
  const std::string one = "decisions: [{op: matmul, step: 1, choice: blas, from: [tile, blas], by: mine, "
                          "predicted_ns: 1.5}, {op: matmul, step: 0, choice: tile, by: ir}]\n";
  KernelMetadata m = parsed(kMlp + one);
  ASSERT_EQ(m.decisions.size(), 2u);
  EXPECT_EQ(m.decisions[0].op + m.decisions[0].choice + m.decisions[0].by, "matmulblasmine");
  EXPECT_EQ(m.decisions[0].step, 1);
  EXPECT_EQ(m.decisions[0].legal, (std::vector<std::string>{"tile", "blas"}));
  EXPECT_EQ(m.decisions[0].predictedNs, 1.5);
  EXPECT_EQ(m.decisions[1].predictedNs, -1);
  EXPECT_EQ(parsed(m.toYaml()).toYaml(), m.toYaml());
  EXPECT_EQ(parsed(kMlp).toYaml().find("decisions"), std::string::npos);

  auto wrong = [&](const std::string &from, const std::string &to) {
    return errorWith("fallbacks:", std::string(one).replace(one.find(from), from.size(), to) + "fallbacks:");
  };
  EXPECT_EQ(wrong("op: matmul", "ops: matmul"), "line 19: decisions: unknown key 'ops'");
  EXPECT_EQ(wrong("by: mine, ", ""), "line 19: decisions: an entry has no by");
  EXPECT_EQ(wrong("step: 1", "step: 2"), "line 19: decisions.step: the plan has 2 steps");
  EXPECT_EQ(wrong("step: 1", "step: -1"), "line 19: decisions.step: expected at least 0, found -1");
  EXPECT_EQ(wrong("choice: blas", "choice: gpu"), "line 19: decisions.choice: 'gpu' is not in from");
  EXPECT_EQ(wrong("1.5", "-1"), "line 19: decisions.predicted_ns: a time is not negative");
  KernelMetadata kernel;
  std::string why;
  EXPECT_FALSE(KernelMetadata::fromYaml(
      "{name: k, target: cpu, numerics: strict, params: [], launch: {}, decisions: []}", kernel, why));
  EXPECT_EQ(why, "line 1: decisions: only a function has any");
}

TEST(HostPlan, SmallestDocument) {
  KernelMetadata m = parsed("{name: f, target: cpu, numerics: strict, params: [], plan: {steps: []}}");
  ASSERT_TRUE(m.plan);
  EXPECT_TRUE(m.plan->steps.empty());
  EXPECT_TRUE(parsed(m.toYaml()).plan);
}

TEST(HostPlan, AKernelMayHaveAFunctionsName) {
  EXPECT_EQ(parsed("{name: mlp.g0, target: cpu, numerics: strict, params: [], launch: {}}").name, "mlp.g0");
  EXPECT_EQ(errorWith("name: mlp", "name: mlp."), "line 1: name: 'mlp.' is not a name");
}

TEST(HostPlan, AFunctionHasNoSectionsOfAKernel) {
  const char *why = "line 14: plan: a function has no tile, products, resources, launch, reports or epilogue";
  for (const char *section : {"launch: {axes: [M]}", "launch: {block: [2, 1, 1]}", "tile: {BLOCK: 64}",
                              "resources: {scratch_bytes: 64}", "epilogue: [gelu]",
                              "products: [{instruction: fma.m6n64k1, in: f32, acc: f32}]"})
    EXPECT_EQ(errorWith("plan:\n", std::string(section) + "\nplan:\n"), why) << section;
  EXPECT_EQ(parsed("{name: f, target: cpu, numerics: fast, params: [], launch: {axes: []}, tile: {}, "
                   "resources: {}, epilogue: [], plan: {steps: []}}")
                .name,
            "f");
  EXPECT_EQ(errorWith("plan:", "plans:"), "line 12: metadata: unknown key 'plans'");
}

TEST(HostPlan, RejectsBuffers) {
  EXPECT_EQ(errorWith("buffers:", "temporaries:"), "line 13: plan: unknown key 'temporaries'");
  EXPECT_EQ(errorWith("name: loss, dtype", "name: loss, size: 3, dtype"),
            "line 15: plan.buffers: unknown key 'size'");
  EXPECT_EQ(errorWith("name: loss, ", ""), "line 15: plan.buffers: an entry has no name");
  EXPECT_EQ(errorWith("name: loss", "name: t-1"), "line 15: plan.buffers.t-1: not a name");
  EXPECT_EQ(errorWith("name: loss", "name: t0"), "line 15: plan.buffers.t0: name occurs twice");
  EXPECT_EQ(errorWith("name: loss", "name: x"), "line 15: plan.buffers.x: a parameter has this name");
  EXPECT_EQ(errorWith("name: loss", "name: M"), "line 15: plan.buffers.M: a parameter has this name");
  EXPECT_EQ(errorWith("dtype: bf16, ", ""), "line 15: plan.buffers.loss: dtype is missing");
  EXPECT_EQ(errorWith("dtype: bf16", "dtype: bf17"),
            "line 15: plan.buffers.loss.dtype: unknown dtype 'bf17'");
  EXPECT_EQ(errorWith(", dims: []", ""), "line 15: plan.buffers.loss: dims are missing");
  EXPECT_EQ(errorWith("dims: []", "dims: M"), "line 15: plan.buffers.loss.dims: expected a list");
  EXPECT_EQ(errorWith("dims: []", "dims: [N]"),
            "line 15: plan.buffers.loss.dims: 'N': unknown name 'N' at column 1");
  EXPECT_EQ(
      errorWith("dims: []", "dims: [\"M +\"]"),
      "line 15: plan.buffers.loss.dims: 'M +': expected a number, a name or '(' at column 4, found the end");
  EXPECT_EQ(errorWith("dims: []", "dims: [scale]"),
            "line 15: plan.buffers.loss.dims: 'scale': unknown name 'scale' at column 1");
  EXPECT_EQ(errorWith("dims: []", "dims: [x]"),
            "line 15: plan.buffers.loss.dims: 'x': unknown name 'x' at column 1");
  EXPECT_EQ(errorWith("name: loss", "name: loss2"), // the steps then refer to a missing name
            "line 17: plan.steps[0].args: 'loss' is not a parameter, buffer or literal; as an expression: "
            "unknown name 'loss' at column 1");
  EXPECT_EQ(errorWith("    - {name: loss", "    - {name: t1, dtype: f32, dims: [M]}\n    - {name: loss"),
            "line 14: plan.buffers.t1: no step uses the buffer");
}

TEST(HostPlan, RejectsSteps) {
  EXPECT_EQ(errorWith("kernel: mlp.g1, ", ""), "line 18: plan.steps[1]: kernel is missing");
  EXPECT_EQ(errorWith("kernel: mlp.g1", "kernel: .g1"), "line 18: plan.steps[1].kernel: '.g1' is not a name");
  EXPECT_EQ(errorWith("kernel: mlp.g1", "kernel: [mlp]"), "line 18: plan.steps[1].kernel: expected a text");
  EXPECT_EQ(errorWith("kernel: mlp.g1", "stream: 2, kernel: mlp.g1"),
            "line 18: plan.steps[1]: unknown key 'stream'");
  EXPECT_EQ(errorWith("args: [t0", "arguments: [t0"), "line 18: plan.steps[1]: unknown key 'arguments'");
  EXPECT_EQ(errorWith("[x, t0, loss, 1.5", "[x, t0, loss, [1.5]"),
            "line 17: plan.steps[0].args: expected a text");
  EXPECT_EQ(errorWith("1.5", "1.5f"),
            "line 17: plan.steps[0].args: '1.5f' is not a parameter, buffer or literal; as an expression: "
            "expected an operator at column 2, found '.'");
  EXPECT_EQ(
      errorWith("\"turns + 1\"", "\"scale + 1\""),
      "line 18: plan.steps[1].args: 'scale + 1' is not a parameter, buffer or literal; as an expression: "
      "unknown name 'scale' at column 1");
  EXPECT_EQ(errorWith("  steps:", "  step:"), "line 16: plan: unknown key 'step'");
}

TEST(HostPlan, ThePlanIsAMapOfSteps) {
  auto errorOf = [](const std::string &plan) {
    KernelMetadata m;
    std::string why;
    EXPECT_FALSE(KernelMetadata::fromYaml(
        "{name: f, target: cpu, numerics: fast, params: [], plan: " + plan + "}", m, why));
    return why;
  };
  EXPECT_EQ(errorOf("[]"), "line 1: plan: expected a map");
  EXPECT_EQ(errorOf("{}"), "line 1: plan: steps are missing");
  EXPECT_EQ(errorOf("{steps: 3}"), "line 1: plan.steps: expected a list");
  EXPECT_EQ(errorOf("{steps: [3]}"), "line 1: plan.steps[0]: expected a map");
  EXPECT_EQ(errorOf("{steps: [], buffers: 3}"), "line 1: plan.buffers: expected a list");
}

} // namespace
