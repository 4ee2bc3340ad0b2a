#include "core/plugin/Ending.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <mutex>
#include <vector>

namespace tessera {
namespace {

struct State {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  std::vector<void (*)()> functions;
};

State &state() {
  static State &s = *new State; // never destroyed: used while static destructors run
  return s;
}

} // namespace

void beforeShutdown(void (*letGo)()) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  if (std::find(s.functions.begin(), s.functions.end(), letGo) == s.functions.end())
    s.functions.push_back(letGo);
}

void letGoOfPluginObjects() {
  std::vector<void (*)()> functions;
  {
    std::lock_guard lock(state().mutex);
    functions = state().functions;
  }
  for (auto letGo : functions)
    letGo();
}

} // namespace tessera
