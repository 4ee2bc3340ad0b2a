#include "core/test/Support.h"
#include <algorithm>
#include <array>
#include <cfenv>
#include <limits>
#include <numeric>

using namespace tessera::test;
using tessera::CpuKernelFn;

namespace {

class Launch : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    k = kernel(kSaxpyYaml, saxpy);
    x = alloc<float>(1000, 2.0f);
    y = alloc<float>(1000, 1.0f);
  }
  tsr_status_t run(tsr_launch_t shape) {
    void *args[] = {&x, &y, &alpha, &n};
    return tsrLaunch(k, nullptr, shape, args, 4);
  }
  void synchronize() { ASSERT_OK(tsrSynchronize(context)); }

  tsr_kernel_t k = nullptr;
  float *x = nullptr, *y = nullptr, alpha = 3.0f;
  int64_t n = 1000;
};

TEST_F(Launch, RunsEveryProgram) {
  ASSERT_OK(run(kFromMetadata));
  synchronize();
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(y[i], 7.0f);
}

TEST_F(Launch, ReadsTheValuesDuringTheCall) {
  auto *held = holdStream(nullptr);
  ASSERT_OK(run(kFromMetadata));
  alpha = 100.0f;
  n = 1;
  float *mine = y;
  y = nullptr;
  open(held);
  synchronize();
  EXPECT_EQ(mine[999], 7.0f);
}

TEST_F(Launch, AGivenGridMustMatch) {
  ASSERT_OK(run({16, 1, 1, 1, 1, 1, 0}));
  synchronize();
  EXPECT_EQ(y[0], 7.0f);
  for (tsr_launch_t shape : {tsr_launch_t{15, 1, 1, 1, 1, 1, 0}, tsr_launch_t{16, 2, 1, 1, 1, 1, 0},
                             tsr_launch_t{16, 0, 0, 1, 1, 1, 0}, tsr_launch_t{16, 1, 2, 1, 1, 1, 0}}) {
    EXPECT_EQ(run(shape), TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas("does not match 16,1,1"));
  }
  EXPECT_EQ(run({16, 1, 1, 256, 1, 1, 0}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("block 256,1,1 does not match 1,1,1"));
  EXPECT_EQ(run({16, 1, 1, 1, 1, 1, 64}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("smem_bytes 64"));
}

TEST_F(Launch, AnEmptyGridDoesNothing) {
  n = 0;
  ASSERT_OK(run(kFromMetadata));
  ASSERT_OK(run({0, 1, 1, 1, 1, 1, 0}));
  synchronize();
  EXPECT_EQ(y[0], 1.0f);
}

TEST_F(Launch, ArgumentErrors) {
  void *args[] = {&x, &y, &alpha, &n, &n};
  EXPECT_EQ(tsrLaunch(k, nullptr, kFromMetadata, args, 3), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("kernel saxpy: the kernel takes 4 arguments, found 3; the first missing one is n"));
  EXPECT_EQ(tsrLaunch(k, nullptr, kFromMetadata, args, 5), TSR_EINVAL);
  EXPECT_EQ(tsrLaunch(k, nullptr, kFromMetadata, nullptr, 4), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("args is null"));
  args[2] = nullptr;
  EXPECT_EQ(tsrLaunch(k, nullptr, kFromMetadata, args, 4), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 2 (alpha): args[2] is null"));

  float *good = y;
  y = nullptr;
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 1 (y): the device pointer is null"));
  y = reinterpret_cast<float *>(reinterpret_cast<char *>(good) + 2);
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 1 (y): the device pointer is not aligned to 4 bytes"));
  y = good;
  n = -1;
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 3 (n): a dim cannot be negative, found -1"));
  n = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("its dims make more than 2^63 bytes"));
  n = 1000;
  ASSERT_OK(run(kFromMetadata)); // the handle is still usable
}

TEST_F(Launch, HandleErrors) {
  EXPECT_EQ(tsrLaunch(nullptr, nullptr, kFromMetadata, nullptr, 0), TSR_EINVAL);
  auto s = stream();
  ASSERT_OK(tsrDestroyStream(s));
  void *args[] = {&x, &y, &alpha, &n};
  EXPECT_EQ(tsrLaunch(k, s, kFromMetadata, args, 4), TSR_EINVAL);
  tsr_context_t other = nullptr;
  tsr_stream_t foreign = nullptr;
  ASSERT_OK(tsrCreateContext(&other));
  ASSERT_OK(tsrGetDefaultStream(other, &foreign));
  EXPECT_EQ(tsrLaunch(k, foreign, kFromMetadata, args, 4), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("another context"));
  ASSERT_OK(tsrDestroyContext(other));
}

TEST_F(Launch, TensorsMustFitTheirAllocations) {
  n = 1001;
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("kernel saxpy: argument 0 (x): its dims need 4004 bytes, its allocation has 4000 from the "
                   "pointer on"));
  n = 1000;
  ++y;
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 1 (y): its dims need 4000 bytes, its allocation has 3996"));
  n = 999;
  EXPECT_OK(run(kFromMetadata));
  synchronize();
  EXPECT_EQ(y[998], 7.0f);
}

TEST_F(Launch, StridesSayWhatATensorCovers) {
  const char *yaml = R"yaml({name: placed, target: cpu, numerics: standard, params: [
    {name: x, kind: tensor, dtype: f32, dims: [M, N], strides: [ldx, 1], access: read},
    {name: y, kind: tensor, dtype: f32, dims: [M, N], strides: [sy, ty], access: write},
    {name: M, kind: dim}, {name: N, kind: dim}, {name: ldx, kind: dim}, {name: sy, kind: dim},
    {name: ty, kind: dim}], launch: {axes: []}})yaml";
  tsr_kernel_t placed = kernel(yaml, [](const uint64_t *, int64_t, int64_t, uint8_t *) {});
  auto status = [&](int64_t M, int64_t N, int64_t ldx, int64_t sy, int64_t ty) {
    void *args[] = {&x, &y, &M, &N, &ldx, &sy, &ty};
    return tsrLaunch(placed, nullptr, kFromMetadata, args, 7);
  };
  EXPECT_OK(status(10, 100, 100, 100, 1)); // contiguous
  EXPECT_OK(status(10, 90, 101, 1, 10));   // gaps, and a transpose: 9 * 101 + 90 and 9 + 890 + 1 elements
  EXPECT_OK(status(10, 100, 0, 100, 1));   // the same row ten times
  EXPECT_OK(status(0, 100, 1000000, 0, 0));
  EXPECT_OK(status(1, 1, INT64_MAX, INT64_MAX, INT64_MAX)); // one element
  EXPECT_EQ(status(10, 100, 101, 100, 1), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas(
      "argument 0 (x): its dims and strides need 4036 bytes, its allocation has 4000 from the pointer on; "
      "it is x [M, N] = [10, 100] with strides [ldx, 1] = [101, 1]"));
  EXPECT_EQ(status(10, 100, 100, 99, 1), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("argument 1 (y): the kernel writes it, but its strides let elements share memory; it "
                   "is y [M, N] = [10, 100] with strides [sy, ty] = [99, 1]"));
  EXPECT_EQ(status(10, 100, 100, 1, 9), TSR_EINVAL);
  EXPECT_EQ(status(2, 1, 100, 0, 0), TSR_EINVAL);
  EXPECT_EQ(status(10, 100, 100, -100, 1), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 5 (sy): a dim cannot be negative, found -100"));
  EXPECT_EQ(status(3, 3, INT64_MAX / 2, 3, 1), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 0 (x): its dims make more than 2^63 bytes"));
  synchronize();
}

TEST_F(Launch, ExtentsMayBeExpressions) {
  const char *yaml = R"yaml({name: spread, target: cpu, numerics: standard, params: [
    {name: x, kind: tensor, dtype: f32, dims: [2*n - 1], access: read},
    {name: y, kind: tensor, dtype: f32, dims: ["floordiv(n, m)"], access: write},
    {name: n, kind: dim}, {name: m, kind: dim}], launch: {axes: [n]}})yaml";
  tsr_kernel_t spread = kernel(yaml, saxpy);
  int64_t m = 1;
  void *args[] = {&x, &y, &n, &m};
  auto refused = [&](int64_t count, int64_t divisor, const char *why) {
    n = count, m = divisor;
    EXPECT_EQ(tsrLaunch(spread, nullptr, kFromMetadata, args, 4), TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas(why)) << count;
  };
  refused(0, 1, "argument 0 (x): its dim 2*n - 1 is negative, divides by zero or overflows");
  refused(4, 0, "argument 1 (y): its dim floordiv(n, m) is negative, divides by zero or overflows");
  refused(INT64_MAX, 1, "argument 0 (x): its dim 2*n - 1 is negative, divides by zero or overflows");
  refused(INT64_MAX / 2, 1, "argument 0 (x): its dims make more than 2^63 bytes");
  refused(501, 1, "argument 0 (x): its dims need 4004 bytes, its allocation has 4000 from the pointer on");
}

TEST_F(Launch, DimsFollowFromShapes) {
  constexpr const char *kYaml = R"yaml({name: f, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [M, "2*K"], access: read},
  {name: w, kind: tensor, dtype: f32, dims: [K, "3"], access: read},
  {name: result, kind: result, dtype: f32, dims: [M, "K - 2"], access: write},
  {name: s, kind: scalar, dtype: i32},
  {name: M, kind: dim}, {name: K, kind: dim}], launch: {}})yaml";
  tsr_kernel_t f = kernel(kYaml, saxpy);
  int64_t extents[6], dims[2];
  auto solve = [&](std::array<int64_t, 4> shapes, std::array<int64_t, 2> given = {-1, -1}) {
    std::ranges::copy(shapes, extents);
    std::ranges::copy(given, dims);
    return tsrKernelSolveDims(f, extents, 6, dims, 2);
  };
  ASSERT_OK(solve({5, 14, 7, 3}));
  EXPECT_EQ(dims[0], 5);
  EXPECT_EQ(dims[1], 7);
  EXPECT_EQ(extents[4], 5);
  EXPECT_EQ(extents[5], 5);
  ASSERT_OK(solve({0, 14, 7, 3}, {-1, 7}));
  EXPECT_EQ(solve({5, 14, 6, 3}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dim 1 of x is 2*K = 12, but 14 was found"));
  EXPECT_EQ(solve({5, 14, 7, 4}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dim 1 of w is 3, but 4 was found"));
  EXPECT_EQ(solve({5, 14, 7, 3}, {6, -1}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("M is 6, but dim 0 of x is 5"));
  EXPECT_EQ(solve({5, 2, 1, 3}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dim 1 of result is K - 2, which is negative"));
  EXPECT_EQ(tsrKernelSolveDims(f, extents, 5, dims, 2), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("expected 6 extents, found 5"));

  constexpr const char *kOpen = R"yaml({name: g, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: ["2*K"], access: read},
  {name: y, kind: tensor, dtype: f32, dims: ["floordiv(N, 2)"], access: read},
  {name: K, kind: dim}, {name: N, kind: dim}], launch: {}})yaml";
  tsr_kernel_t g = kernel(kOpen, saxpy);
  int64_t two[] = {8, 3}, open[] = {-1, 6};
  ASSERT_OK(tsrKernelSolveDims(g, two, 2, open, 2));
  EXPECT_EQ(open[0], 4); // linear in K
  open[0] = open[1] = -1;
  EXPECT_EQ(tsrKernelSolveDims(g, two, 2, open, 2), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dim N has no value: no extent determines it"));
  two[0] = 7;
  EXPECT_EQ(tsrKernelSolveDims(g, two, 2, open, 2), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dim 0 of x is 2*K, but 7 is no value of it"));
}

TEST_F(Launch, ConditionsAreChecked) {
  const char *yaml = R"yaml({name: picky, target: cpu, numerics: standard, params: [
    {name: x, kind: tensor, dtype: f32, dims: [n], access: read},
    {name: y, kind: tensor, dtype: f32, dims: [n], access: write},
    {name: alpha, kind: scalar, dtype: f32}, {name: s, kind: scalar, dtype: i32},
    {name: n, kind: dim}], launch: {axes: [n], checks: [
      {value: "-mod(n, 4)", says: n % 4 == 0}, {value: s - n, says: s >= n}, {value: "floordiv(n, s)", says: n // s >= 0}]}})yaml";
  tsr_kernel_t picky = kernel(yaml, saxpy);
  int32_t s = 1000;
  void *args[] = {&x, &y, &alpha, &s, &n};
  auto launch = [&](int64_t count, int32_t scalar) {
    n = count, s = scalar;
    return tsrLaunch(picky, nullptr, kFromMetadata, args, 5);
  };
  EXPECT_EQ(launch(1, 1000), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("kernel picky: the kernel requires n % 4 == 0; found n = 1"));
  EXPECT_EQ(launch(8, 7), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the kernel requires s >= n; found s = 7, n = 8"));
  EXPECT_EQ(launch(0, -1), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the kernel requires s >= n; found s = -1, n = 0"));
  EXPECT_EQ(launch(0, 0), TSR_EINVAL); // a condition without a value does not hold
  EXPECT_TRUE(lastErrorHas("the kernel requires n // s >= 0"));
  EXPECT_OK(launch(0, 1));
}

TEST_F(Launch, HostMemoryIsAcceptedOnTheCpu) {
  std::vector<float> mine(1000, 1.0f);
  y = mine.data();
#ifdef TESSERA_CHECKED
  EXPECT_EQ(run(kFromMetadata), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 1 (y): its dims need 4000 bytes, the pointer is in no live allocation"));
#else
  ASSERT_OK(run(kFromMetadata));
  synchronize();
  EXPECT_EQ(mine[999], 7.0f);
#endif
}

/// Every program adds one to its cell of a grid of 3 axes.
const char *kCellsYaml = R"yaml({name: cells, target: cpu, numerics: standard, params: [
  {name: out, kind: result, dtype: i32, dims: [P, Q, R, S], access: write},
  {name: P, kind: dim}, {name: Q, kind: dim}, {name: R, kind: dim}, {name: S, kind: dim}],
  specialized: {S: 5}, resources: {smem_per_cta: 128, scratch_bytes: 1000},
  launch: {axes: [P, Q, R, S], block: [32, 2, 1]}})yaml";

void cells(const uint64_t *v, int64_t begin, int64_t end, uint8_t *scratch) {
  std::memset(scratch, 1, 1000);
  if (reinterpret_cast<uintptr_t>(scratch) % 64) abort();
  auto *out = reinterpret_cast<std::atomic<int32_t> *>(v[0]);
  for (int64_t i = begin; i < end; ++i)
    out[i].fetch_add(1, std::memory_order_relaxed);
}

TEST_F(Launch, GridsOfManyAxes) {
  auto ck = kernel(kCellsYaml, cells);
  int64_t p = 3, q = 7, r = 11, s = 5;
  auto *out = alloc<int32_t>(3 * 7 * 11 * 5);
  void *args[] = {&out, &p, &q, &r, &s};
  ASSERT_OK(tsrLaunch(ck, nullptr, kFromMetadata, args, 5));
  ASSERT_OK(tsrLaunch(ck, nullptr, {5, 11, 21, 32, 2, 1, 0}, args, 5));
  ASSERT_OK(tsrLaunch(ck, nullptr, {5, 11, 21, 32, 2, 1, 128}, args, 5));
  EXPECT_EQ(tsrLaunch(ck, nullptr, {5, 11, 21, 32, 2, 1, 256}, args, 5), TSR_EINVAL);
  EXPECT_EQ(tsrLaunch(ck, nullptr, {5, 11, 21, 1, 1, 1, 128}, args, 5), TSR_EINVAL);
  synchronize();
  for (int i = 0; i < 3 * 7 * 11 * 5; ++i)
    ASSERT_EQ(out[i], 3) << i;
  s = 4;
  EXPECT_EQ(tsrLaunch(ck, nullptr, kFromMetadata, args, 5), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 4 (S): the kernel was compiled for S = 5; found 4"));
}

TEST_F(Launch, EveryProgramRunsOnceForAnyCount) {
  auto ck = kernel(R"yaml({name: ones, target: cpu, numerics: standard, params: [
    {name: out, kind: result, dtype: i32, dims: [n], access: write}, {name: n, kind: dim}],
    resources: {scratch_bytes: 1000}, launch: {axes: [n]}})yaml",
                   cells);
  auto *out = alloc<int32_t>(1000);
  std::vector<int> expected(1000);
  for (int turn = 0; turn < 5; ++turn)
    for (int64_t count : {1, 2, 3, 7, 15, 16, 17, 31, 100, 999}) {
      ASSERT_OK(launch(ck, nullptr, out, count));
      for (int64_t i = 0; i < count; ++i)
        ++expected[static_cast<size_t>(i)];
    }
  synchronize();
  for (size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(out[i], expected[i]) << i;
}

/// Scalars of every width arrive as their bits, zero-extended.
void echo(const uint64_t *v, int64_t, int64_t, uint8_t *) {
  auto *out = reinterpret_cast<uint64_t *>(v[0]);
  for (int i = 0; i < 7; ++i)
    out[i] = v[1 + i];
}

TEST_F(Launch, ScalarsOfEveryWidth) {
  auto ek = kernel(R"yaml({name: echo, target: cpu, numerics: standard, params: [
    {name: out, kind: result, dtype: i64, dims: ["7"], access: write},
    {name: a, kind: scalar, dtype: i8}, {name: b, kind: scalar, dtype: u8}, {name: c, kind: scalar, dtype: i16},
    {name: d, kind: scalar, dtype: i32}, {name: e, kind: scalar, dtype: f64}, {name: f, kind: scalar, dtype: bool},
    {name: g, kind: scalar, dtype: bf16}], launch: {axes: ["a + 2", "b - 254", "-c", "d + 3"]}})yaml",
                   echo);
  auto *out = alloc<uint64_t>(7);
  // Signed scalars keep their sign in the grid's expressions: 1 x 1 x 1 x 1 programs.
  ASSERT_OK(launch(ek, nullptr, out, int8_t{-1}, uint8_t{255}, int16_t{-1}, int32_t{-2}, 1.0, uint8_t{1},
                   uint16_t{0x3F80}));
  synchronize();
  const uint64_t expected[] = {0xFF, 0xFF, 0xFFFF, 0xFFFFFFFE, 0x3FF0000000000000, 1, 0x3F80};
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(out[i], expected[i]) << i;
  EXPECT_EQ(launch(ek, nullptr, out, int8_t{-1}, uint8_t{255}, int16_t{-1}, int32_t{-2}, 1.0, uint8_t{2},
                   uint16_t{0}),
            TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 6 (f): a bool is 0 or 1, found 2"));
}

TEST_F(Launch, ImpossibleGrids) {
  auto gk = kernel(R"yaml({name: odd, target: cpu, numerics: standard, params: [
    {name: a, kind: scalar, dtype: i64}, {name: b, kind: scalar, dtype: i64}],
    launch: {axes: ["ceildiv(1, a)", "b", "b"]}})yaml",
                   cells);
  EXPECT_EQ(launch(gk, nullptr, int64_t{0}, int64_t{1}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("grid axis 0 (ceildiv(1, a)) divides by zero or overflows"));
  EXPECT_EQ(launch(gk, nullptr, int64_t{1}, int64_t{1} << 40), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("more than 2^63 programs"));
  EXPECT_OK(launch(gk, nullptr, int64_t{1}, int64_t{-5})); // a range that ends before it begins
  auto ek = kernel(R"yaml({name: empty, target: cpu, numerics: standard, params: [
    {name: a, kind: scalar, dtype: i64}, {name: b, kind: scalar, dtype: i64}], launch: {axes: [a, a, b]}})yaml",
                   cells);
  EXPECT_OK(
      launch(ek, nullptr, int64_t{1} << 40, int64_t{0})); // no programs, however long the other axes are
  synchronize();
}

/// More arguments than the launch path stores on its stack.
void sumAll(const uint64_t *v, int64_t, int64_t, uint8_t *) {
  *reinterpret_cast<uint64_t *>(v[0]) = std::accumulate(v + 1, v + 101, uint64_t{0});
}

TEST_F(Launch, AHundredArguments) {
  std::string yaml = "{name: sum_all, target: cpu, numerics: standard, params: ["
                     "{name: out, kind: result, dtype: i64, dims: ['1'], access: write}";
  for (int i = 0; i < 100; ++i)
    yaml += ", {name: s" + std::to_string(i) + ", kind: scalar, dtype: i64}";
  auto sk = kernel((yaml + "], launch: {}}").c_str(), sumAll);
  auto *out = alloc<uint64_t>(1);
  std::vector<int64_t> values(100);
  std::iota(values.begin(), values.end(), 1);
  std::vector<void *> args = {&out};
  for (int64_t &v : values)
    args.push_back(&v);
  ASSERT_OK(tsrLaunch(sk, nullptr, kFromMetadata, args.data(), args.size()));
  synchronize();
  EXPECT_EQ(*out, 5050u);
}

/// out[i] = in[0] * in[1], rounded in the kernel. The second product is subnormal.
void products(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *in = reinterpret_cast<const volatile float *>(v[0]);
  auto *out = reinterpret_cast<float *>(v[1]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = in[2 * (i % 2)] * in[2 * (i % 2) + 1];
}

// Threads inherit the rounding mode of the thread that starts them, but results must not depend on it.
TEST_F(Launch, TheCallersFloatingPointModesDoNotReachTheKernel) {
  auto pk = kernel(R"yaml({name: products, target: cpu, numerics: standard, params: [
    {name: in, kind: tensor, dtype: f32, dims: ["4"], access: read},
    {name: out, kind: result, dtype: f32, dims: [n], access: write}, {name: n, kind: dim}],
    launch: {axes: [n]}})yaml",
                   products);
  const float factors[] = {0.1f, 0.1f, 1e-20f, 1e-20f};
  auto *in = alloc<float>(4), *out = alloc<float>(100000);
  std::copy_n(factors, 4, in);
  float expected[100] = {};
  const uint64_t values[] = {reinterpret_cast<uint64_t>(in), reinterpret_cast<uint64_t>(expected)};
  products(values, 0, 2, nullptr);

  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); // subnormals flushed to zero, in and out
#endif
  tsr_status_t queued = launch(pk, stream(), in, out, int64_t{100000}); // the stream's thread starts here
  std::fesetenv(&before);
  ASSERT_OK(queued);
  synchronize();
  for (size_t i = 0; i < 100000; ++i)
    ASSERT_EQ(out[i], expected[i % 2]) << i;
}

} // namespace
