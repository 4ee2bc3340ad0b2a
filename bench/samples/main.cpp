// tsr-samples, the output of `./dev run`: compiles nine samples, runs them on real data, checks them against
// an independent reference in double precision, times them, and compares them with the limits of the machine.
// samples.py checks every sample against NumPy.
#include "bench/Machine.h"
#include "bench/samples/Sample.h"
#include "tools/options/Options.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tessera::bench {

namespace {

constexpr Sample samples[] = {{"flash_attention", "flash_attention", runFlashAttention},
                              {"gemm", "gemm", runGemm},
                              {"gemm_loops", "gemm_loops", runGemmLoops},
                              {"mlp", "mlp", runMlp},
                              {"transformer", "transformer", runTransformer},
                              {"transformer bf16", "transformer", runTransformerBf16},
                              {"softmax", "softmax", runSoftmax},
                              {"layer_norm", "layer_norm", runLayerNorm},
                              {"histogram", "histogram", runHistogram},
                              {"saxpy", "saxpy", runSaxpy}};

struct Row {
  std::string name, error; // error: why it did not run; if empty, the outcome is valid
  Outcome outcome;
  double speed = 0, limit = 0; // flop/s or byte/s
  bool ok() const { return error.empty() && outcome.check.ok(); }
  const char *unit() const { return outcome.flops > 0 ? "GF/s" : "GB/s"; }
};

Row runSample(const Sample &sample, host::Device &device, const std::string &folder) {
  Row row;
  row.name = sample.name;
  try {
    const std::string file = folder + "/" + sample.folder + "/" + sample.folder + ".py";
    row.outcome = sample.run(device, host::readText(file), file);
  } catch (const std::exception &e) {
    row.error = e.what();
    return row;
  }
  const Outcome &o = row.outcome;
  row.speed = (o.flops > 0 ? o.flops : o.bytes) / o.timing.median;
  return row;
}

void printTable(const std::vector<Row> &rows, const tsr_device_info_t &device, double peak, double stream) {
  fmt::print("{} ({}, {} cores, {}): FMA peak {:.0f} GF/s, stream {:.0f} GB/s, both measured now\n\n",
             device.name, device.arch, device.compute_units, vectorExtension(), peak * 1e-9, stream * 1e-9);
  fmt::print("{:<16} {:<20} {:>10} {:>12} {:>9} {:<8} {:<13} {}\n", "sample", "shape", "median ms", "speed",
             "of limit", "backend", "numerics", "check (error / bound)");
  for (const Row &r : rows) {
    if (!r.error.empty()) {
      fmt::print("{:<16} did not run\n", r.name);
      continue;
    }
    const Outcome &o = r.outcome;
    fmt::print("{:<16} {:<20} {:>10.3f} {:>7.1f} {} {:>8.0f}% {:<8} {:<13} {} ({:.2f})\n", r.name, o.shape,
               o.timing.median * 1e3, r.speed * 1e-9, r.unit(), r.limit > 0 ? 100 * r.speed / r.limit : 0.0,
               device.backend, o.numerics, o.check.ok() ? "ok" : "WRONG", o.check.worst);
  }
  fmt::print(
      "\nof limit: a product's speed over the FMA peak, the others' bytes per second over the stream. check: "
      "the largest\nerror over its bound; it passes up to 1.00.\n");
  if (std::any_of(rows.begin(), rows.end(), [](const Row &r) { return !r.outcome.fallbacks.empty(); }))
    fmt::print("\n");
  for (const Row &r : rows) {
    for (const std::string &f : r.outcome.fallbacks)
      fmt::print("{}: fallback: {}\n", r.name, f);
    if (!r.error.empty()) fmt::print(stderr, "\n{}:\n{}\n", r.name, r.error);
  }
  fmt::print("\n{} of {} agree\n",
             std::count_if(rows.begin(), rows.end(), [](const Row &r) { return r.ok(); }), rows.size());
}

void printJson(const std::vector<Row> &rows, const tsr_device_info_t &device, double peak, double stream) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row &r : rows) {
    nlohmann::json row = {{"sample", r.name}, {"ok", r.ok()}};
    if (!r.error.empty()) {
      row["error"] = r.error;
    } else {
      const Outcome &o = r.outcome;
      row.update({{"shape", o.shape},
                  {"median_s", o.timing.median},
                  {"min_s", o.timing.min},
                  {"runs", o.timing.runs},
                  {"speed", r.speed * 1e-9},
                  {"unit", r.unit()},
                  {"of_limit", r.limit > 0 ? r.speed / r.limit : 0.0},
                  {"numerics", o.numerics},
                  {"max_error", o.check.maxError},
                  {"error_over_bound", o.check.worst},
                  {"elements_checked", o.check.elements},
                  {"fallbacks", o.fallbacks}});
    }
    list.push_back(row);
  }
  const nlohmann::json all = {{"backend", device.backend},
                              {"device", device.name},
                              {"arch", device.arch},
                              {"cores", device.compute_units},
                              {"fma_peak_gflops", peak * 1e-9},
                              {"stream_gbytes", stream * 1e-9},
                              {"samples", list}};
  fmt::print("{}\n", all.dump(2));
}

int run(const std::string &folder, bool json) {
  const int cores = usableCores();
  // Other work may disturb one of two measurements, between which the samples run.
  double peak = measureFmaPeak(cores), stream = measureStream(cores);
  host::Device device("cpu");
  std::vector<Row> rows;
  for (const Sample &s : samples)
    rows.push_back(runSample(s, device, folder));
  peak = std::max(peak, measureFmaPeak(cores)), stream = std::max(stream, measureStream(cores));
  for (Row &row : rows)
    row.limit = row.outcome.flops > 0 ? peak : stream;
  (json ? printJson : printTable)(rows, device.info(), peak, stream);
  return std::all_of(rows.begin(), rows.end(), [](const Row &r) { return r.ok(); }) ? 0 : 1;
}

} // namespace
} // namespace tessera::bench

int main(int argc, char **argv) {
  using namespace tessera;
  static const std::vector<cli::OptionSpec> common = {
      {"help", 'h', cli::OptionSpec::Flag, "", "print this text"}};
  static const cli::CommandSpec spec = {
      "",
      "[options]",
      "",
      "Runs every sample on real data, checks its results and measures it. The exit status is 1 if one is "
      "wrong.",
      {{"samples", 0, cli::OptionSpec::Value, "FOLDER", "where the samples are (default: samples)"},
       {"json", 0, cli::OptionSpec::Flag, "", "print a JSON object in place of the table"}},
      0,
      "",
      "tsr-samples",
      &common};
  cli::Arguments given;
  if (auto e = cli::parseArguments(spec, {argv + 1, argv + argc}, given)) {
    std::fprintf(stderr, "tsr-samples: %s\n  %s\n", e->message.c_str(), e->hint.c_str());
    return 1;
  }
  if (given.wantsHelp()) {
    fmt::print("{}", spec.help());
    return 0;
  }
  try {
    return bench::run(given.value("samples", "samples"), given.has("json"));
  } catch (const std::exception &e) {
    std::fprintf(stderr, "tsr-samples: %s\n", e.what());
    return 1;
  }
}
