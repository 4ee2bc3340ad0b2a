#include "tools/tsr/TuneReport.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

std::string describeChoice(const tune::TuneDatabase::Choice &c) {
  return c.configuration.empty()
             ? "the default"
             : fmt::format("{}, {:.3f} times as fast ({} pairs)", c.configuration, c.gain, c.pairs);
}

Json configurationOf(const tune::TuneDatabase::Choice &c) {
  return c.configuration.empty() ? Json() : objectOf(tune::valuesOf(c.configuration));
}

} // namespace

MaybeError TuneRecorder::onTrial(size_t configuration, const std::vector<tune::Sample> &samples,
                                 bool confirms) {
  return database_.addSamples(key_, tune::textOf(configurations_[configuration].values), samples, confirms);
}

MaybeError TuneRecorder::onWrong(size_t configuration, const Error &error) {
  const std::string text = tune::textOf(configurations_[configuration].values);
  wrong_.emplace_back(text, error.message);
  return database_.addFault(key_, text, error.message);
}

void TuneRecorder::onIllegal(size_t configuration, const Error &error) {
  illegal_.emplace_back(tune::textOf(configurations_[configuration].values), error.message);
}

void TuneRecorder::onProgress(size_t done, size_t all, size_t best, double gain, double seconds) {
  progress_.update(fmt::format("{}: {} of {}, best {} {:.2f}x, {:.0f} s left", what_, done, all,
                               best ? tune::textOf(configurations_[best].values) : "default",
                               best ? gain : 1.0, std::max(0.0, budget_ - seconds)));
}

std::string describeTuning(const std::string &kernel, const NamedValues &dims,
                           const std::vector<tune::Configuration> &configurations,
                           const tune::TuneResult &result, const tune::TuneDatabase::Choice &choice,
                           const TuneRecorder &recorder) {
  const auto measured =
      std::ranges::count_if(result.standings, [](const tune::Standing &s) { return !s.samples.empty(); });
  std::string text = fmt::format("{} {}: {} of {} configurations measured, {} illegal, {} wrong{}\n", kernel,
                                 tune::textOf(dims), measured + 1, configurations.size(), result.illegal,
                                 result.wrong, result.ranOutOfTime ? ", out of time" : "");
  const tune::Verdict &v = result.verdict;
  if (result.winner)
    text += fmt::format("  {}: {:.3f} times as fast as the default ({} pairs, faster in {:.0f}%)\n",
                        tune::textOf(configurations[result.winner].values), v.gain, v.pairs, 100 * v.wins);
  else if (result.fastest)
    text += fmt::format("  the default {} stays: {} is {:.3f} times as fast ({} pairs, faster in {:.0f}%)\n",
                        tune::textOf(configurations[0].values),
                        tune::textOf(configurations[result.fastest].values), v.gain, v.pairs, 100 * v.wins);
  else
    text += fmt::format("  the default {} stays: {}\n", tune::textOf(configurations[0].values),
                        result.illegal + result.wrong + 1 == configurations.size()
                            ? "every other is illegal or wrong"
                            : "no other was measured often enough");
  const std::string own = result.winner ? tune::textOf(configurations[result.winner].values) : "";
  if (choice.configuration != own || (result.winner && choice.pairs != int64_t(v.pairs)))
    text += "  with earlier runs: " + describeChoice(choice) + "\n";
  for (const auto &[configuration, reason] : recorder.wrong())
    text += fmt::format("  wrong    {}: [E_TUNE_WRONG] {}\n", configuration, reason);
  for (const auto &[configuration, reason] : recorder.illegal())
    text += fmt::format("  illegal  {}: {}\n", configuration, reason);
  return text;
}

Json tuningDocument(const std::string &kernel, const NamedValues &dims,
                    const std::vector<tune::Configuration> &configurations, const tune::TuneResult &result,
                    const tune::TuneDatabase::Choice &choice, const TuneRecorder &recorder) {
  auto excluded = [](const std::vector<std::pair<std::string, std::string>> &list) {
    Json out = Json::array();
    for (const auto &[configuration, reason] : list)
      out.push_back({{"configuration", configuration}, {"reason", reason}});
    return out;
  };
  Json out = {{"kernel", kernel}, {"dims", objectOf(dims)}, {"default", objectOf(configurations[0].values)}};
  out["choice"] = configurationOf(choice);
  if (result.fastest)
    out["fastest"] = {{"configuration", objectOf(configurations[result.fastest].values)},
                      {"gain", result.verdict.gain},
                      {"pairs", result.verdict.pairs},
                      {"wins", result.verdict.wins}};
  out["measured"] = Json::array();
  for (size_t c = 1; c < configurations.size(); ++c)
    if (const tune::Verdict v = judge(result.standings[c].samples); v.pairs > 0)
      out["measured"].push_back(
          {{"configuration", objectOf(configurations[c].values)}, {"gain", v.gain}, {"pairs", v.pairs}});
  out["illegal"] = excluded(recorder.illegal());
  out["wrong"] = excluded(recorder.wrong());
  out["out_of_time"] = result.ranOutOfTime;
  return out;
}

std::string describeChoices(const std::vector<tune::TuneDatabase::Choice> &choices,
                            const std::string &compiler) {
  std::string text;
  for (const auto &c : choices)
    text +=
        fmt::format("{}\n  {}, {}, {}{}\n  {}\n", c.key.kernel, c.key.arch, c.key.numerics,
                    fmt::join(c.key.when, " and "),
                    c.key.compiler == compiler ? "" : ", of another compiler, not used: " + c.key.compiler,
                    describeChoice(c));
  return text;
}

Json choicesDocument(const std::vector<tune::TuneDatabase::Choice> &choices, const std::string &compiler) {
  Json out = Json::array();
  for (const auto &c : choices)
    out.push_back({{"kernel", c.key.kernel},
                   {"arch", c.key.arch},
                   {"numerics", c.key.numerics},
                   {"compiler", c.key.compiler},
                   {"applies", c.key.compiler == compiler},
                   {"when", c.key.when},
                   {"configuration", configurationOf(c)},
                   {"gain", c.gain},
                   {"pairs", c.pairs}});
  return out;
}

} // namespace tessera::cli
