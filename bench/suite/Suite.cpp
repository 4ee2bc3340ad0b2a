#include "bench/suite/Suite.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>
#include <set>
#include <unistd.h>

namespace tessera::bench {

// ---- The data of a run and of a case ----

Lab::Lab(const Settings &s) : settings(s), roofline(s.cores), peers(findPeers(s.cores)) {}

host::Kernel &Lab::kernel(const std::string &source, const std::string &name, const host::NamedInts &known,
                          bool isIr) {
  std::string key = name + numerics + source;
  for (const auto &[dim, value] : known)
    key += fmt::format(";{}={}", dim, value);
  auto &slot = kernels_[key];
  if (!slot)
    slot = std::make_unique<host::Kernel>(device, source,
                                          host::BuildOptions{.fileName = isIr ? "suite.mlir" : "suite.py",
                                                             .kernel = name,
                                                             .numerics = numerics,
                                                             .dims = known,
                                                             .isIr = isIr});
  return *slot;
}

void Trial::addTessera(host::Kernel &kernel, const std::vector<std::pair<const char *, const void *>> &inputs,
                       const host::NamedInts &dims, size_t resultBytes, const char *result) {
  host::Launch &launch = launches_.emplace_back(kernel);
  for (const auto &[name, data] : inputs)
    launch.set(name, const_cast<void *>(data));
  void *output = space(resultBytes);
  launch.set(result, output).setDims(dims);
  contenders.push_back({"tessera", [&launch] { launch.run(); }, output, resultBytes});
}

void Trial::addPeer(const std::string &name, size_t resultBytes, const std::function<Call(void *)> &make) {
  void *output = space(resultBytes);
  if (Call call = make(output)) contenders.push_back({name, std::move(call), output, resultBytes});
}

// ---- One case ----

namespace {

/// Keeps what Google Benchmark measured; nothing is printed while cases run.
class Collector final : public benchmark::BenchmarkReporter {
public:
  explicit Collector(CaseResult &result) : result_(result) {}
  bool ReportContext(const Context &) override { return true; }
  void ReportRuns(const std::vector<Run> &runs) override {
    for (const Run &run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      for (size_t i = 0; i < result_.contenders.size(); ++i)
        result_.samples[i].push_back(run.counters.at(result_.contenders[i]));
    }
  }

private:
  CaseResult &result_;
};

/// Adds the contenders whose results are wrong. A library's result may be: it is no peer of that case then.
void verify(const Trial &trial, CaseResult &out) {
  for (const Contender &c : trial.contenders) {
    c.poison();
    c.run();
    if (trial.check(c.output).ok() || out.isWrong(c.name)) continue;
    out.wrong.push_back(c.name);
    const bool isPeer = std::any_of(trial.lab.peers.begin(), trial.lab.peers.end(),
                                    [&](const Peer &p) { return c.name.starts_with(p.name); });
    out.ok = out.ok && isPeer;
    fmt::print(stderr, "  wrong: {} of {}\n", c.name, out.name);
  }
}

CaseResult runCase(const Suite &suite, const Case &c, Lab &lab) {
  Trial trial(lab);
  c.prepare(trial);
  CaseResult out;
  out.suite = suite.name, out.family = c.family, out.name = c.name;
  out.operations = c.work.operations, out.bytes = c.work.bytes();
  for (const Contender &x : trial.contenders)
    out.contenders.push_back(x.name);
  out.samples.resize(out.contenders.size());
  verify(trial, out);

  const bool pause = lab.settings.cores > 1;
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(c.name.c_str(),
                               [&](benchmark::State &state) {
                                 for (auto _ : state) {
                                   for (Contender &x : trial.contenders) {
                                     turn(x, 0.015, pause);
                                     state.counters[x.name] = x.samples.back();
                                   }
                                   state.SetIterationTime(trial.contenders[0].samples.back());
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(suite.rounds);
  Collector collector(out);
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  verify(trial, out);
  return out;
}

struct Summary {
  double logSum = 0, least = 1e30;
  std::string leastName;
  int count = 0;
  void add(const CaseResult &r) {
    const double score = r.score();
    logSum += std::log(score);
    ++count;
    if (score >= least) return;
    least = score;
    leastName = r.name;
  }
  double mean() const { return std::exp(logSum / count); }
};

/// The peers that this run had, and those below what they are known to reach: then something disturbed them,
/// or they run code for another processor, and no ratio of the run counts.
void describePeers(Table &table, const Lab &lab) {
  std::vector<std::string> present;
  for (const Peer &p : lab.peers)
    if (p.kernels.empty())
      table.notes.push_back(fmt::format("{} is missing (package {}).", p.name, p.package));
    else
      present.push_back(fmt::format("{} ({})", p.name, p.kernels));
  table.notes.push_back(fmt::format("Peers and their kernels: {}.", fmt::join(present, ", ")));
  for (const Peer &p : lab.peers)
    for (const CaseResult &r : table.cases) {
      if (r.name != p.reference) continue;
      for (size_t i = 1; i < r.contenders.size(); ++i) {
        if (r.contenders[i] != p.name) continue;
        const double reached = r.operations / r.best(i) / lab.roofline.peak(Unit::F32);
        const bool low = reached < 0.9 * p.recorded;
        table.notes.push_back(
            fmt::format("{} reaches {:.2f} of the FMA peak at {}{}", p.name, reached, r.name,
                        low ? fmt::format("; {:.2f} is recorded: THIS RUN IS INVALID.", p.recorded) : "."));
        table.ok = table.ok && !low;
      }
    }
}

/// The libraries whose results were wrong, which no result is compared with.
void describeWrong(Table &table) {
  std::map<std::string, std::vector<std::string>> wrong;
  for (const CaseResult &r : table.cases)
    for (const std::string &name : r.wrong)
      wrong[name].push_back(r.name);
  for (const auto &[name, cases] : wrong)
    table.notes.push_back(
        fmt::format("Wrong results of {}, which is not compared there: {}.", name, fmt::join(cases, ", ")));
}

/// "; goal 1.00 (0.93) missed; below it: f32 64x64x64 (0.90)", for these cases. Adds the names of those
/// below.
std::string judge(const Goal &g, const std::vector<const CaseResult *> &cases, std::set<std::string> &names) {
  Summary s;
  std::vector<std::string> below;
  for (const CaseResult *r : cases) {
    s.add(*r);
    const size_t before = below.size();
    if (r->score() < g.least) below.push_back(fmt::format("{} ({:.2f})", r->name, r->score()));
    if (g.ofLimit > 0 && r->limit > 0 && r->ofLimit() < g.ofLimit)
      below.push_back(fmt::format("{} ({:.2f} of the limit)", r->name, r->ofLimit()));
    if (below.size() > before) names.insert(r->name);
  }
  std::string text = "; goal";
  if (g.score > 0) text += fmt::format(" {:.2f} ({:.2f})", g.score, g.least);
  if (g.score == 0 && g.least > 0) text += fmt::format(" {:.2f}", g.least);
  if (g.ofLimit > 0) text += fmt::format(" {:.2f} of the limit", g.ofLimit);
  if (!g.what.empty()) text += " " + g.what;
  text += below.empty() && s.mean() >= g.score ? " reached" : " missed";
  return below.empty() ? text : text + fmt::format("; below it: {}", fmt::join(below, ", "));
}

void describeGoals(Table &table, const Suite &suite) {
  std::set<std::string> below;
  std::map<std::string, std::vector<const CaseResult *>> families;
  for (const CaseResult &r : table.cases)
    families[r.family].push_back(&r);
  for (const auto &[family, cases] : families) {
    Summary s;
    for (const CaseResult *r : cases)
      s.add(*r);
    std::string line = fmt::format("{}: score {:.2f} over {} case{}, least {:.2f} ({})", family, s.mean(),
                                   s.count, s.count == 1 ? "" : "s", s.least, s.leastName);
    bool hasGoal = false;
    for (const Goal &g : suite.goals) {
      if (g.family != family) continue;
      hasGoal = true;
      std::vector<const CaseResult *> meant;
      for (const CaseResult *r : cases)
        if (std::regex_search(r->name, std::regex(g.cases))) meant.push_back(r);
      if (!meant.empty()) line += judge(g, meant, below);
    }
    table.notes.push_back(line + (hasGoal ? "." : "; no goal."));
  }
  for (const Cause &c : suite.causes) {
    std::vector<std::string> meant;
    for (const std::string &name : below)
      if (std::regex_search(name, std::regex(c.cases))) meant.push_back(name);
    if (!meant.empty())
      table.notes.push_back(fmt::format("Why {}: {}. Tried: {}. It would need: {}.", fmt::join(meant, ", "),
                                        c.limit, c.tried, c.needs));
  }
}

std::vector<std::string> rowOf(const CaseResult &r) {
  const size_t peer = r.bestPeer();
  const Timing own = summarize(r.samples[0]);
  return {r.name,
          r.ok ? duration(own.min) : "WRONG",
          peer ? duration(r.best(peer)) : "-",
          peer ? r.contenders[peer] : "-",
          peer ? fmt::format("{:.2f}", r.speedOfPeer()) : "-",
          r.limit > 0 ? fmt::format("{:.2f}", r.ofLimit()) : "-",
          fmt::format("{:.2f}", r.score()),
          fmt::format("{:.2f}", own.median / own.min)};
}

} // namespace

std::string duration(double seconds) {
  return seconds < 1e-6   ? fmt::format("{:.0f} ns", seconds * 1e9)
         : seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
                          : fmt::format("{:.2f} ms", seconds * 1e3);
}

Table runSuite(const Suite &suite, Lab &lab) {
  Table table;
  table.title =
      fmt::format("{}, {} thread{}", suite.title, lab.settings.cores, lab.settings.cores == 1 ? "" : "s");
  table.notes = suite.notes;
  table.notes.push_back(fmt::format(
      "Fastest call, launch and wait included, of {} rounds in which all take turns; spread: median over "
      "fastest round. score = max(speed beside the best peer, part of the limit / 0.95).",
      suite.rounds));
  // The limits are known at the end of the run, and so is every figure that depends on them.
  table.columns = {"case", "tessera", "best peer", "peer", "of peer", "of limit", "score", "spread"};
  const std::regex only(lab.settings.only);
  std::vector<const Case *> chosen;
  for (const Case &c : suite.cases)
    if (std::regex_search(fmt::format("{}/{}", suite.name, c.name), only)) chosen.push_back(&c);
  if (chosen.empty()) throw std::runtime_error("no case matches --only " + lab.settings.only);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (::isatty(STDERR_FILENO))
      fmt::print(stderr, "\r\033[K[{}/{}] {}/{}", i + 1, chosen.size(), suite.name, chosen[i]->name);
    table.cases.push_back(runCase(suite, *chosen[i], lab));
  }
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  lab.roofline.measureArithmetic(lab.settings.cores);
  for (size_t i = 0; i < chosen.size(); ++i) {
    table.cases[i].limit = lab.roofline.limit(chosen[i]->work);
    table.rows.push_back(rowOf(table.cases[i]));
    table.ok = table.ok && table.cases[i].ok;
  }
  table.notes.push_back(lab.roofline.text());
  table.streams = lab.roofline.streams();
  table.peak = lab.roofline.peak(Unit::F32);
  describePeers(table, lab);
  describeWrong(table);
  describeGoals(table, suite);
  return table;
}

} // namespace tessera::bench
