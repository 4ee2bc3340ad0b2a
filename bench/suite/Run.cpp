// Runs each suite as a measurement of `./dev bench`; the random shapes and the sweeps judge in their own way.
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace tessera::bench {

namespace {

Table run(const Suite &suite, const Settings &settings) {
  Lab lab(settings);
  return runSuite(suite, lab);
}

} // namespace

Table benchGemm(const Settings &s) { return run(gemmSuite(), s); }
Table benchBatched(const Settings &s) { return run(batchedSuite(), s); }
Table benchNarrow(const Settings &s) { return run(narrowSuite(), s); }
Table benchFused(const Settings &s) { return run(fusedSuite(), s); }
Table benchAttention(const Settings &s) { return run(attentionSuite(), s); }
Table benchNorm(const Settings &s) { return run(normSuite(), s); }
Table benchElementwise(const Settings &s) { return run(elementwiseSuite(), s); }
Table benchReduce(const Settings &s) { return run(reduceSuite(), s); }
Table benchStrict(const Settings &s) { return run(strictSuite(), s); }

/// 300 shapes that nobody chose, so that none can be treated specially.
Table benchRandom(const Settings &settings) {
  const uint64_t seed = settings.seed ? settings.seed : std::random_device()();
  std::mt19937_64 bits(seed);
  std::uniform_real_distribution<double> logarithm(0, std::log(4097.0));
  auto extent = [&] { return int64_t(std::exp(logarithm(bits))); };
  Suite suite{"random",
              "f32 products of random shapes",
              {fmt::format("M x N x K, each extent log-uniform in 1..4096; --seed {} repeats them.", seed)},
              {},
              {}};
  suite.rounds = 3;
  for (int i = 0; i < 300; ++i) {
    Product p{extent(), extent(), extent()};
    suite.cases.push_back(productCase("f32", extentsOf(p), p));
  }
  Table table = run(suite, settings);
  std::vector<double> scores;
  for (const CaseResult &r : table.cases)
    scores.push_back(r.score());
  std::sort(scores.begin(), scores.end());
  if (scores.empty()) return table;
  const double median = scores[scores.size() / 2], low = scores[scores.size() / 20];
  table.notes.push_back(fmt::format("Median score {:.2f} (goal 0.97), 5% quantile {:.2f} (goal 0.80): {}.",
                                    median, low, median >= 0.97 && low >= 0.80 ? "reached" : "missed"));
  keepSlowest(table, 30); // all are in the JSON
  return table;
}

} // namespace tessera::bench
