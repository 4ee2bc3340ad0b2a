// The measurements of `./dev bench`. Each runs in a process of its own that may use `cores` cores.
#pragma once
#include "bench/Table.h"
#include <cstdint>

namespace tessera::bench {

struct Settings {
  int cores = 1;
  bool full = false; // include the sizes that take long
  std::string samples = "samples";
  std::string only = "."; // a regular expression: the cases of suites whose SUITE/NAME has a match
  uint64_t seed = 0;      // of the random shapes; 0: another one each time
};

Table benchLaunch(const Settings &);
Table benchGemm(const Settings &);
Table benchSaxpy(const Settings &);
Table benchCompile(const Settings &);
Table benchCompileGrowth(const Settings &);
Table benchTransformer(const Settings &);
Table benchCliffs(const Settings &);
Table benchBatched(const Settings &);
Table benchNarrow(const Settings &);
Table benchFused(const Settings &);
Table benchAttention(const Settings &);
Table benchNorm(const Settings &);
Table benchElementwise(const Settings &);
Table benchReduce(const Settings &);
Table benchStrict(const Settings &);
Table benchRandom(const Settings &);
Table benchSweep(const Settings &);
Table benchChoice(const Settings &);
Table benchSurvey(const Settings &);
Table benchCollective(const Settings &);
Table benchPluginCalls(const Settings &);
Table benchPluginFinding(const Settings &);

} // namespace tessera::bench
