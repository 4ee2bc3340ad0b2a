// Calls of functions: complete plans on a stream.
#include "core/test/Functions.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class Function : public FunctionTest {};

float fourfold(float a, float x, int64_t d, int64_t D) {
  return a * (4 * x + 4 * static_cast<float>(d) + 6 * static_cast<float>(D));
}

TEST_F(Function, RunsItsStepsInOrder) {
  auto f = function(kFourfoldYaml);
  for (auto [M, D] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {64, 64}, {7, 129}, {0, 5}, {5, 0}}) {
    auto count = static_cast<size_t>(M * D);
    auto *x = alloc<float>(count + 1), *y = alloc<float>(count + 1, -1.0f);
    for (size_t i = 0; i < count; ++i)
      x[i] = static_cast<float>(i % 17);
    ASSERT_OK(launch(f, nullptr, x, y, 0.5f, M, D));
    ASSERT_OK(tsrSynchronize(context));
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(y[i], fourfold(0.5f, x[i], static_cast<int64_t>(i) % D, D)) << M << " " << D << " " << i;
    EXPECT_EQ(y[count], -1.0f);
  }
}

TEST_F(Function, IsDescribedAsAKernel) {
  auto m = module(withKernels({kFourfoldYaml}));
  tsr_kernel_t f = nullptr, byName = nullptr, step = nullptr;
  ASSERT_OK(tsrGetKernel(m, nullptr, &f));
  ASSERT_OK(tsrGetKernel(m, "fourfold", &byName));
  EXPECT_EQ(f, byName);
  ASSERT_OK(tsrGetKernel(m, "f.add", &step));
  EXPECT_EQ(tsrGetKernel(m, "sevenfold", &step), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("it has: fourfold"));
  const char *yaml = nullptr;
  ASSERT_OK(tsrKernelMetadata(f, &yaml));
  EXPECT_STREQ(yaml, kFourfoldYaml);
  tsr_arg_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrKernelArgInfo(f, 2, &info));
  EXPECT_STREQ(info.name, "a");
  EXPECT_EQ(tsrKernelArgInfo(f, 5, &info), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("function fourfold takes 5 arguments"));
  tsr_kernel_info_t kernelInfo{};
  kernelInfo.struct_size = sizeof kernelInfo;
  ASSERT_OK(tsrGetKernelInfo(f, &kernelInfo));
  EXPECT_EQ(kernelInfo.is_function, 1);
  EXPECT_EQ(kernelInfo.is_generated, 0);
  EXPECT_EQ(kernelInfo.result_count, 1u);
  ASSERT_OK(tsrGetKernelInfo(step, &kernelInfo));
  EXPECT_EQ(kernelInfo.is_function, 0);
  EXPECT_EQ(kernelInfo.is_generated, 1);
}

TEST_F(Function, ExtentsOfResultsMayBeExpressions) {
  auto f = function(functionYaml("{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
                                 "{name: result, kind: result, dtype: f32, dims: ['2*n'], access: write}, "
                                 "{name: n, kind: dim}",
                                 "steps: [{kernel: f.affine, args: [x, result, 1, 0, n]}]"));
  tsr_dim_info_t dim{};
  dim.struct_size = sizeof dim;
  ASSERT_OK(tsrKernelArgDim(f, 1, 0, &dim));
  EXPECT_STREQ(dim.text, "2*n");
  EXPECT_EQ(dim.kind, TSR_DIM_EXPRESSION);
  EXPECT_EQ(dim.argument, -1);
  EXPECT_EQ(dim.value, -1);
}

TEST_F(Function, ItsOwnArgumentsAreChecked) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(64), *y = alloc<float>(60);
  float a = 1, *none = nullptr;
  int64_t M = 8, D = 8;
  void *args[] = {&x, &y, &a, &M, &D};
  EXPECT_EQ(tsrLaunch(f, nullptr, {1, 1, 1, 1, 1, 1, 0}, args, 5), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("function fourfold: its plan gives every step its grid, so that of a call is 0,0,0"));
  EXPECT_EQ(tsrLaunch(f, nullptr, kFromMetadata, args, 4), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function fourfold: the kernel takes 5 arguments, found 4"));
  EXPECT_EQ(tsrLaunch(f, nullptr, kFromMetadata, args, 5), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("function fourfold: argument 1 (y): its dims need 256 bytes, its allocation has 240 from "
                   "the pointer on; it is y [M, D] = [8, 8]"));
  EXPECT_EQ(launch(f, nullptr, none, y, a, M, D), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function fourfold: argument 0 (x): the device pointer is null"));
  EXPECT_EQ(launch(f, nullptr, reinterpret_cast<char *>(x) + 2, y, a, M, D), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("not aligned to 4 bytes"));
  EXPECT_EQ(launch(f, nullptr, x, y, a, int64_t{-1}, D), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 3 (M): a dim cannot be negative, found -1"));
}

TEST_F(Function, DimsThatFailACheckAreRefused) {
  std::string yaml = kFourfoldYaml;
  size_t at = yaml.find("  steps:");
  ASSERT_NE(at, std::string::npos);
  yaml.insert(at, "  checks: [{value: M - D, says: \"0:D is outside a dim of M of 'x' [M, D]\"}]\n");
  auto f = function(yaml.c_str());
  auto *x = alloc<float>(64), *y = alloc<float>(64);
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}));
  EXPECT_EQ(launch(f, nullptr, x, y, 1.0f, int64_t{3}, int64_t{7}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function fourfold: 0:D is outside a dim of M of 'x' [M, D]: 'M - D' is -4"));
}

TEST_F(Function, TheWorkspaceHasThePlannedSize) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(256), *y = alloc<float>(256);
  const uint64_t before = bytesInUse();
  // In step 1 t0 and t1 are both live: 16 * 64 * 4 bytes and a quarter of that.
  EXPECT_EQ(workspace(f, 2, 1.0f, int64_t{16}, int64_t{16}), 4096u + 1024u);
  EXPECT_EQ(bytesInUse(), before);
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{16}, int64_t{16}));
  EXPECT_EQ(bytesInUse(), before + 5120);
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{16}, int64_t{16})); // a second call needs no more
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{4}, int64_t{16}));
  EXPECT_EQ(bytesInUse(), before + 5120);
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(workspace(f, 2, 1.0f, int64_t{0}, int64_t{16}), 0u);

  tsr_kernel_t add = nullptr;
  ASSERT_OK(tsrGetKernel(module(withKernels({})), "f.add", &add));
  EXPECT_EQ(workspace(add, 3, int64_t{16}), 0u);
  uint64_t bytes = 7;
  EXPECT_EQ(tsrKernelWorkspace(f, nullptr, 5, &bytes), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("args is null"));
  EXPECT_EQ(tsrKernelWorkspace(f, nullptr, 0, &bytes), TSR_EINVAL);
  EXPECT_EQ(tsrKernelWorkspace(nullptr, nullptr, 0, &bytes), TSR_EINVAL);
  EXPECT_EQ(tsrKernelWorkspace(f, nullptr, 5, nullptr), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("bytes is NULL"));
  EXPECT_EQ(bytes, 7u);
}

TEST_F(Function, TheWorkspaceGrowsWithCallsAndIsFreedWithTheStream) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(64 * 64, 1.0f), *y = alloc<float>(64 * 64);
  auto s = stream();
  const uint64_t before = bytesInUse();
  for (int64_t M = 1; M <= 64; ++M) {
    ASSERT_OK(launch(f, s, x, y, 1.0f, M, int64_t{64}));
    const uint64_t planned = workspace(f, 2, 1.0f, M, int64_t{64});
    ASSERT_GE(bytesInUse() - before, planned);
    ASSERT_LE(bytesInUse() - before, planned + planned / 4 + 256);
  }
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(y[64 * 64 - 1], fourfold(1, 1, 63, 64));
  ASSERT_OK(tsrDestroyStream(s));
  EXPECT_EQ(bytesInUse(), before);
}

TEST_F(Function, TrimmingFreesTheWorkspacesOfIdleStreams) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64);
  auto *word = holdStream(nullptr);
  const uint64_t before = bytesInUse();
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}));
  const uint64_t busy = bytesInUse();
  EXPECT_GT(busy, before);
  ASSERT_OK(tsrTrimMemory(context));
  EXPECT_EQ(bytesInUse(), busy);
  open(word);
  ASSERT_OK(tsrSynchronize(context));
  ASSERT_OK(tsrTrimMemory(context));
  EXPECT_EQ(bytesInUse(), before);
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[63], fourfold(1, 1, 7, 8));
}

/// A chain of five temporaries uses the memory of two.
TEST_F(Function, TemporariesShareMemory) {
  auto f = function(functionYaml(
      "{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
      "{name: y, kind: result, dtype: f32, dims: [n], access: write}, {name: n, kind: dim}",
      "buffers: [{name: t0, dtype: f32, dims: [n]}, {name: t1, dtype: f32, dims: [n]}, "
      "{name: t2, dtype: f32, dims: [n]}, {name: t3, dtype: f32, dims: [n]}, {name: t4, dtype: f32, dims: "
      "[n]}], "
      "steps: [{kernel: f.affine, args: [x, t0, 2, 1, n]}, {kernel: f.affine, args: [t0, t1, 2, 1, n]}, "
      "{kernel: f.affine, args: [t1, t2, 2, 1, n]}, {kernel: f.affine, args: [t2, t3, 2, 1, n]}, "
      "{kernel: f.affine, args: [t3, t4, 2, 1, n]}, {kernel: f.affine, args: [t4, y, 2, 1, n]}]"));
  auto *x = alloc<float>(1000, 1.0f), *y = alloc<float>(1000);
  EXPECT_EQ(workspace(f, 2, int64_t{1000}), 2 * 4032u);
  ASSERT_OK(launch(f, nullptr, x, y, int64_t{1000}));
  ASSERT_OK(tsrSynchronize(context));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(y[i], 127.0f); // 64 * 1 + 63
}

const char *kTwoTensors = "{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
                          "{name: y, kind: result, dtype: f32, dims: [n], access: write}, "
                          "{name: k, kind: scalar, dtype: i64}, {name: n, kind: dim}";

/// y = x + (x + x) with the sum written over an in/out parameter and read back from it.
TEST_F(Function, AnInOutParameterKeepsWhatEarlierStepsWrote) {
  auto f = function(functionYaml(
      "{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
      "{name: state, kind: tensor, dtype: f32, dims: [n], access: readwrite}, "
      "{name: y, kind: result, dtype: f32, dims: [n], access: write}, {name: n, kind: dim}",
      "buffers: [{name: t, dtype: f32, dims: [n]}], "
      "steps: [{kernel: f.add, args: [x, state, t, n]}, {kernel: f.add, args: [t, t, state, n]}, "
      "{kernel: f.add, args: [state, t, y, n]}]"));
  auto *x = alloc<float>(100, 1.0f), *state = alloc<float>(100, 2.0f), *y = alloc<float>(100);
  for (int turn = 0; turn < 2; ++turn)
    ASSERT_OK(launch(f, nullptr, x, state, y, int64_t{100}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(state[99], 14.0f); // 2 (1 + 2) = 6, then 2 (1 + 6)
  EXPECT_EQ(y[99], 21.0f);     // 14 + 7
}

/// Also within one step: a transpose in place would read what it has written.
TEST_F(Function, WrittenTensorsMayNotShareMemory) {
  auto f = function(functionYaml(kTwoTensors, "steps: [{kernel: f.affine, args: [x, y, 2, 0, n]}]"));
  auto *both = alloc<float>(300, 1.0f);
  const int64_t k = 0, n = 100;
  EXPECT_EQ(launch(f, nullptr, both, both, k, n), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function f: argument 1 (y), which the function writes, and argument 0 (x) share "
                           "400 bytes; y needs memory of its own"));
  EXPECT_EQ(launch(f, nullptr, both, both + 99, k, n), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("share 4 bytes"));
  EXPECT_EQ(launch(f, nullptr, both + 99, both, k, n), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("argument 1 (y), which the function writes, and argument 0 (x) share 4 bytes"));
  EXPECT_OK(launch(f, nullptr, both, both + 100, k, n));
  EXPECT_OK(launch(f, nullptr, both + 100, both, k, n));
  EXPECT_OK(launch(f, nullptr, both, both, k, int64_t{0}));
  EXPECT_OK(tsrSynchronize(context));
  EXPECT_EQ(both[99], 4.0f);
  EXPECT_EQ(both[299], 1.0f);

  auto s = stream();
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_EQ(launch(f, s, both, both, k, n), TSR_EINVAL);
  tsr_graph_t graph = nullptr;
  ASSERT_OK(tsrStreamEndCapture(s, &graph));
}

TEST_F(Function, ReadTensorsMayShareMemory) {
  auto f = function(functionYaml(
      "{name: a, kind: tensor, dtype: f32, dims: [n], access: read}, "
      "{name: b, kind: tensor, dtype: f32, dims: [n], access: read}, "
      "{name: state, kind: tensor, dtype: f32, dims: [n], access: readwrite}, "
      "{name: y, kind: result, dtype: f32, dims: [n], access: write}, "
      "{name: z, kind: result, dtype: f32, dims: [m], access: write}, "
      "{name: n, kind: dim}, {name: m, kind: dim}",
      "steps: [{kernel: f.add, args: [a, state, y, n]}, {kernel: f.add, args: [b, b, state, n]}, "
      "{kernel: f.affine, args: [a, z, 1, 0, m]}]"));
  auto *p = alloc<float>(500, 1.0f);
  const int64_t n = 100, m = 10;
  EXPECT_OK(launch(f, nullptr, p, p, p + 100, p + 200, p + 300, n, m));
  EXPECT_OK(launch(f, nullptr, p + 50, p, p + 150, p + 250, p + 350, n, m));
  EXPECT_EQ(launch(f, nullptr, p, p + 50, p + 100, p + 200, p + 300, n, m), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("argument 2 (state), which the function writes, and argument 1 (b) share 200 bytes"));
  EXPECT_EQ(launch(f, nullptr, p, p, p + 100, p + 199, p + 300, n, m), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("argument 3 (y), which the function writes, and argument 2 (state) share 4 bytes"));
  EXPECT_EQ(launch(f, nullptr, p, p, p + 200, p + 100, p + 190, n, m), TSR_EINVAL); // two results
  EXPECT_TRUE(lastErrorHas("argument 4 (z), which the function writes, and argument 3 (y) share 40 bytes"));
  EXPECT_EQ(launch(f, nullptr, p, p, p + 200, p + 100, p + 10, n, m), TSR_EINVAL); // inside an input
  EXPECT_TRUE(lastErrorHas("argument 4 (z), which the function writes, and argument 1 (b) share 40 bytes") ||
              lastErrorHas("argument 4 (z), which the function writes, and argument 0 (a) share 40 bytes"));
  EXPECT_OK(tsrSynchronize(context));
}

/// More tensors than a launch stores on its stack.
TEST_F(Function, OverlapIsFoundAmongManyTensors) {
  std::string params, yaml;
  const int count = 100;
  for (int i = 0; i < count; ++i)
    params += "{name: x" + std::to_string(i) + ", kind: tensor, dtype: f32, dims: [n], access: read}, ";
  auto f = function(functionYaml(params + "{name: y, kind: result, dtype: f32, dims: [n], access: write}, "
                                          "{name: n, kind: dim}",
                                 "steps: [{kernel: f.affine, args: [x0, y, 2, 0, n]}]"));
  int64_t n = 8;
  auto *p = alloc<float>(static_cast<size_t>(n) * (count + 1), 1.0f);
  std::vector<float *> tensors;
  std::vector<void *> args;
  for (int i = 0; i <= count; ++i)
    tensors.push_back(p + n * i);
  for (float *&t : tensors)
    args.push_back(&t);
  args.push_back(&n);
  EXPECT_OK(tsrLaunch(f, nullptr, kFromMetadata, args.data(), args.size()));
  tensors[count] = tensors[70] + 1;
  EXPECT_EQ(tsrLaunch(f, nullptr, kFromMetadata, args.data(), args.size()), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("argument 100 (y), which the function writes, and argument 70 (x70) share 28 bytes") ||
      lastErrorHas("argument 100 (y), which the function writes, and argument 71 (x71) share 4 bytes"));
  EXPECT_OK(tsrSynchronize(context));
}

TEST_F(Function, ImpossibleSizes) {
  auto f =
      function(functionYaml(kTwoTensors, "buffers: [{name: t, dtype: f32, dims: [n, \"k - 2\", \"4*k\"]}], "
                                         "steps: [{kernel: f.affine, args: [x, t, 2, 0, n]}, "
                                         "{kernel: f.affine, args: [t, y, 2, 0, n]}]"));
  auto *x = alloc<float>(10, 1.0f), *y = alloc<float>(10);
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{1}, int64_t{10}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function f: buffer t [n, k - 2, 4*k] = [10, -1, 4]: a dim cannot be negative"));
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{1} << 40, int64_t{10}), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("function f: buffer t [n, k - 2, 4*k] = [10, 1099511627774, 4398046511104]: its dims make "
                   "more than 2^63 bytes"));
  EXPECT_EQ(launch(f, nullptr, x, y, INT64_MAX, int64_t{10}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("= [10, 9223372036854775805, ?]: '4*k' divides by zero or overflows"));
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{2}, int64_t{10}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("step 0 (kernel f.affine): argument 1, y [n] = [10], needs 40 bytes; "
                           "t [n, k - 2, 4*k] = [10, 0, 8] has 0"));
  ASSERT_OK(launch(f, nullptr, x, y, int64_t{3}, int64_t{10}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[9], 4.0f);
}

TEST_F(Function, TemporariesThatFitOnlyIndividually) {
  auto f = function(functionYaml(kTwoTensors, "buffers: [{name: t, dtype: f32, dims: [k]}, "
                                              "{name: u, dtype: f32, dims: [k]}], "
                                              "steps: [{kernel: f.affine, args: [x, t, 2, 0, n]}, "
                                              "{kernel: f.affine, args: [x, u, 2, 0, n]}, "
                                              "{kernel: f.add, args: [t, u, y, n]}]"));
  auto *x = alloc<float>(10, 1.0f), *y = alloc<float>(10);
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{1} << 60, int64_t{10}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function f: the temporaries make more than 2^63 bytes; the largest is t [k] = "
                           "[1152921504606846976]"));
}

TEST_F(Function, AWorkspaceTooLargeIsOutOfMemoryAndTheNextCallWorks) {
  auto f = function(functionYaml(kTwoTensors, "buffers: [{name: t, dtype: f32, dims: [n, k]}], "
                                              "steps: [{kernel: f.affine, args: [x, t, 2, 0, n]}, "
                                              "{kernel: f.affine, args: [t, y, 2, 0, n]}]"));
  auto *x = alloc<float>(10, 1.0f), *y = alloc<float>(10);
  ASSERT_OK(launch(f, nullptr, x, y, int64_t{1}, int64_t{10}));
  const uint64_t before = bytesInUse();
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{1} << 50, int64_t{10}), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("function f: the workspace for its temporaries: cannot get "));
  EXPECT_LT(bytesInUse(), before); // the old workspace was freed first
  ASSERT_OK(launch(f, nullptr, x, y, int64_t{1}, int64_t{10}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(bytesInUse(), before);
  EXPECT_EQ(y[9], 4.0f);
}

TEST_F(Function, StepsReceiveTheDimsTheyWereCompiledFor) {
  auto f = [&] {
    auto all =
        withKernels({functionYaml(kTwoTensors, "steps: [{kernel: f.fixed, args: [x, y, \"k + 1\", n]}]")});
    all.push_back(compiled(R"yaml({name: f.fixed, target: cpu, numerics: standard, params: [
      {name: a, kind: tensor, dtype: f32, dims: [R, S], access: read},
      {name: b, kind: result, dtype: f32, dims: [S], access: write},
      {name: R, kind: dim}, {name: S, kind: dim}], specialized: {S: 8}, launch: {}})yaml",
                           [](const uint64_t *, int64_t, int64_t, uint8_t *) {}));
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrGetKernel(module(std::move(all)), nullptr, &k));
    return k;
  }();
  auto *x = alloc<float>(16), *y = alloc<float>(16);
  EXPECT_OK(launch(f, nullptr, x, y, int64_t{0}, int64_t{8}));
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{0}, int64_t{9}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas(
      "function f: step 0 (kernel f.fixed): argument 3 (S): the kernel was compiled for S = 8; found "
      "9; a [R, S] and b [S] have this dim"));
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{1}, int64_t{8}), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("function f: step 0 (kernel f.fixed): argument 0, a [R, S] = [2, 8], needs 64 bytes; "
                   "x [n] = [8] has 32"));
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{-2}, int64_t{8}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("step 0 (kernel f.fixed): argument 2 (R): a dim cannot be negative, found -1"));
}

/// scale(x) is 2 x in general, 3 x for n == 8 and 5 x for other multiples of 4.
const char *kScaleVariants =
    "variants: [{entry: f.v0, when: [n == 8]}, {entry: f.v1, when: [n % 4 == 0, n > k]}], ";
std::vector<CompiledKernel> scaleWith(const std::string &variants, const std::string &special = {}) {
  auto document = [&](const std::string &name, const std::string &more, int factor) {
    return "{name: " + name + ", target: cpu, numerics: standard, params: [" + kTwoTensors + "], " + more +
           "plan: {buffers: [{name: t, dtype: f32, dims: [\"" + std::to_string(factor) +
           "*n\"]}], steps: [{kernel: f.affine, args: [x, t, 1, 0, n]}, {kernel: f.affine, args: [t, y, " +
           std::to_string(factor) + ", 0, n]}]}}";
  };
  return withKernels({document("f", variants, 2), document("f.v0", special, 3), document("f.v1", "", 5)});
}

TEST_F(Function, RunsTheFirstVariantWhoseConditionsHold) {
  tsr_kernel_t f = nullptr;
  ASSERT_OK(tsrGetKernel(module(scaleWith(kScaleVariants, "specialized: {n: 8}, ")), nullptr, &f));
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64);
  auto factor = [&](int64_t n, int64_t k) {
    EXPECT_OK(launch(f, nullptr, x, y, k, n));
    EXPECT_OK(tsrSynchronize(context));
    return y[n - 1];
  };
  EXPECT_EQ(factor(8, 0), 3);
  EXPECT_EQ(factor(9, 0), 2);
  EXPECT_EQ(factor(12, 11), 5);
  EXPECT_EQ(factor(12, 12), 2);
  EXPECT_EQ(factor(8, 99), 3);
  EXPECT_EQ(workspace(f, 2, int64_t{0}, int64_t{8}), 128u);  // 96 bytes
  EXPECT_EQ(workspace(f, 2, int64_t{0}, int64_t{9}), 128u);  // 72 bytes
  EXPECT_EQ(workspace(f, 2, int64_t{0}, int64_t{12}), 256u); // 240 bytes

  // the arguments are checked as those of the function
  EXPECT_EQ(launch(f, nullptr, x, y, int64_t{0}, int64_t{-8}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function f: argument"));
  // and a capture records what the call runs
  auto s = stream();
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(f, s, x, y, int64_t{0}, int64_t{8}));
  tsr_graph_t graph = nullptr;
  ASSERT_OK(tsrStreamEndCapture(s, &graph));
  y[7] = 0;
  ASSERT_OK(tsrGraphLaunch(graph, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(y[7], 3);
}

TEST_F(Function, TheWorkspaceSufficesForTensorsOfAnyAlignment) {
  auto sizeWith = [&](const char *variants, int64_t n) {
    tsr_kernel_t f = nullptr;
    EXPECT_OK(tsrGetKernel(module(scaleWith(variants)), nullptr, &f));
    return workspace(f, 2, int64_t{0}, n);
  };
  // 5 n floats if x is aligned, 2 n otherwise
  EXPECT_EQ(sizeWith("variants: [{entry: f.v1, when: ['aligned(x, 4096)']}], ", 9), 192u);
  EXPECT_EQ(sizeWith("variants: [{entry: f.v1, when: ['aligned(x, 1)']}], ", 9), 192u);
  // 3 n if it is, 5 n otherwise
  const char *both =
      "variants: [{entry: f.v0, when: ['aligned(x, 16)']}, {entry: f.v1, when: [n % 4 == 0]}], ";
  EXPECT_EQ(sizeWith(both, 12), 256u);
  EXPECT_EQ(sizeWith(both, 9), 128u);
  EXPECT_EQ(sizeWith("variants: [{entry: f.v0, when: ['aligned(x, 64)', 'aligned(y, 16)']}, "
                     "{entry: f.v1, when: ['aligned(x, 16)']}], ",
                     12),
            256u);
}

TEST_F(Function, RefusesVariantsThatCannotRunInstead) {
  auto refused = [&](const std::string &variants, const std::string &special, const char *why) {
    tsr_module_t m = nullptr;
    EXPECT_EQ(createModule(context, scaleWith(variants, special), &m), TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas(why));
  };
  refused("variants: [{entry: f.v2, when: [n == 8]}], ", "",
          "function f: variant f.v2: the module has no such entry");
  refused("variants: [{entry: f, when: [n == 8]}], ", "",
          "function f: variant f: it has variants of its own");
  refused("variants: [{entry: f.affine, when: [n == 8]}], ", "",
          "function f: variant f.affine: one is a kernel, the other a function");
  refused("variants: [{entry: f.v0, when: [n <= 8]}], ", "specialized: {n: 8}, ",
          "function f: variant f.v0: it was compiled for n = 8, which is no condition of it");
  refused("variants: [{entry: f.v0, when: [n == 9]}], ", "specialized: {n: 8}, ",
          "variant f.v0: it was compiled for n = 8, which is no condition of it");

  auto all = scaleWith("variants: [{entry: other, when: [n == 8]}], ");
  all.push_back(compiled(functionYaml("{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
                                      "{name: y, kind: result, dtype: f32, dims: [n], access: write}, "
                                      "{name: n, kind: dim}",
                                      "steps: [{kernel: f.affine, args: [x, y, 1, 0, n]}]")
                             .replace(7, 1, "other")
                             .c_str(),
                         nullptr));
  all.back().kind = EntryKind::Function;
  tsr_module_t m = nullptr;
  EXPECT_EQ(createModule(context, std::move(all), &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("function f: variant other: its parameters are others"));
}

/// A kernel's variant has a grid of its own.
TEST_F(Function, KernelsMayHaveVariants) {
  auto document = [](const char *name, const char *more, const char *axis) {
    return std::string("{name: ") + name + R"yaml(, target: cpu, numerics: standard, params: [
  {name: y, kind: tensor, dtype: i64, dims: [n], access: write}, {name: n, kind: dim}],
  )yaml" + more +
           "launch: {axes: [\"" + axis + "\"]}}";
  };
  auto count = [](const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
    reinterpret_cast<std::atomic<int64_t> *>(v[0])->fetch_add(end - begin, std::memory_order_relaxed);
  };
  const std::string general = document("k", "variants: [{entry: k.v0, when: [n == 8]}], ", "ceildiv(n, 2)");
  const std::string special = document("k.v0", "specialized: {n: 8}, ", "n // 8");
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(module({compiled(general.c_str(), count), compiled(special.c_str(), count)}),
                         nullptr, &k));
  auto *y = alloc<int64_t>(16);
  ASSERT_OK(launch(k, nullptr, y, int64_t{8}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[0], 1);
  ASSERT_OK(launch(k, nullptr, y, int64_t{9}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[0], 1 + 5);
}

/// More sets of dims than a function caches, twice.
TEST_F(Function, ManySetsOfDims) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(40 * 3, 1.0f), *y = alloc<float>(40 * 3);
  for (int turn = 0; turn < 2; ++turn)
    for (int64_t M = 1; M <= 40; ++M) {
      ASSERT_OK(launch(f, nullptr, x, y, 1.0f, M, int64_t{3}));
      ASSERT_OK(tsrSynchronize(context));
      ASSERT_EQ(y[3 * M - 1], fourfold(1, 1, 2, 3));
    }
}

/// Scalars from a parameter, a literal in the dtype's bits, and an expression; a grid that depends on one.
TEST_F(Function, ScalarsArePassedToTheSteps) {
  auto all = withKernels(
      {functionYaml("{name: out, kind: result, dtype: i64, dims: [\"6\"], access: write}, {name: b, kind: "
                    "scalar, dtype: bf16}, "
                    "{name: i, kind: scalar, dtype: i32}",
                    "steps: [{kernel: f.echo, args: [out, b, 1.5, true, -.inf, \"i - 1\", i]}]")});
  all.push_back(compiled(R"yaml({name: f.echo, target: cpu, numerics: standard, params: [
    {name: out, kind: result, dtype: i64, dims: ["6"], access: write},
    {name: a, kind: scalar, dtype: bf16}, {name: b, kind: scalar, dtype: bf16}, {name: c, kind: scalar, dtype: bool},
    {name: d, kind: scalar, dtype: f64}, {name: e, kind: scalar, dtype: i8}, {name: f, kind: scalar, dtype: i32}],
    launch: {axes: ["f + 100"]}})yaml",
                         [](const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
                           auto *out = reinterpret_cast<std::atomic<int64_t> *>(v[0]);
                           for (int i = 0; i < 5; ++i)
                             out[i].store(static_cast<int64_t>(v[1 + i]), std::memory_order_relaxed);
                           out[5].fetch_add(end - begin, std::memory_order_relaxed);
                         }));
  tsr_kernel_t f = nullptr;
  ASSERT_OK(tsrGetKernel(module(std::move(all)), nullptr, &f));
  auto *out = alloc<int64_t>(6);
  ASSERT_OK(launch(f, nullptr, out, uint16_t{0x3F80}, int32_t{-2}));
  ASSERT_OK(tsrSynchronize(context));
  const int64_t expected[] = {0x3F80, 0x3FC0, 1, static_cast<int64_t>(0xFFF0000000000000), 0xFD, 98};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(out[i], expected[i]) << i;
  ASSERT_OK(launch(f, nullptr, out, uint16_t{0x3F80}, int32_t{-90}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(out[5], 108);
  EXPECT_EQ(launch(f, nullptr, out, uint16_t{0}, int32_t{200}), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("step 0 (kernel f.echo): argument 5 (e): 'i - 1' is 199, which i8 cannot hold"));
}

TEST_F(Function, AStepThatCannotBeQueuedIsNamed) {
  auto f = function(kFourfoldYaml);
  auto greedy = kernel(kGreedyYaml, [](const uint64_t *, int64_t, int64_t, uint8_t *) {});
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64);
  auto e = event();
  auto *word = holdStream(nullptr); // otherwise the record might return the failure
  ASSERT_OK(launch(greedy, nullptr));
  ASSERT_OK(tsrEventRecord(e, nullptr));
  open(word);
  ASSERT_OK(tsrEventSynchronize(e)); // the failure has occurred but has not been returned
  EXPECT_EQ(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("function fourfold: step 0 (kernel f.widen): kernel greedy: cannot get"));
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[63], fourfold(1, 1, 7, 8));
}

/// A step that fails while it runs: later work is dropped, and the stream returns the failure.
TEST_F(Function, AStepThatFailsWhileItRunsFailsTheStream) {
  auto all = withKernels({functionYaml(kTwoTensors, "steps: [{kernel: f.affine, args: [x, y, 2, 0, n]}, "
                                                    "{kernel: greedy, args: []}, "
                                                    "{kernel: f.affine, args: [x, y, 3, 0, n]}]")});
  all.push_back(compiled(kGreedyYaml, [](const uint64_t *, int64_t, int64_t, uint8_t *) {}));
  tsr_kernel_t f = nullptr;
  ASSERT_OK(tsrGetKernel(module(std::move(all)), "f", &f));
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64);
  auto *word = holdStream(nullptr);
  ASSERT_OK(launch(f, nullptr, x, y, int64_t{0}, int64_t{64}));
  open(word);
  EXPECT_EQ(tsrSynchronize(context), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("kernel greedy"));
  EXPECT_EQ(y[63], 2.0f);
}

TEST_F(Function, QueuedStepsOutliveTheirModule) {
  auto m = module(withKernels({kFourfoldYaml}));
  tsr_kernel_t f = nullptr;
  ASSERT_OK(tsrGetKernel(m, nullptr, &f));
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64);
  auto *word = holdStream(nullptr);
  ASSERT_OK(launch(f, nullptr, x, y, 1.0f, int64_t{8}, int64_t{8}));
  ASSERT_OK(tsrUnloadModule(m));
  open(word);
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(y[63], fourfold(1, 1, 7, 8));
}

/// A graph has its own temporaries, so calls on the stream between its replays do not affect it.
TEST_F(Function, ACapturedCallKeepsItsOwnWorkspace) {
  auto f = function(kFourfoldYaml);
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64), *z = alloc<float>(64);
  auto s = stream();
  const uint64_t before = bytesInUse();
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(f, s, x, y, 1.0f, int64_t{8}, int64_t{8}));
  tsr_graph_t graph = nullptr;
  ASSERT_OK(tsrStreamEndCapture(s, &graph));
  tsr_graph_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrGraphInfo(graph, &info));
  EXPECT_EQ(info.launches, 3u);
  EXPECT_EQ(y[63], 0.0f);
  EXPECT_EQ(bytesInUse(), before + 1280);
  for (int turn = 1; turn <= 3; ++turn) {
    std::fill_n(x, 64, static_cast<float>(turn));
    ASSERT_OK(tsrGraphLaunch(graph, s));
    ASSERT_OK(launch(f, s, x, z, 2.0f, int64_t{8}, int64_t{8}));
    ASSERT_OK(tsrStreamSynchronize(s));
    EXPECT_EQ(y[63], fourfold(1, static_cast<float>(turn), 7, 8));
    EXPECT_EQ(z[63], fourfold(2, static_cast<float>(turn), 7, 8));
  }
  EXPECT_EQ(bytesInUse(), before + 2 * 1280);
  ASSERT_OK(tsrDestroyGraph(graph));
  EXPECT_EQ(bytesInUse(), before + 1280);
  ASSERT_OK(tsrDestroyStream(s));
  EXPECT_EQ(bytesInUse(), before);
}

// ---- Loading ----

class FunctionLoad : public FunctionTest {
protected:
  std::string errorOf(const std::string &plan) {
    tsr_module_t m = nullptr;
    std::string params = "{name: x, kind: tensor, dtype: f32, dims: [n], access: read}, "
                         "{name: h, kind: tensor, dtype: bf16, dims: [n], access: read}, "
                         "{name: y, kind: result, dtype: f32, dims: [n], access: write}, "
                         "{name: a, kind: scalar, dtype: f32}, {name: i, kind: scalar, dtype: i32}, "
                         "{name: n, kind: dim}";
    EXPECT_EQ(createModule(context, withKernels({functionYaml(params, plan)}), &m), TSR_EINVAL);
    return tsrLastError();
  }
};

TEST_F(FunctionLoad, StepsMustMatchTheirKernels) {
  EXPECT_EQ(errorOf("steps: [{kernel: f.sub, args: []}]"),
            "function f: step 0 (kernel f.sub): the module has no such kernel");
  EXPECT_EQ(errorOf("steps: [{kernel: f, args: []}]"),
            "function f: step 0 (kernel f): f is a function, and a step launches a kernel");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, x, y, n]}, {kernel: f.add, args: [x, y, n]}]"),
            "function f: step 1 (kernel f.add): the kernel takes 4 arguments, found 3");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, h, y, n]}]"),
            "function f: step 0 (kernel f.add): argument 1 (y): expected f32, found h of bf16");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, n, y, n]}]"),
            "function f: step 0 (kernel f.add): argument 1 (y): expected a tensor, found 'n'");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, x, y, y]}]"),
            "function f: step 0 (kernel f.add): argument 3 (n): 'y': unknown name 'y' at column 1");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, x, y, 1.5]}]"),
            "function f: step 0 (kernel f.add): argument 3 (n): '1.5': expected an operator at column 2, "
            "found '.'");
  EXPECT_EQ(errorOf("steps: [{kernel: f.affine, args: [x, y, x, 1, n]}]"),
            "function f: step 0 (kernel f.affine): argument 2 (a): expected a scalar of f32, found 'x'");
  EXPECT_EQ(errorOf("steps: [{kernel: f.affine, args: [x, y, a, true, n]}]"),
            "function f: step 0 (kernel f.affine): argument 3 (b): expected a scalar of f32, found 'true'");
  EXPECT_EQ(errorOf("steps: [{kernel: f.affine, args: [x, y, a, i, n]}]"),
            "function f: step 0 (kernel f.affine): argument 3 (b): expected f32, found i of i32");
}

TEST_F(FunctionLoad, EntriesMustMatchTheirMetadata) {
  tsr_module_t m = nullptr;
  auto all = withKernels({kFourfoldYaml});
  all[0].kind = EntryKind::Kernel;
  EXPECT_EQ(createModule(context, all, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("entry fourfold: it is marked a kernel, yet its metadata has a plan"));
  all[0].kind = all[1].kind = EntryKind::Function;
  EXPECT_EQ(createModule(context, all, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("entry f.affine: it is marked a function, yet its metadata has no plan"));
}

TEST_F(FunctionLoad, ValuesMustBeDefined) {
  EXPECT_EQ(
      errorOf("buffers: [{name: t, dtype: f32, dims: [n]}], steps: [{kernel: f.add, args: [x, t, y, n]}]"),
      "function f: step 0 (kernel f.add): argument 1 (y): t is read before a step has written it");
  EXPECT_EQ(
      errorOf("buffers: [{name: t, dtype: f32, dims: [n]}], steps: [{kernel: f.add, args: [x, t, t, n]}]"),
      "function f: step 0 (kernel f.add): argument 1 (y): t is read before a step has written it");
  EXPECT_EQ(errorOf("steps: [{kernel: f.add, args: [x, y, y, n]}]"),
            "function f: step 0 (kernel f.add): argument 1 (y): y is read before a step has written it");
  EXPECT_EQ(
      errorOf("steps: [{kernel: f.add, args: [x, x, x, n]}]"),
      "function f: step 0 (kernel f.add): argument 2 (z): the step writes x, which the function only reads");
  EXPECT_EQ(errorOf("steps: []"), "function f: no step writes the result y");
}

} // namespace
