// Measures the cost of tsrLaunch on the host: eight arguments, checked and queued. Once while another kernel
// occupies the stream, so that only the host's side is measured, and once including the wait.
#include "core/objects/Modules.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tessera/tessera.h>
#include <thread>

using namespace tessera;
using Clock = std::chrono::steady_clock;

namespace {

std::atomic<bool> held;
void hold(const uint64_t *, int64_t, int64_t, uint8_t *) {
  while (held.load())
    std::this_thread::yield();
}
void nothing(const uint64_t *, int64_t, int64_t, uint8_t *) {}

constexpr const char *kEight = R"yaml({name: eight, target: cpu, numerics: standard, params: [
  {name: A, kind: tensor, dtype: f32, dims: [M, K], access: read},
  {name: B, kind: tensor, dtype: f32, dims: [K, N], access: read},
  {name: C, kind: tensor, dtype: f32, dims: [M, N], access: readwrite},
  {name: alpha, kind: scalar, dtype: f32}, {name: beta, kind: scalar, dtype: f32},
  {name: M, kind: dim}, {name: K, kind: dim}, {name: N, kind: dim}],
  launch: {axes: ["ceildiv(M, 64)", "ceildiv(N, 64)"]}})yaml";

void check(tsr_status_t status) {
  if (status == TSR_SUCCESS) return;
  std::fprintf(stderr, "%s\n", tsrLastError());
  std::exit(1);
}

tsr_kernel_t kernel(tsr_context_t context, const char *yaml, CpuKernelFn entry) {
  CompiledKernel k;
  k.metadata = yaml;
  k.entry = entry;
  tsr_module_t module;
  tsr_kernel_t out;
  check(createModule(context, {k}, &module));
  check(tsrGetKernel(module, nullptr, &out));
  return out;
}

double nanoseconds(Clock::time_point start, int count) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / count;
}

} // namespace

int main() {
  tsr_context_t context;
  tsr_stream_t stream;
  check(tsrCreateContext(&context));
  check(tsrCreateStream(context, &stream));
  tsr_kernel_t eight = kernel(context, kEight, nothing);
  tsr_kernel_t holder =
      kernel(context, "{name: hold, target: cpu, numerics: standard, params: [], launch: {}}", hold);
  void *a, *b, *c;
  for (void **p : {&a, &b, &c})
    check(tsrAlloc(context, 64 * 64 * 4, TSR_MEM_DEVICE, p));
  float alpha = 1, beta = 0;
  int64_t m = 64, k = 64, n = 64;
  void *args[] = {&a, &b, &c, &alpha, &beta, &m, &k, &n};

  double best = 1e30;
  for (int round = 0; round < 20; ++round) {
    constexpr int kCount = 2000;
    held = true;
    check(tsrLaunch(holder, stream, tsr_launch_t{}, nullptr, 0));
    auto start = Clock::now();
    for (int i = 0; i < kCount; ++i)
      check(tsrLaunch(eight, stream, tsr_launch_t{}, args, 8));
    best = std::min(best, nanoseconds(start, kCount));
    held = false;
    check(tsrStreamSynchronize(stream));
  }
  std::printf("tsrLaunch, 8 arguments, host side          %8.0f ns\n", best);

  best = 1e30;
  for (int round = 0; round < 20; ++round) {
    auto start = Clock::now();
    for (int i = 0; i < 200; ++i) {
      check(tsrLaunch(eight, stream, tsr_launch_t{}, args, 8));
      check(tsrStreamSynchronize(stream));
    }
    best = std::min(best, nanoseconds(start, 200));
  }
  std::printf("launch and wait, one empty program         %8.0f ns\n", best);

  constexpr int kCount = 20000;
  auto start = Clock::now();
  for (int i = 0; i < kCount; ++i)
    check(tsrLaunch(eight, stream, tsr_launch_t{}, args, 8));
  check(tsrStreamSynchronize(stream));
  std::printf("a queue of %d launches, per launch      %8.0f ns\n", kCount, nanoseconds(start, kCount));
  check(tsrDestroyContext(context));
}
