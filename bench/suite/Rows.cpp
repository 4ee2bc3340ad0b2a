// Functions of each element and of each row: elementwise, softmax, layer_norm.
#include "bench/Data.h"
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

double evaluate(const std::string &function, double x) {
  if (function == "exp") return std::exp(x);
  if (function == "tanh") return std::tanh(x);
  if (function == "gelu") return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  return 2 * x + 1;
}

Case elementwise(const std::string &family, const std::string &function, int64_t n) {
  const std::string title = fmt::format("{} of {}", function, n);
  const std::string source =
      fmt::format("import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"n\", ts.f32]):\n    return {}\n",
                  function == "linear" ? "x * 2.0 + 1.0" : fmt::format("ts.{}(x)", function));
  return {family, title, {0, Unit::None, 4.0 * double(n), 4.0 * double(n)}, [=](Trial &trial) {
            std::vector<float> values = randomFloats(size_t(n), std::hash<std::string>()(title), -6, 6);
            const float *x = trial.store(values);
            const size_t bytes = size_t(n) * sizeof(float);
            trial.addTessera(trial.lab.kernel(source, "f"), {{"x", x}}, {{"n", n}}, bytes);
            trial.addPeer("oneDNN", bytes,
                          [=](void *y) { return dnnlElementwise(function, x, static_cast<float *>(y), n); });
            trial.check = [=](const void *result) {
              Check check;
              const auto *got = static_cast<const float *>(result);
              for (size_t i = 0; i < values.size(); ++i) {
                const double want = evaluate(function, values[i]);
                check.add(got[i], want, 8 * unit * std::abs(want) + 4e-6); // oneDNN's gelu is the coarsest
              }
              return check;
            };
          }};
}

} // namespace

Case rowCase(const std::string &family, std::string name, int64_t rows, int64_t columns) {
  const bool isNorm = name.starts_with("layer_norm");
  const std::string source = fmt::format(
      "import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"R\", \"C\", ts.f32]{}):\n    return {}\n",
      isNorm ? ", gamma: ts.Tensor[\"C\", ts.f32], beta: ts.Tensor[\"C\", ts.f32]" : "",
      isNorm ? "ts.layer_norm(x, gamma, beta)" : "ts.softmax(x)");
  const size_t count = size_t(rows * columns), bytes = count * sizeof(float);
  return {family, name, {0, Unit::None, double(bytes), double(bytes)}, [=](Trial &trial) {
            const uint64_t seed = std::hash<std::string>()(name);
            const std::vector<float> values = randomFloats(count, seed, -3, 3),
                                     scale = randomFloats(size_t(columns), seed + 1),
                                     shift = randomFloats(size_t(columns), seed + 2);
            const float *x = trial.store(values), *gamma = trial.store(scale), *beta = trial.store(shift);
            std::vector<std::pair<const char *, const void *>> inputs = {{"x", x}};
            if (isNorm) inputs.insert(inputs.end(), {{"gamma", gamma}, {"beta", beta}});
            trial.addTessera(trial.lab.kernel(source, "f"), inputs, {{"R", rows}, {"C", columns}}, bytes);
            trial.addPeer("oneDNN", bytes, [=](void *y) {
              auto *out = static_cast<float *>(y);
              return isNorm ? dnnlLayerNorm(x, gamma, beta, out, rows, columns)
                            : dnnlSoftmax(x, out, rows, columns);
            });
            trial.check = [=](const void *result) {
              Check check;
              for (int64_t r = 0; r < rows; ++r) {
                const float *in = values.data() + r * columns,
                            *got = static_cast<const float *>(result) + r * columns;
                double sum = 0, square = 0, mean = 0;
                for (int64_t j = 0; j < columns; ++j)
                  sum += isNorm ? in[j] : std::exp(double(in[j]));
                mean = sum / double(columns);
                for (int64_t j = 0; j < columns; ++j)
                  square += (in[j] - mean) * (in[j] - mean);
                const double factor = 1 / std::sqrt(square / double(columns) + 1e-5);
                for (int64_t j = 0; j < columns; ++j)
                  if (isNorm)
                    check.add(got[j], (in[j] - mean) * factor * scale[size_t(j)] + shift[size_t(j)], 2e-5);
                  else
                    check.add(got[j], std::exp(double(in[j])) / sum,
                              2e-5 * std::exp(double(in[j])) / sum + 1e-12);
              }
              return check;
            };
          }};
}

Suite normSuite() {
  Suite out{"norm",
            "softmax and layer_norm of f32 rows",
            {"One compilation for all extents."},
            {},
            {{"softmax", 1.20, 1.0}, {"layer_norm", 1.20, 1.0}, {"memory", 0, 0, 0.90}}};
  out.causes = {
      {"^softmax of 16384x2048$",
       "it is computed in 0.9 of the time from the caches, too: 0.5 of that is the exponential, 0.4 the "
       "division",
       "exponentials in scratch, to store the result once: 14.9 ms instead of 13.6 (decision 167)",
       "a division by one number that is cheaper and has the same bits"},
      {"^layer_norm of 16384x2048$", "not known; a loop in C++ takes 0.8 of the time",
       "fetching the next row during the last pass, 10.3 ms instead of 15.7 (decision 167)",
       "a profile of its passes"},
      {"^layer_norm of 512x768$", "not known; its 1.5 MB of results stay in the caches",
       "stores past the caches, 83 us instead of 86 (decision 146)", "a profile of its passes"},
      {"^layer_norm of 16384x(100|128)$", "rows of about two tiles of 64 columns or a part of one of 512",
       "two tiles, 0.92 of the time at 100 columns and 1.04 at 128, so that they end at 112 (decision 135)",
       "not known"}};
  for (const char *family : {"softmax", "layer_norm"})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{16384, 16},
                                 {16384, 48},
                                 {16384, 100},
                                 {16384, 128},
                                 {4096, 256},
                                 {4096, 1024},
                                 {512, 768},
                                 {1024, 4096},
                                 {64, 32768}})
      out.cases.push_back(rowCase(family, fmt::format("{} of {}x{}", family, rows, columns), rows, columns));
  for (const char *function : {"softmax", "layer_norm"})
    out.cases.push_back(rowCase("memory", fmt::format("{} of 16384x2048", function), 16384, 2048));
  return out;
}

Suite elementwiseSuite() {
  Suite out{"elementwise",
            "Elementwise functions of f32",
            {"One compilation for all extents. Families: 64K elements; 4096 elements, where the call counts; "
             "memory. launch: one element, which is the limit of a call that launches and waits."},
            {},
            {{"64K", 1.20, 1.0}, {"call", 1.5, 1.0}, {"memory", 0, 0, 0.90}}};
  out.causes = {{"^linear of 4096$", "the launch and the wait, which take longer than the loop",
                 "launches that do not look at the clock (decision 147)",
                 "calls that check their arguments, the stream and the plan for less"}};
  out.cases.push_back(elementwise("launch", "linear", 1));
  for (auto [family, n] :
       {std::pair<const char *, int64_t>{"64K", 65536}, {"call", 4096}, {"memory", 1 << 25}})
    for (const char *function : {"gelu", "tanh", "exp", "linear"}) {
      const bool isLinear = function == std::string("linear");
      if (family == std::string("64K") && isLinear) continue; // limited by memory
      if (family == std::string("memory") && !isLinear) continue;
      out.cases.push_back(elementwise(family, function, n));
    }
  return out;
}

} // namespace tessera::bench
