#include "tools/tune/TuneDocument.h"

namespace tessera::tune {

using cli::Json;
using cli::objectOf;

namespace {

Json configurationOf(const TuneDatabase::Choice &c) {
  return c.configuration.empty() ? Json() : objectOf(valuesOf(c.configuration));
}

Json documentOf(const Exclusions &list) {
  Json out = Json::array();
  for (const auto &[configuration, reason] : list)
    out.push_back({{"configuration", configuration}, {"reason", reason}});
  return out;
}

} // namespace

Json documentOf(const SizeResult &found) {
  const std::vector<Configuration> &configurations = found.configurations;
  const TuneResult &result = found.result;
  Json out = {{"kernel", found.kernel},
              {"dims", objectOf(found.dims)},
              {"default", objectOf(configurations[0].values)}};
  out["choice"] = configurationOf(found.choice);
  if (result.fastest)
    out["fastest"] = {{"configuration", objectOf(configurations[result.fastest].values)},
                      {"gain", result.verdict.gain},
                      {"pairs", result.verdict.pairs},
                      {"wins", result.verdict.wins}};
  out["measured"] = Json::array();
  for (size_t c = 1; c < configurations.size(); ++c)
    if (const Verdict v = judge(result.standings[c].samples); v.pairs > 0)
      out["measured"].push_back(
          {{"configuration", objectOf(configurations[c].values)}, {"gain", v.gain}, {"pairs", v.pairs}});
  out["illegal"] = documentOf(found.illegal);
  out["wrong"] = documentOf(found.wrong);
  out["out_of_time"] = result.ranOutOfTime;
  return out;
}

Json documentOf(const std::vector<TuneDatabase::Choice> &choices, const std::string &compiler) {
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

} // namespace tessera::tune
