// f32 matrix product: Tessera against the FMA peak, OpenBLAS and oneDNN, all in one run on the same data.
#include "bench/Benchmarks.h"
#include "bench/Check.h"
#include "bench/Contender.h"
#include "bench/Data.h"
#include "bench/Machine.h"
#include "tools/host/Host.h"
#include <cblas.h>
#include <cmath>
#include <dnnl.h>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

struct Problem {
  int64_t n; // extents of a square product
  std::vector<float> a, b;
};

/// Rows spread over the result are compared in full; up to 256 rows, all of them.
Check checkRows(const Problem &p, const float *c) {
  Check check;
  const int64_t step = std::max<int64_t>(1, p.n / 256);
  std::vector<double> sum(p.n), magnitude(p.n);
  for (int64_t i = 0; i < p.n; i += step) {
    std::fill(sum.begin(), sum.end(), 0);
    std::fill(magnitude.begin(), magnitude.end(), 0);
    for (int64_t k = 0; k < p.n; ++k)
      for (int64_t j = 0; j < p.n; ++j) {
        const double term = double(p.a[i * p.n + k]) * p.b[k * p.n + j];
        sum[j] += term;
        magnitude[j] += std::abs(term);
      }
    for (int64_t j = 0; j < p.n; ++j)
      check.add(c[i * p.n + j], sum[j], double(p.n + 1) * 0x1p-24 * magnitude[j] + 1e-30);
  }
  return check;
}

} // namespace

Table benchGemm(const Settings &settings) {
  Table table;
  const double peak = measureFmaPeak(settings.cores);
  table.title = fmt::format("f32 GEMM, {} core{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {
      fmt::format(
          "Square, row-major, GF/s of the fastest call; FMA peak {:.0f} GF/s ({}); OpenBLAS's kernels: {}.",
          peak * 1e-9, vectorExtension(), openblas_get_corename()),
      "Every contender's result is checked against double precision first; they take turns in three rounds."};
  table.columns = {"size", "tessera", "OpenBLAS", "oneDNN", "of peak", "vs best library"};

  openblas_set_num_threads(settings.cores);
  host::Device device("cpu");
  const std::string file = settings.samples + "/gemm_loops/gemm_loops.py", source = host::readText(file);
  std::vector<int64_t> sizes = {64, 128, 256, 512, 1024};
  if (settings.full) sizes.push_back(2048);

  for (int64_t n : sizes) {
    const size_t count = size_t(n * n);
    const Problem p{n, randomFloats(count, 1), randomFloats(count, 2)};
    const host::NamedInts dims = {{"M", n}, {"K", n}, {"N", n}};
    host::Kernel kernel(device, source, {.fileName = file, .dims = dims});
    host::Buffer a(device, p.a), b(device, p.b), c(device, count * sizeof(float));
    host::Launch launch(kernel);
    launch.set("A", a).set("B", b).set("C", c).setDims(dims);
    std::vector<float> blas(count), dnnl(count);

    Contender contenders[] = {
        {"tessera", [&] { launch.run(); }, [&] { return c.as<float>(); }},
        {"OpenBLAS",
         [&] {
           cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(n), int(n), int(n), 1, p.a.data(),
                       int(n), p.b.data(), int(n), 0, blas.data(), int(n));
         },
         [&] { return blas; }},
        {"oneDNN", [&] { dnnl_sgemm('N', 'N', n, n, n, 1, p.a.data(), n, p.b.data(), n, 0, dnnl.data(), n); },
         [&] { return dnnl; }},
    };
    std::vector<std::string> row = {std::to_string(n)};
    for (Contender &x : contenders) {
      x.run();
      x.ok = checkRows(p, x.result().data()).ok();
      table.ok = table.ok && x.ok;
    }
    for (int round = 0; round < 3; ++round)
      for (Contender &x : contenders)
        turn(x, n <= 256 ? 0.05 : 0.2);
    const double flops = 2.0 * double(n) * double(n) * double(n);
    for (const Contender &x : contenders)
      row.push_back(x.ok ? fmt::format("{:.1f}", flops / x.best * 1e-9) : "WRONG");
    row.push_back(fmt::format("{:.0f}%", 100 * flops / contenders[0].best / peak));
    row.push_back(
        fmt::format("{:.2f}", std::min(contenders[1].best, contenders[2].best) / contenders[0].best));
    table.rows.push_back(row);
  }
  return table;
}

} // namespace tessera::bench
