#include "bench/Machine.h"
#include "bench/Timing.h"
#include "core/support/HostCpu.h"
#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sched.h>
#include <thread>
#include <vector>

namespace tessera::bench {
namespace {

/// `Count` chains of fused multiply-adds over vectors of `Bytes`; enough chains to cover the latency of two
/// units. The factor and the addend keep the values near 1, so that no slow denormal ever appears.
template <int Bytes, int Count>
[[gnu::always_inline]] inline float fmaChains(long turns, float factor, float addend) {
  typedef float Vector __attribute__((vector_size(Bytes)));
  Vector chains[Count], f = Vector{} + factor, a = Vector{} + addend;
  for (int i = 0; i < Count; ++i)
    chains[i] = Vector{} + float(i);
  for (long t = 0; t < turns; ++t)
#pragma clang loop unroll(full)
    for (int i = 0; i < Count; ++i)
      chains[i] = __builtin_elementwise_fma(chains[i], f, a);
  Vector sum = chains[0];
  for (int i = 1; i < Count; ++i)
    sum += chains[i];
  return sum[0];
}

// One instance per instruction set. The widest that the CPU supports is chosen at run time.
[[gnu::noinline, gnu::target("avx512f")]] float fma512(long turns, float f, float a) {
  return fmaChains<64, 24>(turns, f, a);
}
[[gnu::noinline, gnu::target("avx2,fma")]] float fma256(long turns, float f, float a) {
  return fmaChains<32, 12>(turns, f, a);
}

struct FmaLoop {
  float (*run)(long, float, float);
  double flopsPerTurn;
  const char *name;
};

const FmaLoop *fmaLoop() {
  static const FmaLoop avx512 = {fma512, 2.0 * 16 * 24, "AVX-512"}, avx2 = {fma256, 2.0 * 8 * 12, "AVX2"};
  if (__builtin_cpu_supports("avx512f")) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
  return nullptr;
}

/// Binds the calling thread to the `index`-th core it may use during its lifetime: two threads that the
/// scheduler leaves on one core would measure half the machine.
class Pinned {
public:
  explicit Pinned(int index) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && index-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
        return;
      }
  }
  ~Pinned() {
    if (pinned_) (void)sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned &) = delete;

private:
  cpu_set_t before_;
  bool pinned_ = false;
};

} // namespace

double bestRound(int threads, int rounds, const std::function<void(int)> &body) {
  double best = 1e30;
  std::vector<Clock::time_point> starts(threads);
  std::barrier gate(threads);
  auto work = [&](int thread) {
    Pinned pinned(thread);
    for (int r = 0; r < rounds; ++r) {
      gate.arrive_and_wait();
      starts[size_t(thread)] = Clock::now();
      body(thread);
      gate.arrive_and_wait();
      if (thread == 0) best = std::min(best, secondsSince(*std::min_element(starts.begin(), starts.end())));
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t)
    others.emplace_back(work, t);
  work(0);
  for (std::thread &t : others)
    t.join();
  return best;
}

double measureFmaPeak(int threads) {
  const FmaLoop *loop = fmaLoop();
  if (!loop) return 0; // no FMA unit: nothing to compare with
  constexpr long turns = 1'000'000;
  std::vector<float> sink(size_t(threads) * 16);
  volatile float factor = 0.999f, addend = 0.001f;
  const double seconds =
      bestRound(threads, 12, [&](int t) { sink[size_t(t) * 16] += loop->run(turns, factor, addend); });
  return threads * loop->flopsPerTurn * turns / seconds;
}

double measureStream(int threads) {
  const size_t each = (size_t(96) << 20) / sizeof(float) / size_t(threads); // two arrays of 96 MiB in all
  std::vector<std::unique_ptr<float[]>> x(threads), y(threads);
  bestRound(threads, 1, [&](int t) { // untimed: the thread that will use the memory touches it first
    x[t] = std::make_unique<float[]>(each);
    y[t] = std::make_unique<float[]>(each);
  });
  const double seconds = bestRound(threads, 10, [&](int t) {
    const float *__restrict from = x[t].get();
    float *__restrict to = y[t].get();
    for (size_t i = 0; i < each; ++i)
      to[i] += 0.5f * from[i];
  });
  return 3.0 * sizeof(float) * double(each) * threads / seconds;
}

int usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

static bool isX86Level4() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const char *blisArchitecture() { return isX86Level4() ? "0" : nullptr; } // skx

const char *blasCoreType() {
  if (isX86Level4()) return "SkylakeX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : nullptr;
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string name = "an unnamed processor";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      name = line.substr(std::min(line.size(), line.find(':') + 2));
      break;
    }
  return name;
}

std::string microarchitecture() {
  const std::string model = hostCpuModel();
  return model.empty() ? "unknown" : model;
}

std::string describeProcessor() {
  return processorName() + " (" + microarchitecture() + "), " + std::to_string(usableCores()) + " cores";
}

const char *vectorExtension() { return fmaLoop() ? fmaLoop()->name : "SSE"; }

void restrictToCores(int count) {
  cpu_set_t all, some;
  CPU_ZERO(&all);
  CPU_ZERO(&some);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) < count; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &some);
  (void)sched_setaffinity(0, sizeof some, &some);
}

} // namespace tessera::bench
