#include "core/plugin/Ending.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <mutex>
#include <vector>

namespace tessera {
namespace {

struct Endings {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  std::vector<void (*)()> functions;
};

Endings &endings() {
  static Endings &s = *new Endings; // never destroyed: used while static destructors run
  return s;
}
[[maybe_unused]] const Endings &madeEndings = endings(); // when the library is loaded: see HeldAcrossFork

} // namespace

void beforeShutdown(void (*letGo)()) {
  Endings &s = endings();
  std::lock_guard lock(s.mutex);
  if (std::find(s.functions.begin(), s.functions.end(), letGo) == s.functions.end())
    s.functions.push_back(letGo);
}

void letGoOfPluginObjects() {
  std::vector<void (*)()> functions;
  {
    std::lock_guard lock(endings().mutex);
    functions = endings().functions;
  }
  for (auto letGo : functions)
    letGo();
}

} // namespace tessera
