// One extent grows by one: the time must not jump where no limit of the machine does. A jump is a gap between
// two ways of computing the same thing.
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <cmath>
#include <fmt/format.h>
#include <regex>
#include <unistd.h>

namespace tessera::bench {
namespace {

constexpr int kSweepRounds = 7;

struct Sweep {
  std::string name;
  std::vector<Case> cases; // of neighbouring extents
};

std::vector<Sweep> sweeps() {
  std::vector<Sweep> out = {{"M, N = K = 1024", {}},
                            {"N, M = K = 1024", {}},
                            {"K, M = N = 1024", {}},
                            {"softmax columns, 512 rows", {}},
                            {"S of attention, H8 D64", {}}};
  for (int64_t i = 1; i <= 80; ++i) {
    for (size_t which = 0; which < 3; ++which) {
      Product p{1024, 1024, 1024};
      (which == 0 ? p.m : which == 1 ? p.n : p.k) = i;
      out[which].cases.push_back(productCase("f32", std::to_string(i), p));
    }
  }
  for (int64_t i = 1; i <= 300; i += i < 80 ? 1 : 3)
    out[3].cases.push_back(rowCase("softmax", std::to_string(i), 512, i));
  for (int64_t i = 100; i <= 300; ++i)
    out[4].cases.push_back(attentionCase("prefill f32", std::to_string(i), {8, i, i, 64}));
  return out;
}

void measureSweep(const Sweep &sweep, Lab &lab, Table &table) {
  std::vector<std::unique_ptr<Trial>> trials;
  for (const Case &c : sweep.cases) {
    auto &trial = trials.emplace_back(std::make_unique<Trial>(lab));
    c.prepare(*trial);
    Contender &own = trial->contenders[0];
    own.poison();
    own.run();
    own.ok = trial->check(own.output).ok();
    table.ok = table.ok && own.ok;
    if (!own.ok) table.rows.push_back({sweep.name, c.name, "WRONG", "", "", ""});
    trial->check = {}; // frees the reference's data
    trial->contenders.resize(1);
  }
  for (int round = 0; round < kSweepRounds; ++round) {
    if (::isatty(STDERR_FILENO))
      fmt::print(stderr, "\r\033[K[{}/{}] sweep/{}", round + 1, kSweepRounds, sweep.name);
    for (auto &trial : trials)
      turn(trial->contenders[0], 0.002, /*pause=*/false);
  }
  int jumps = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    const Case &c = sweep.cases[i];
    const double now = trials[i]->contenders[0].best(), limit = lab.roofline.limit(c.work);
    table.cases.push_back({"sweep",
                           sweep.name,
                           fmt::format("{} = {}", sweep.name, c.name),
                           c.work.operations,
                           c.work.bytes(),
                           limit,
                           {"tessera"},
                           {trials[i]->contenders[0].samples}});
    if (i == 0) continue;
    const double before = trials[i - 1]->contenders[0].best();
    const double step = std::max(0.0, limit - lab.roofline.limit(sweep.cases[i - 1].work));
    if (now <= 1.12 * before + 1e-6 + step) continue;
    ++jumps;
    table.rows.push_back({sweep.name, c.name, fmt::format("{:.1f} us", before * 1e6),
                          fmt::format("{:.1f} us", now * 1e6), fmt::format("{:.2f}", now / before),
                          fmt::format("{:.2f}", limit / now)});
  }
  table.notes.push_back(fmt::format("{}: {} of {} steps are jumps.", sweep.name, jumps, trials.size() - 1));
}

} // namespace

Table benchSweep(const Settings &settings) {
  Lab lab(settings);
  Table table;
  table.title = fmt::format("Sweeps, {} thread{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {
      fmt::format("A jump is a time above 1.12 times that of the extent before plus 1 us, apart from what "
                  "the limit grows by. Fastest call of {} rounds. Jumps:",
                  kSweepRounds)};
  table.columns = {"extent", "value", "before", "time", "ratio", "of limit"};
  table.streams = lab.roofline.streams();
  table.peak = lab.roofline.peak(Unit::F32);
  const std::regex only(settings.only);
  bool any = false;
  for (const Sweep &sweep : sweeps())
    if (std::regex_search("sweep/" + sweep.name, only)) any = true, measureSweep(sweep, lab, table);
  if (!any) throw std::runtime_error("no case matches --only " + settings.only);
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  table.notes.push_back(lab.roofline.text());
  return table;
}

} // namespace tessera::bench
