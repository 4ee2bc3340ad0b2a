// A fixture with a context, and kernels written in C++ in place of compiled ones.
#pragma once
#include "core/objects/Modules.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <tessera/tessera.h>
#include <thread>
#include <vector>

namespace tessera::test {

#define ASSERT_OK(call) ASSERT_EQ((call), TSR_SUCCESS) << tsrLastError()
#define EXPECT_OK(call) EXPECT_EQ((call), TSR_SUCCESS) << tsrLastError()

inline constexpr tsr_launch_t kFromMetadata = {0, 0, 0, 0, 0, 0, 0};

/// y[i] = alpha * x[i] + y[i], 64 elements per program.
inline const char *kSaxpyYaml = R"yaml({name: saxpy, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [n], access: read},
  {name: y, kind: tensor, dtype: f32, dims: [n], access: readwrite},
  {name: alpha, kind: scalar, dtype: f32},
  {name: n, kind: dim}], launch: {axes: ["ceildiv(n, 64)"]}})yaml";

inline void saxpy(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *x = reinterpret_cast<const float *>(v[0]);
  auto *y = reinterpret_cast<float *>(v[1]);
  float alpha;
  std::memcpy(&alpha, &v[2], sizeof alpha);
  auto n = static_cast<int64_t>(v[3]);
  for (int64_t i = begin * 64; i < std::min(end * 64, n); ++i)
    y[i] = alpha * x[i] + y[i];
}

/// Blocks its stream until the given word becomes non-zero.
inline const char *kHoldYaml = R"yaml({name: hold, target: cpu, numerics: standard, params: [
  {name: word, kind: tensor, dtype: i32, dims: ["1"], access: read}], launch: {}})yaml";

inline void hold(const uint64_t *v, int64_t, int64_t, uint8_t *) {
  auto *word = reinterpret_cast<std::atomic<int32_t> *>(v[0]);
  while (!word->load(std::memory_order_acquire))
    std::this_thread::yield();
}

/// word[0] = word[0] * 10 + digit, which records the order of launches.
inline const char *kDigitYaml = R"yaml({name: digit, target: cpu, numerics: standard, params: [
  {name: word, kind: tensor, dtype: i64, dims: ["1"], access: readwrite},
  {name: digit, kind: scalar, dtype: i32}], launch: {}})yaml";

inline void digit(const uint64_t *v, int64_t, int64_t, uint8_t *) {
  auto *word = reinterpret_cast<std::atomic<int64_t> *>(v[0]);
  word->store(word->load(std::memory_order_relaxed) * 10 + static_cast<int32_t>(v[1]),
              std::memory_order_relaxed);
}

/// Needs more scratch than any machine has, so it fails when it runs.
inline const char *kGreedyYaml = R"yaml({name: greedy, target: cpu, numerics: standard, params: [],
  resources: {scratch_bytes: 4611686018427387904}, launch: {}})yaml";

inline CompiledKernel compiled(const char *yaml, CpuKernelFn entry, std::shared_ptr<void> code = nullptr) {
  CompiledKernel k;
  k.metadata = yaml;
  k.entry = entry;
  k.code = std::move(code);
  return k;
}

class RuntimeTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_OK(tsrCreateContext(&context)); }
  void TearDown() override {
    if (context) EXPECT_OK(tsrDestroyContext(context));
  }

  tsr_module_t module(std::vector<CompiledKernel> kernels) {
    tsr_module_t m = nullptr;
    EXPECT_OK(createModule(context, std::move(kernels), &m));
    return m;
  }
  tsr_kernel_t kernel(const char *yaml, CpuKernelFn entry) {
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrGetKernel(module({compiled(yaml, entry)}), nullptr, &k));
    return k;
  }
  template <class T> T *alloc(size_t count, T value = T()) {
    void *p = nullptr;
    EXPECT_OK(tsrAlloc(context, count * sizeof(T), TSR_MEM_DEVICE, &p));
    for (size_t i = 0; i < count; ++i)
      new (static_cast<T *>(p) + i) T(value);
    return static_cast<T *>(p);
  }
  tsr_stream_t stream() {
    tsr_stream_t s = nullptr;
    EXPECT_OK(tsrCreateStream(context, &s));
    return s;
  }
  tsr_event_t event() {
    tsr_event_t e = nullptr;
    EXPECT_OK(tsrCreateEvent(context, &e));
    return e;
  }
  /// Launches with the addresses of `values` as arguments.
  template <class... Values> tsr_status_t launch(tsr_kernel_t k, tsr_stream_t s, Values... values) {
    void *args[] = {static_cast<void *>(&values)..., nullptr};
    return tsrLaunch(k, s, kFromMetadata, args, sizeof...(values));
  }
  /// Returns a word that blocks `s` until open() is called on it.
  std::atomic<int32_t> *holdStream(tsr_stream_t s) {
    auto *word = reinterpret_cast<std::atomic<int32_t> *>(alloc<int32_t>(1));
    EXPECT_OK(launch(kernel(kHoldYaml, hold), s, static_cast<void *>(word)));
    return word;
  }
  static void open(std::atomic<int32_t> *word) { word->store(1, std::memory_order_release); }

  tsr_context_t context = nullptr;
};

/// Returns whether tsrLastError contains `text`.
inline testing::AssertionResult lastErrorHas(const char *text) {
  if (std::strstr(tsrLastError(), text)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << tsrLastError() << "' does not contain '" << text << "'";
}

} // namespace tessera::test
