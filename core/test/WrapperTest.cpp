// The C++ wrapper, over the same kernels.
#include "core/test/Support.h"
#include <tessera/tessera.hpp>

using namespace tessera;
using namespace tessera::test;

namespace {

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

TEST(Wrapper, ObjectsMove) {
  Context context;
  Buffer<int> a = context.alloc<int>(4), b;
  a.fill(0xFF);
  int *p = a.get();
  b = std::move(a);
  EXPECT_EQ(b.get(), p);
  EXPECT_EQ(a.get(), nullptr);
  b = context.alloc<int>(8); // frees the first
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
