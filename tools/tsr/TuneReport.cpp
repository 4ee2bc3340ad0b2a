#include "tools/tsr/TuneReport.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {

static std::string describeChoice(const tune::TuneDatabase::Choice &c) {
  return c.configuration.empty()
             ? "the default"
             : fmt::format("{}, {:.3f} times as fast ({} pairs)", c.configuration, c.gain, c.pairs);
}

std::string describeTuning(const tune::SizeResult &found) {
  const tune::TuneResult &result = found.result;
  const auto &configurations = found.configurations;
  const auto measured =
      std::ranges::count_if(result.standings, [](const tune::Standing &s) { return !s.samples.empty(); });
  std::string text = fmt::format("{} {}: {} of {} configurations measured, {} illegal, {} wrong{}\n",
                                 found.kernel, tune::textOf(found.dims), measured + 1, configurations.size(),
                                 result.illegal, result.wrong, result.ranOutOfTime ? ", out of time" : "");
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
  if (found.choice.configuration != own || (result.winner && found.choice.pairs != int64_t(v.pairs)))
    text += "  with earlier runs: " + describeChoice(found.choice) + "\n";
  for (const auto &[configuration, reason] : found.wrong)
    text += fmt::format("  wrong    {}: [E_TUNE_WRONG] {}\n", configuration, reason);
  for (const auto &[configuration, reason] : found.illegal)
    text += fmt::format("  illegal  {}: {}\n", configuration, reason);
  return text;
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

} // namespace tessera::cli
