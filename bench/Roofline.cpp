#include "bench/Roofline.h"
#include "bench/Machine.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <immintrin.h>
#include <memory>

namespace tessera::bench {
namespace {

// Independent chains cover the latency of two multiply units.
constexpr int kChains = 16;

[[gnu::noinline, gnu::target("avx512f")]] double f64Chains(long steps, double factor) {
  __m512d sums[kChains], f = _mm512_set1_pd(factor);
  for (__m512d &s : sums)
    s = f;
  for (long i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < kChains; ++c)
      sums[c] = _mm512_fmadd_pd(sums[c], f, f);
  for (int c = 1; c < kChains; ++c)
    sums[0] = _mm512_add_pd(sums[0], sums[c]);
  return _mm512_reduce_add_pd(sums[0]);
}

[[gnu::noinline, gnu::target("avx512f,avx512bf16")]] double bf16Chains(long steps, double factor) {
  __m512 sums[kChains];
  const __m512i bits =
      _mm512_set1_epi32(int(factor * 1000)); // subnormal pairs, which the instruction flushes
  const auto pairs = (__m512bh)bits;
  for (__m512 &s : sums)
    s = _mm512_setzero_ps();
  for (long i = 0; i < steps; ++i) {
#pragma clang loop unroll(full)
    for (int c = 0; c < kChains; ++c)
      sums[c] = _mm512_dpbf16_ps(sums[c], pairs, pairs);
  }
  for (int c = 1; c < kChains; ++c)
    sums[0] = _mm512_add_ps(sums[0], sums[c]);
  return _mm512_reduce_add_ps(sums[0]);
}

[[gnu::noinline, gnu::target("avx512f,avx512vnni")]] double i8Chains(long steps, double factor) {
  __m512i sums[kChains];
  const __m512i quads = _mm512_set1_epi32(int(factor * 1000));
  for (__m512i &s : sums)
    s = _mm512_setzero_si512();
  for (long i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < kChains; ++c)
      sums[c] = _mm512_dpbusd_epi32(sums[c], quads, quads);
  for (int c = 1; c < kChains; ++c)
    sums[0] = _mm512_add_epi32(sums[0], sums[c]);
  return _mm512_reduce_add_epi32(sums[0]);
}

/// Pairs of i16, which i8 is widened to where there is no instruction for quads.
[[gnu::noinline, gnu::target("avx2")]] double i16Chains(long steps, double factor) {
  __m256i sums[kChains / 2], pairs = _mm256_set1_epi32(int(factor * 1000));
  for (__m256i &s : sums)
    s = _mm256_setzero_si256();
  for (long i = 0; i < steps; ++i)
#pragma clang loop unroll(full)
    for (int c = 0; c < kChains; ++c) {
      __asm__("" : "+x"(pairs)); // the products are computed again
      sums[c / 2] = _mm256_add_epi32(sums[c / 2], _mm256_madd_epi16(pairs, pairs));
    }
  for (int c = 1; c < kChains / 2; ++c)
    sums[0] = _mm256_add_epi32(sums[0], sums[c]);
  return double(_mm256_extract_epi32(sums[0], 0));
}

/// Operations per second of `threads` threads that run `chains`.
double rate(int threads, double (*chains)(long, double), double operationsPerVector) {
  constexpr long steps = 500'000;
  std::vector<double> sink(size_t(threads) * 8);
  volatile double factor = 0.001;
  const double seconds = bestRound(threads, 10, [&](int t) { sink[size_t(t) * 8] += chains(steps, factor); });
  return threads * operationsPerVector * kChains * steps / seconds;
}

// The loops of the bandwidth, once for each vector width.
template <int Bytes>
[[gnu::always_inline]] inline void update(const float *from, float *to, size_t count, float factor) {
  typedef float V __attribute__((vector_size(Bytes)));
  const V f = V{} + factor;
  auto *x = reinterpret_cast<const V *>(from);
  auto *y = reinterpret_cast<V *>(to);
#pragma clang loop unroll_count(4)
  for (size_t i = 0; i < count * sizeof(float) / Bytes; ++i)
    y[i] = y[i] + f * x[i];
}

/// y = a x, stored without reading what y held.
template <int Bytes>
[[gnu::always_inline]] inline void scale(const float *from, float *to, size_t count, float factor) {
  typedef float V __attribute__((vector_size(Bytes)));
  const V f = V{} + factor;
  auto *x = reinterpret_cast<const V *>(from);
  auto *y = reinterpret_cast<V *>(to);
#pragma clang loop unroll_count(4)
  for (size_t i = 0; i < count * sizeof(float) / Bytes; ++i)
    __builtin_nontemporal_store(f * x[i], y + i);
}

template <int Bytes> [[gnu::always_inline]] inline float total(const float *from, size_t count) {
  typedef float V __attribute__((vector_size(Bytes)));
  V sums[8] = {};
  auto *x = reinterpret_cast<const V *>(from);
  for (size_t i = 0; i + 8 <= count * sizeof(float) / Bytes; i += 8)
#pragma clang loop unroll(full)
    for (size_t j = 0; j < 8; ++j)
      sums[j] += x[i + j];
  for (size_t j = 1; j < 8; ++j)
    sums[0] += sums[j];
  return sums[0][0];
}

[[gnu::noinline, gnu::target("avx512f")]] void update512(const float *x, float *y, size_t n, float f) {
  update<64>(x, y, n, f);
}
[[gnu::noinline, gnu::target("avx2,fma")]] void update256(const float *x, float *y, size_t n, float f) {
  update<32>(x, y, n, f);
}
[[gnu::noinline]] void update128(const float *x, float *y, size_t n, float f) { update<16>(x, y, n, f); }
[[gnu::noinline, gnu::target("avx512f")]] void scale512(const float *x, float *y, size_t n, float f) {
  scale<64>(x, y, n, f);
}
[[gnu::noinline, gnu::target("avx2,fma")]] void scale256(const float *x, float *y, size_t n, float f) {
  scale<32>(x, y, n, f);
}
[[gnu::noinline]] void scale128(const float *x, float *y, size_t n, float f) { scale<16>(x, y, n, f); }
[[gnu::noinline, gnu::target("avx512f")]] float total512(const float *x, size_t n) { return total<64>(x, n); }
[[gnu::noinline, gnu::target("avx2,fma")]] float total256(const float *x, size_t n) {
  return total<32>(x, n);
}
[[gnu::noinline]] float total128(const float *x, size_t n) { return total<16>(x, n); }

using Floats = std::unique_ptr<float[], decltype(&std::free)>;

/// Bytes per second over arrays of `footprint` bytes in all, each part touched first by its thread.
double passes(int threads, size_t footprint, bool onlyReads) {
  const bool wide = __builtin_cpu_supports("avx512f"), middle = __builtin_cpu_supports("avx2");
  auto *updateAll = wide ? update512 : middle ? update256 : update128;
  auto *scaleAll = wide ? scale512 : middle ? scale256 : scale128;
  auto *totalAll = wide ? total512 : middle ? total256 : total128;
  const size_t each = std::max<size_t>(footprint / sizeof(float) / size_t(threads), 256) / 256 * 256;
  const size_t half = onlyReads ? each : each / 2; // floats of one array
  std::vector<Floats> x, y;
  for (int t = 0; t < threads; ++t)
    for (auto *arrays : {&x, &y})
      arrays->emplace_back(static_cast<float *>(std::aligned_alloc(64, half * sizeof(float))), &std::free);
  const int repeats = int(std::max<size_t>(1, (size_t(4) << 20) / footprint));
  std::vector<float> sink(size_t(threads) * 16);
  auto pass = [&](int t) {
    for (int r = 0; r < repeats; ++r)
      if (onlyReads)
        sink[size_t(t) * 16] += totalAll(x[t].get(), half);
      else
        updateAll(x[t].get(), y[t].get(), half, 1e-3f);
  };
  bestRound(threads, 1, [&](int t) {
    std::fill_n(x[t].get(), half, 1.0f);
    std::fill_n(y[t].get(), half, 1.0f);
    pass(t);
  });
  const int rounds = footprint < (size_t(32) << 20) ? 15 : 6;
  const double array = double(half * sizeof(float)) * threads * repeats;
  const double rate = (onlyReads ? 1.0 : 3.0) * array / bestRound(threads, rounds, pass);
  if (onlyReads) return rate;
  // Past the caches, a pass that does not read what it overwrites may move more.
  const double scaled = bestRound(threads, rounds, [&](int t) {
    for (int r = 0; r < repeats; ++r)
      scaleAll(x[t].get(), y[t].get(), half, 1e-3f);
  });
  return std::max(rate, 2.0 * array / scaled);
}

constexpr size_t kSmallest = size_t(16) << 10, kLargest = size_t(256) << 20;

std::vector<std::pair<double, double>> ladder(int threads, bool onlyReads) {
  std::vector<std::pair<double, double>> out;
  for (size_t bytes = kSmallest * size_t(threads); bytes <= kLargest; bytes *= 2)
    out.emplace_back(double(bytes), passes(threads, bytes, onlyReads));
  // What fits a cache is not slower than what does not: a lower figure was disturbed.
  for (size_t i = out.size() - 1; i-- > 0;)
    out[i].second = std::max(out[i].second, out[i + 1].second);
  return out;
}

} // namespace

Roofline::Roofline(int threads) : reads_(ladder(threads, true)), updates_(ladder(threads, false)) {
  measureArithmetic(threads);
}

void Roofline::measureArithmetic(int threads) {
  f32_ = std::max(f32_, measureFmaPeak(threads));
  const bool isWide = __builtin_cpu_supports("avx512f");
  if (!isWide && __builtin_cpu_supports("avx2")) i8_ = std::max(i8_, rate(threads, i16Chains, 4.0 * 8));
  if (!isWide) return;
  f64_ = std::max(f64_, rate(threads, f64Chains, 2.0 * 8));
  if (__builtin_cpu_supports("avx512bf16")) bf16_ = std::max(bf16_, rate(threads, bf16Chains, 4.0 * 16));
  if (__builtin_cpu_supports("avx512vnni")) i8_ = std::max(i8_, rate(threads, i8Chains, 8.0 * 16));
}

double Roofline::peak(Unit unit) const {
  switch (unit) {
  case Unit::F32:
    return f32_;
  case Unit::F64:
    return f64_ > 0 ? f64_ : f32_ / 2;
  case Unit::Bf16: // widened to f32 where there is no instruction
    return bf16_ > 0 ? bf16_ : f32_;
  case Unit::I8:
    return i8_;
  case Unit::None:
    break;
  }
  return 0;
}

double Roofline::bandwidth(double footprint, bool onlyReads) const {
  const auto &steps = onlyReads ? reads_ : updates_;
  auto above = std::find_if(steps.begin(), steps.end(), [&](auto &s) { return s.first >= footprint; });
  if (above == steps.begin()) return steps.front().second;
  if (above == steps.end()) return steps.back().second;
  const auto below = above - 1;
  const double part = std::log(footprint / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, part);
}

double Roofline::limit(const Work &work) const {
  const double rate = peak(work.unit), bytes = work.bytes();
  const double arithmetic = rate > 0 ? work.operations / rate : 0;
  const double traffic = bytes > 0 ? bytes / bandwidth(bytes, work.written < bytes / 16) : 0;
  return std::max(arithmetic, traffic);
}

std::string Roofline::text() const {
  std::string out = fmt::format("FMA peak {:.0f} GF/s in f32 ({}), {:.0f} in f64", f32_ * 1e-9,
                                vectorExtension(), peak(Unit::F64) * 1e-9);
  if (bf16_ > 0) out += fmt::format(", {:.0f} in bf16 by vdpbf16ps", bf16_ * 1e-9);
  if (i8_ > 0)
    out += fmt::format(", {:.0f} Gop/s in i8 by {}", i8_ * 1e-9,
                       __builtin_cpu_supports("avx512vnni") ? "vpdpbusd" : "vpmaddwd");
  out += "; GB/s of y = a x + y, or of y = a x stored past the caches,";
  for (double bytes : {32e3, 512e3, 8e6, 256e6})
    out += fmt::format("{} {:.0f} in {} MB", bytes > 32e3 ? "," : "", bandwidth(bytes, false) * 1e-9,
                       bytes * 1e-6);
  return out + ".";
}

} // namespace tessera::bench
