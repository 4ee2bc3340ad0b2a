#include "tools/tune/Cost.h"
#include <algorithm>
#include <cmath>

namespace tessera::tune {

double predictNs(const KernelMetadata &m, const NamedValues &dims, double bytes,
                 const MachineConstants &machine) {
  auto constant = [&](std::string_view name) {
    const auto *it = std::ranges::find(kMachineConstants, name);
    return static_cast<double>(machine[static_cast<size_t>(it - kMachineConstants.begin())]);
  };
  std::vector<std::string> names;
  std::vector<int64_t> slots;
  for (const auto &[name, value] : dims) {
    names.push_back(name);
    slots.push_back(value);
  }
  double programs = 1;
  for (const std::string &axis : m.axes) {
    IndexExpr expr;
    std::string why;
    int64_t value = 0;
    if (!IndexExpr::parse(axis, names, expr, why) || !expr.evaluate(slots.data(), value)) return -1;
    programs *= static_cast<double>(value);
  }
  if (programs <= 0) return -1;
  const double cores = std::max(1.0, constant("cores"));
  // The last programs leave cores idle.
  const double idle = std::ceil(programs / cores) * cores / programs;
  // What a program keeps in memory is written and read once; the cache that holds it decides how fast.
  const double kept = static_cast<double>(m.scratchBytes + m.sharedBytes);
  const double l1 = constant("l1"), l2 = constant("l2");
  const double rate = kept <= l1 ? 4 * constant("bw2") : kept <= l2 ? constant("bw2") : constant("bw3");
  constexpr double kProgramNs = 100; // to begin a program
  const double each = kProgramNs + (rate > 0 ? 2 * kept / rate : 0);
  const double memory = constant("bwm") > 0 ? bytes / constant("bwm") : 0;
  return idle * (memory + programs * each) / cores;
}

} // namespace tessera::tune
