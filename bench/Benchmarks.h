// The measurements of `./dev bench`. Each runs in a process of its own that may use `cores` cores.
#pragma once
#include "bench/Table.h"

namespace tessera::bench {

struct Settings {
  int cores = 1;
  bool full = false; // include the sizes that take long
  std::string samples = "samples";
};

Table benchLaunch(const Settings &);
Table benchGemm(const Settings &);
Table benchSaxpy(const Settings &);
Table benchCompile(const Settings &);
Table benchCompileGrowth(const Settings &);
Table benchTransformer(const Settings &);
Table benchCliffs(const Settings &);
Table benchFamilies(const Settings &);
Table benchCollective(const Settings &);
Table benchPluginCalls(const Settings &);
Table benchPluginFinding(const Settings &);

} // namespace tessera::bench
