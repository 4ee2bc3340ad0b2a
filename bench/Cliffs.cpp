// Measures shapes for which generated code was orders of magnitude slower than a library, next to a library
// or loops.
#include "bench/Benchmarks.h"
#include "bench/Check.h"
#include "bench/CliffCases.h"
#include "bench/Contender.h"
#include "bench/Machine.h"
#include <cblas.h>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tessera::bench {
namespace {

std::vector<double> evaluate(const Cliff &c) {
  std::vector<std::vector<double>> values;
  for (const auto &[name, x] : c.inputs)
    values.emplace_back(x.begin(), x.end());
  std::vector<const double *> in;
  for (const auto &x : values)
    in.push_back(x.data());
  std::vector<double> out(c.count);
  c.reference(in, out.data());
  return out;
}

bool agrees(const Cliff &c, const std::vector<double> &want, const std::vector<float> &got) {
  double largest = 0;
  for (double w : want)
    largest = std::max(largest, std::abs(w));
  Check check;
  for (size_t i = 0; i < want.size(); ++i)
    check.add(got[i], want[i], c.integers ? 0.5 : c.tolerance * largest);
  return check.ok();
}

std::string duration(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

std::vector<std::string> measureCliff(const Cliff &c, host::Device &device, double peak, double stream,
                                      bool &ok) {
  host::Kernel kernel(device, c.program ? c.program : cliffPrograms,
                      {.fileName = "cliffs.py", .kernel = c.kernel, .dims = c.known});
  host::Launch launch(kernel);
  std::map<std::string, host::Buffer> buffers;
  std::vector<const float *> in;
  for (const auto &[name, values] : c.inputs) {
    buffers[name] = host::Buffer(device, values);
    launch.set(name, buffers[name]);
    in.push_back(values.data());
  }
  host::Buffer result(device, c.count * sizeof(float));
  result.zero();
  launch.set(c.result, result).setDims(c.dims);
  auto read = [&] {
    if (!c.integers) return result.as<float>();
    const std::vector<int32_t> numbers = result.as<int32_t>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };

  std::vector<float> own(c.count);
  std::function<void()> peer = [&] { c.loops(in, own.data()); };
  if (c.library) peer = c.library(in, own.data());
  Contender contenders[] = {{"tessera", [&] { launch.run(); }, read}, {c.peer, peer, [&] { return own; }}};
  const std::vector<double> want = evaluate(c);
  for (Contender &x : contenders) {
    x.run();
    x.ok = (c.isPeerOfOtherResult && &x == &contenders[1]) || agrees(c, want, x.result());
    ok = ok && x.ok;
  }
  for (int round = 0; round < 3; ++round)
    for (Contender &x : contenders)
      turn(x, 0.1);

  const double limit = std::max(peak > 0 ? c.flops / peak : 0, c.bytes / stream);
  std::vector<std::string> row = {c.id, c.name};
  for (const Contender &x : contenders)
    row.push_back(x.ok ? duration(x.best) : "WRONG");
  row.push_back(c.peer);
  row.push_back(fmt::format("{:.2f}", contenders[0].best / contenders[1].best));
  row.push_back(fmt::format("{:.1f}", contenders[0].best / limit));
  return row;
}

} // namespace

namespace {

Table tableOf(const char *title, const char *firstNote, const std::vector<Cliff> &cases,
              const Settings &settings) {
  Table table;
  const double peak = measureFmaPeak(settings.cores), stream = measureStream(settings.cores);
  table.title = fmt::format("{}, {} core{}", title, settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {
      fmt::format("{}; fastest call, launch and wait included. C++ loops: one thread, -O3 for this "
                  "processor. OpenBLAS's kernels: {}.",
                  firstNote, openblas_get_corename()),
      fmt::format("of peer, of limit: how many times as long. The limit is {:.0f} GF/s of FMA ({}) or {:.0f} "
                  "GB/s of memory; what a cache holds may pass it.",
                  peak * 1e-9, vectorExtension(), stream * 1e-9),
      "Both results are checked against double precision first; they take turns in three rounds."};
  table.columns = {"case", "shape", "tessera", "peer's", "peer", "of peer", "of limit"};
  openblas_set_num_threads(settings.cores);
  host::Device device("cpu");
  for (const Cliff &c : cases)
    table.rows.push_back(measureCliff(c, device, peak, stream, table.ok));
  return table;
}

} // namespace

Table benchCliffs(const Settings &settings) {
  return tableOf("Cliffs", "f32, sizes unknown when compiling but for C2 and cummax", allCliffs(), settings);
}

Table benchFamilies(const Settings &settings) {
  return tableOf("Functions, rows and sums", "f32, sizes unknown when compiling", familyCases(), settings);
}

} // namespace tessera::bench
