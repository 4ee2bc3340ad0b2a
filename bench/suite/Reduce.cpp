// Sums beside BLAS and a loop, histograms beside private tables in C++.
#include "bench/Data.h"
#include "bench/Parallel.h"
#include "bench/suite/Loops.h"
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <algorithm>
#include <cblas.h>
#include <cmath>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tessera::bench {
namespace {

constexpr const char *sumSource =
    "import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"n\", ts.f32]):\n    return ts.sum(x)\n";

constexpr const char *histogramSource = R"py(
import tessera as ts


@ts.kernel
def f(x: ts.Tensor["n", ts.f32], counts: ts.Tensor["bins", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        part = x[i] * ts.f32(bins)
        if part >= 0.0 and part < ts.f32(bins):
            ts.tile.atomic_add(counts, ts.i32(part), 1)
)py";

/// Calls part(begin, end, p) for equal parts p of [0, n), one for each thread.
void forParts(int threads, int64_t n, const std::function<void(int64_t, int64_t, int)> &part) {
  if (threads == 1) return part(0, n, 0);
  tbb::parallel_for(0, threads, [&](int p) { part(n * p / threads, n * (p + 1) / threads, p); });
}

Case sumOf(int64_t n, const char *family = "sum") {
  const std::string title = fmt::format("sum of {}", n);
  return {family, title, {0, Unit::None, 4.0 * double(n), 4}, [=](Trial &trial) {
            const std::vector<float> values = randomFloats(size_t(n), std::hash<std::string>()(title), 0, 1);
            const float *x = trial.store(values);
            const float *ones = trial.store(std::vector<float>(size_t(n), 1));
            trial.addTessera(trial.lab.kernel(sumSource, "f"), {{"x", x}}, {{"n", n}}, 4);
            // sdot is OpenBLAS's fastest sum while both arrays are in L1; sasum reads one array.
            trial.addPeer("OpenBLAS sdot", 4, [=](void *y) -> Call {
              return [=] { *static_cast<float *>(y) = cblas_sdot(int(n), x, 1, ones, 1); };
            });
            trial.addPeer("OpenBLAS sasum", 4, [=](void *y) -> Call {
              return [=] { *static_cast<float *>(y) = cblas_sasum(int(n), x, 1); };
            });
            trial.addPeer("C++ loop", 4, [=, threads = trial.lab.settings.cores](void *y) -> Call {
              return [=] {
                float parts[64] = {};
                forParts(std::min(threads, 64), n, [&](int64_t begin, int64_t end, int p) {
                  parts[p] = sumLoop(x + begin, end - begin);
                });
                *static_cast<float *>(y) = sumLoop(parts, 64);
              };
            });
            double want = 0;
            for (float v : values)
              want += v;
            trial.check = [want](const void *result) {
              Check check;
              check.add(*static_cast<const float *>(result), want, 1e-5 * want);
              return check;
            };
          }};
}

Case histogramOf(int64_t n, int64_t bins) {
  const std::string title = fmt::format("histogram of {}, {} bins", n, bins);
  return {"histogram", title, {0, Unit::None, 4.0 * double(n), 4.0 * double(bins)}, [=](Trial &trial) {
            const std::vector<float> values =
                randomFloats(size_t(n), std::hash<std::string>()(title), -0.1f, 1.1f);
            const float *x = trial.store(values);
            const size_t bytes = size_t(bins) * sizeof(int32_t);
            trial.addTessera(trial.lab.kernel(histogramSource, "f"), {{"x", x}}, {{"n", n}, {"bins", bins}},
                             bytes, "counts");
            // The kernel adds to its counts, so that zeroing them belongs to the call, here and there.
            Contender &own = trial.contenders.back();
            own.run = [run = own.run, counts = own.output, bytes] {
              std::memset(counts, 0, bytes);
              run();
            };
            trial.addPeer("C++ private tables", bytes,
                          [=, threads = trial.lab.settings.cores](void *out) -> Call {
                            return [=] {
                              std::vector<std::vector<int32_t>> tables(static_cast<size_t>(threads),
                                                                       std::vector<int32_t>(size_t(bins)));
                              forParts(threads, n, [&](int64_t begin, int64_t end, int p) {
                                countLoop(x + begin, end - begin, tables[size_t(p)].data(), bins);
                              });
                              auto *counts = static_cast<int32_t *>(out);
                              std::fill_n(counts, bins, 0);
                              for (const auto &table : tables)
                                for (int64_t i = 0; i < bins; ++i)
                                  counts[i] += table[size_t(i)];
                            };
                          });
            std::vector<int64_t> want(static_cast<size_t>(bins));
            for (float v : values)
              if (const float part = v * float(bins); part >= 0 && part < float(bins)) ++want[size_t(part)];
            trial.check = [want](const void *result) {
              Check check;
              for (size_t i = 0; i < want.size(); ++i)
                check.add(static_cast<const int32_t *>(result)[i], double(want[i]), 0);
              return check;
            };
          }};
}

} // namespace

Suite reduceSuite() {
  Suite out{"reduce",
            "Reductions of f32",
            {"One compilation for all extents. C++ loop: -O3 for this processor, sums in lanes.",
             "launch: the sum of one element, which is the limit of a call that launches and waits."},
            {},
            {{"sum", 1.00, 0.97}, {"histogram", 0.8, 0.8}}};
  out.causes = {
      {"^sum of 4096$", "the launch and the wait, which take longer than the sum (60 to 80 ns)",
       "launches that do not look at the clock (decision 147)",
       "calls that check their arguments, the stream and the plan for less"},
      {"^sum of 65536$",
       "its 256 KB leave the second-level cache in 2.4 us, and a helper that is awake takes 2 us to come",
       "two parts on two cores, 2.7 us instead of 2.66; four, 2.9 (decision 164)",
       "helpers that come within 1 us"}};
  out.cases.push_back(sumOf(1, "launch"));
  for (int64_t n : {4096, 65536, 1 << 20, 1 << 25})
    out.cases.push_back(sumOf(n));
  for (int64_t bins : {256, 1024})
    out.cases.push_back(histogramOf(1 << 22, bins));
  return out;
}

} // namespace tessera::bench
