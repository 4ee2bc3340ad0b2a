// The C++ wrapper, with the same kernels.
#include "core/test/Support.h"
#include <cstdlib>
#include <tessera/tessera.hpp>

using namespace tessera;
using namespace tessera::test;

namespace {

using tessera::Error; // not the value of core/support/Expected.h

Module load(const Context &context, const char *yaml, CpuKernelFn entry) {
  tsr_module_t m = nullptr;
  check(createModule(context.handle(), {compiled(yaml, entry)}, &m));
  return Module(m);
}

TEST(Wrapper, LaunchesWithTypedArguments) {
  Context context("cpu");
  Module module = load(context, kSaxpyYaml, saxpy);
  std::vector<float> host(500, 2.0f);
  auto x = context.upload<float>(host), y = context.upload<float>(host);
  Stream stream = context.stream();
  Event start = context.event(), end = context.event();
  start.record(stream);
  launch(module.kernel("saxpy"), stream, x, y, 3.0f, Dim(host.size()));
  end.record(stream);
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.since(start), 0.0);
  EXPECT_EQ(y.download(), std::vector<float>(500, 8.0f));
  launch(module.kernel(), x, y.get(), 1.0f, 500); // default stream, raw pointer, a dim as a plain int
  context.synchronize();
  y.download(host, stream);
  stream.synchronize();
  EXPECT_TRUE(stream.done());
  EXPECT_EQ(host[499], 10.0f);
  EXPECT_NE(module.kernel().metadata().find("saxpy"), std::string::npos);
}

TEST(Wrapper, TracesCallAFunction) {
  Context context("cpu");
  auto x = context.alloc<float>(100);
  std::vector<uint64_t> bytes;
  {
    Trace trace([&](const tsr_trace_record_t &r) { bytes.push_back(r.bytes); }, 1u << TSR_TRACE_COPY);
    x.upload(std::vector<float>(100));
    EXPECT_THROW(Trace([](const tsr_trace_record_t &) {}), Error);
  }
  x.upload(std::vector<float>(100));
  EXPECT_EQ(bytes, std::vector<uint64_t>{400});
}

TEST(Wrapper, SignaturesAreDescribed) {
  Context context("cpu");
  Module module = load(context, kSaxpyYaml, saxpy);
  const std::vector<Kernel> kernels = module.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_STREQ(kernels[0].info().name, "saxpy");
  EXPECT_EQ(kernels[0].info().arg_count, 4u);
  EXPECT_EQ(kernels[0].arguments()[1].is_written, 1);
  ASSERT_EQ(kernels[0].dims(0).size(), 1u);
  EXPECT_STREQ(kernels[0].dims(0)[0].text, "n");
  EXPECT_EQ(kernels[0].dims(0)[0].argument, 3);
  EXPECT_TRUE(kernels[0].dims(2).empty()); // a scalar
  EXPECT_THROW(kernels[0].dims(4), std::out_of_range);
  EXPECT_EQ(context.capability("backend"), "cpu");
  EXPECT_THROW(context.capability("front"), Error);
}

TEST(Wrapper, FailuresThrowWithStatusAndText) {
  Context context;
  Module module = load(context, kSaxpyYaml, saxpy);
  try {
    launch(module.kernel(), 1.0f);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.status(), TSR_EINVAL);
    EXPECT_NE(std::string(e.what()).find("TSR_EINVAL: kernel saxpy: the kernel takes 4 arguments, found 1"),
              std::string::npos);
  }
  EXPECT_THROW(module.kernel("nothing"), Error);
  EXPECT_THROW(Context("no such backend"), Error);
  EXPECT_THROW(context.alloc<double>(SIZE_MAX / 2), Error);
  EXPECT_THROW(context.alloc<double>(SIZE_MAX / 64), Error);
  EXPECT_THROW(context.load("", {.numerics = "loose"}), Error);
  auto buffer = context.alloc<float>(10);
  std::vector<float> host(11);
  EXPECT_THROW(buffer.upload(host), Error);
  EXPECT_THROW(buffer.download(std::span<float>(host)), Error);
}

/// Returns the text that launching with `args` throws, or "".
template <class... Args> std::string refusal(const Kernel &kernel, const Args &...args) {
  try {
    launch(kernel, args...);
  } catch (const Error &e) {
    EXPECT_EQ(e.status(), TSR_EINVAL);
    return e.what();
  }
  return "";
}

TEST(Wrapper, NumbersAreConvertedToTheParametersType) {
  Context context;
  Module module = load(context, kSaxpyYaml, saxpy);
  Kernel k = module.kernel();
  std::vector<float> host(8, 1.0f);
  auto x = context.upload<float>(host), y = context.upload<float>(host);
  launch(k, x, y, 2.5, 8); // a double for f32
  launch(k, x, y, 2, 8u);  // an integer for f32
  EXPECT_EQ(y.download(), std::vector<float>(8, 5.5f));
  auto wide = context.alloc<double>(8);
  EXPECT_EQ(refusal(k, x, wide, 1.0f, 8),
            "TSR_EINVAL: argument 1 (y, f32): the buffer's elements have another size");
  EXPECT_EQ(refusal(k, x, 1.0f, y, 8),
            "TSR_EINVAL: argument 1 (y, f32): a buffer or a device pointer is needed");
  EXPECT_EQ(refusal(k, x, y, y, 8), "TSR_EINVAL: argument 2 (alpha, f32): a value is needed, not a buffer");
  EXPECT_EQ(refusal(k, x, y, 1.0f, 8.0), "TSR_EINVAL: argument 3 (n, i64): an integer is needed");
  EXPECT_EQ(refusal(k, x, y, 1.0f, UINT64_MAX), "TSR_EINVAL: argument 3 (n, i64): the value is out of range");
}

TEST(Wrapper, ScalarsStayInRange) {
  Context context;
  Module module = load(context, R"yaml({name: typed, target: cpu, numerics: standard, params: [
    {name: a, kind: scalar, dtype: i8}, {name: b, kind: scalar, dtype: u8}, {name: c, kind: scalar, dtype: bool},
    {name: d, kind: scalar, dtype: f16}], launch: {}})yaml",
                       [](const uint64_t *v, int64_t, int64_t, uint8_t *) {
                         if (v[0] != 0x80 || v[1] != 255 || v[2] != 1 || v[3] != 0x3C00) abort();
                       });
  Kernel k = module.kernel();
  struct Half {
    uint16_t bits = 0x3C00;
  } one;
  launch(k, -128, 255, true, one);
  context.synchronize();
  const char *range = "the value is out of range";
  EXPECT_NE(refusal(k, -129, 0, 0, one).find(range), std::string::npos);
  EXPECT_NE(refusal(k, 128, 0, 0, one).find(range), std::string::npos);
  EXPECT_NE(refusal(k, 0, -1, 0, one).find(range), std::string::npos);
  EXPECT_NE(refusal(k, 0, 256, 0, one).find(range), std::string::npos);
  EXPECT_NE(refusal(k, 0, 0, 2, one).find(range), std::string::npos);
  EXPECT_NE(refusal(k, 0, 0, 0, 1.0f).find("pass a trivially copyable class"), std::string::npos);
  EXPECT_NE(refusal(k, 0, 0, 0, Dim(1)).find("pass a trivially"), std::string::npos);
}

TEST(Wrapper, CapturesAndReplays) {
  Context context;
  Module module = load(context, kSaxpyYaml, saxpy);
  std::vector<float> host(100, 1.0f);
  auto x = context.upload<float>(host), y = context.upload<float>(host);
  Stream stream = context.stream();
  stream.beginCapture();
  EXPECT_THROW(stream.synchronize(), Error);
  launch(module.kernel(), stream, x, y, 1.0f, 100);
  launch(module.kernel(), stream, x, y, 2.0f, 100);
  Graph graph = stream.endCapture();
  EXPECT_EQ(graph.info().launches, 2u);
  EXPECT_THROW(stream.endCapture(), Error);
  stream.launch(graph);
  stream.launch(graph);
  stream.synchronize();
  EXPECT_EQ(y.download(), std::vector<float>(100, 7.0f));
  EXPECT_NE(context.capabilities().find("tensorcore"), std::string::npos);
}

TEST(Wrapper, TakesAnAllocator) {
  static size_t live = 0;
  tsr_allocator_t allocator = {sizeof allocator, nullptr,
                               [](void *, size_t bytes, size_t alignment) {
                                 live += bytes;
                                 return std::aligned_alloc(alignment, bytes);
                               },
                               [](void *, void *p, size_t bytes) {
                                 live -= bytes;
                                 std::free(p);
                               }};
  {
    Context context("cpu", 0, &allocator);
    auto buffer = context.alloc<float>(100);
    EXPECT_GE(live, 400u);
  }
  EXPECT_EQ(live, 0u);
}

TEST(Wrapper, ObjectsMove) {
  Context context;
  Buffer<int> a = context.alloc<int>(4), b;
  a.fill(0xFF);
  int *p = a.get();
  b = std::move(a);
  EXPECT_EQ(b.get(), p);
  EXPECT_EQ(a.get(), nullptr);
  b = context.alloc<int>(8); // frees the previous buffer
  EXPECT_EQ(tsrFree(context.handle(), p), b.get() == p ? TSR_SUCCESS : TSR_EINVAL);
  Stream s = context.stream(), t = std::move(s);
  EXPECT_EQ(s.handle(), nullptr);
  t.wait(context.event());
  t.synchronize();
  Context moved = std::move(context);
  EXPECT_EQ(std::string(moved.deviceInfo().backend), "cpu");
}

TEST(Wrapper, EmptyBuffers) {
  Context context;
  auto empty = context.upload<float>({});
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_NE(empty.get(), nullptr);
  EXPECT_TRUE(empty.download().empty());
}

} // namespace
