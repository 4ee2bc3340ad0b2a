// Kernels with several bodies: which one a launch runs, by itself and as a step of a function.
#include "core/test/Functions.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class FunctionBodies : public FunctionTest {};

/// A kernel whose bodies write their number, the parameter of their body, and the number of programs.
std::vector<CompiledKernel> kernelsWithBodies(const std::string &variants, const std::string &more = {}) {
  auto document = [](const std::string &name, const std::string &parameter, const std::string &launch) {
    return "{name: " + name + R"yaml(, target: cpu, numerics: standard, params: [
  {name: y, kind: result, dtype: i64, dims: [n], access: write}, {name: k, kind: scalar, dtype: i32}, )yaml" +
           parameter + "{name: n, kind: dim}], launch: {" + launch + "}}";
  };
  constexpr auto general = [](const uint64_t *v, int64_t, int64_t end, uint8_t *) {
    auto *y = reinterpret_cast<int64_t *>(v[0]);
    y[0] = 0, y[1] = -1, y[2] = end;
  };
  constexpr auto body = [](const uint64_t *v, int64_t, int64_t end, uint8_t *) {
    auto *y = reinterpret_cast<int64_t *>(v[0]);
    y[0] = 1, y[1] = static_cast<int64_t>(v[2]), y[2] = end;
  };
  const std::string limited = "{name: block, kind: scalar, dtype: i64, limits: [1, 100]}, ";
  std::vector<CompiledKernel> out;
  out.push_back(compiled(document("f.k", "", "axes: ['1'], variants: [" + variants + "]").c_str(), general));
  out.push_back(compiled(document("f.k.small", limited, "axes: ['ceildiv(n, block)']").c_str(), body));
  const std::string function =
      "{name: f, target: cpu, numerics: standard, params: [{name: y, kind: result, dtype: i64, dims: [n], "
      "access: "
      "write}, {name: k, kind: scalar, dtype: i32}, {name: n, kind: dim}], plan: {buffers: [" +
      more + "], steps: [{kernel: f.k, args: [y, k, n]}]}}";
  out.push_back(compiled(function.c_str(), nullptr));
  out.back().kind = EntryKind::Function;
  return out;
}

const char *kSmall =
    "{name: small, entry: f.k.small, when: ['n <= 64', 'k >= 0'], params: {block: 'n // 2 + k'}}, "
    "{name: general}";

/// A kernel by itself and as a step of a function chooses in the same way.
TEST_F(FunctionBodies, ABodyIsChosenForEachSetOfDims) {
  tsr_module_t m = module(kernelsWithBodies(kSmall));
  auto *y = alloc<int64_t>(512);
  for (const char *name : {"f", "f.k"}) {
    tsr_kernel_t f = nullptr;
    ASSERT_OK(tsrGetKernel(m, name, &f));
    auto run = [&](int32_t k, int64_t n) {
      y[0] = y[1] = y[2] = -7;
      EXPECT_OK(launch(f, nullptr, y, k, n));
      EXPECT_OK(tsrSynchronize(context));
      return std::vector<int64_t>{y[0], y[1], y[2]};
    };
    EXPECT_EQ(run(0, 64), (std::vector<int64_t>{1, 32, 2})) << name;
    EXPECT_EQ(run(0, 65), (std::vector<int64_t>{0, -1, 1})) << name;
    EXPECT_EQ(run(1, 64), (std::vector<int64_t>{1, 33, 2})) << name; // the scalar is part of the key
    EXPECT_EQ(run(-1, 64), (std::vector<int64_t>{0, -1, 1})) << name;
    EXPECT_EQ(run(90, 64), (std::vector<int64_t>{0, -1, 1})) << name; // 122 exceeds the limits of the body
    EXPECT_EQ(run(0, 3), (std::vector<int64_t>{1, 1, 3})) << name;
    for (int64_t n = 3; n < 100; ++n) // more sets than are kept
      EXPECT_EQ(run(0, n)[0], n <= 64) << name << " " << n;
    EXPECT_EQ(run(0, 64), (std::vector<int64_t>{1, 32, 2})) << name;
  }
}

TEST_F(FunctionBodies, AnAddressMayChooseABody) {
  const char *aligned =
      "{name: small, entry: f.k.small, when: ['aligned(y, 64)'], params: {block: '5'}}, {name: general}";
  tsr_module_t m = module(kernelsWithBodies(aligned));
  auto *y = alloc<int64_t>(64);
  for (const char *name : {"f", "f.k"}) {
    tsr_kernel_t f = nullptr;
    ASSERT_OK(tsrGetKernel(m, name, &f));
    for (size_t offset : {0u, 1u, 8u, 9u, 0u}) {
      EXPECT_OK(launch(f, nullptr, y + offset, int32_t{0}, int64_t{8}));
      EXPECT_OK(tsrSynchronize(context));
      EXPECT_EQ(y[offset], offset % 8 == 0) << name << " " << offset;
    }
  }
}

TEST_F(FunctionBodies, RefusesBodiesThatDoNotFit) {
  auto refused = [&](const std::string &variants, const char *why) {
    tsr_module_t m = nullptr;
    EXPECT_EQ(createModule(context, kernelsWithBodies(variants), &m), TSR_EINVAL) << variants;
    EXPECT_TRUE(lastErrorHas(why)) << variants;
  };
  const char *last = ", {name: general}";
  auto small = [&](const std::string &params) {
    return "{name: small, entry: f.k.small, when: ['n <= 64'], params: {" + params + "}}" + last;
  };
  refused(small("block: '101'"),
          "[E_VARIANT] kernel f.k: variant f.k.small: parameter block: found 101, the body "
          "takes 1 to 100");
  refused(small("block: '0'"), "found 0, the body takes 1 to 100");
  refused(small(""), "parameter block: the variant gives it no value");
  refused(small("block: '1', other: '1'"), "the body has no parameter other");
  refused(small("block: 'm'"),
          "[E_VARIANT] variant small: unknown name 'm' at column 1; the names are k, n, cores, ");
  refused("{name: a, entry: f.k.large, when: ['n <= 64']}, {name: general}", "the module has no such entry");
  refused("{name: a, entry: f, when: ['n <= 64']}, {name: general}", "one is a kernel, the other a function");
  refused("{name: a, entry: f.k, when: ['n <= 64']}, {name: general}", "it has variants of its own");
}

TEST_F(FunctionBodies, APinnedBodyThatDoesNotFitIsReportedOnce) {
  static std::vector<std::string> *messages;
  std::vector<std::string> found;
  messages = &found;
  ASSERT_OK(tsrSetLogCallback(
      [](void *, tsr_log_level_t, const char *code, const char *text) {
        if (std::string(code) == "W_VARIANT") messages->emplace_back(text);
      },
      nullptr, TSR_LOG_WARNING));
  const char *pinned =
      "{name: small, entry: f.k.small, when: ['n <= 64'], params: {block: '1'}, pinned: true}, "
      "{name: general}";
  tsr_kernel_t f = nullptr;
  ASSERT_OK(tsrGetKernel(module(kernelsWithBodies(pinned)), "f", &f));
  auto *y = alloc<int64_t>(512);
  for (int64_t n : {64, 65, 66, 64, 67}) {
    EXPECT_OK(launch(f, nullptr, y, int32_t{0}, n));
    EXPECT_OK(tsrSynchronize(context));
    EXPECT_EQ(y[0], n == 64);
  }
  ASSERT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_WARNING));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("kernel f.k: variant small"), std::string::npos) << found[0];
}

} // namespace
