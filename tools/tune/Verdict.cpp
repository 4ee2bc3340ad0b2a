#include "tools/tune/Verdict.h"
#include <algorithm>

namespace tessera::tune {

Verdict judge(const std::vector<Sample> &samples) {
  Verdict out;
  std::vector<double> gains;
  size_t wins = 0;
  for (const Sample &s : samples) {
    if (!(s.ns > 0) || !(s.baseNs > 0)) continue;
    gains.push_back(s.baseNs / s.ns);
    wins += s.ns < s.baseNs;
  }
  out.pairs = gains.size();
  if (gains.empty()) return out;
  std::ranges::sort(gains);
  const size_t half = gains.size() / 2;
  out.gain = gains.size() % 2 ? gains[half] : (gains[half - 1] + gains[half]) / 2;
  out.wins = static_cast<double>(wins) / static_cast<double>(gains.size());
  return out;
}

} // namespace tessera::tune
