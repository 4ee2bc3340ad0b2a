// Checks that loading, querying and probing a plugin does not change the state of the process.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/State.h"
#include "tools/tsr-conformance/Subject.h"

namespace tessera::kit {
namespace {

template <Aspect aspect> void unchanged(Subject &s) {
  if (aspect == Aspect::Output) catchOutput();
  std::string before = stateOf(aspect);
  auto compare = [&](const char *step) {
    const std::string now = stateOf(aspect);
    // The environment may hold secrets, so it is compared but not shown.
    const bool isShown = aspect != Aspect::Environment;
    expect(now == before,
           isShown && !before.empty() ? "as before " + std::string(step) + ": " + before : "nothing changed",
           "after " + std::string(step) +
               (isShown ? ": " + (now.empty() ? "none" : now) : " it has changed"));
  };
  (void)s.library();
  compare("dlopen");
  RoomyInfo room;
  tsr_plugin_info_t &info = room.answer;
  (void)s.query()(&kitHost(), &info);
  compare("tsrPluginQuery");
  if (!info.probe) return;
  thunk::Text why;
  tsr_probe_t found{};
  found.struct_size = sizeof found;
  const int32_t status = info.probe(&found, why);
  // A driver that has found a device keeps threads and files open.
  const bool isDriver = status == TSR_SUCCESS && *found.driver;
  if (isDriver && (aspect == Aspect::Threads || aspect == Aspect::Files)) return;
  compare("probe");
}

constexpr Check kPurityChecks[] = {
    {"purity.threads",
     "dlopen, the query and a probe leave no thread running.",
     unchanged<Aspect::Threads>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.files",
     "They leave no descriptor open and close none.",
     unchanged<Aspect::Files>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.environment",
     "They leave the environment as it is.",
     unchanged<Aspect::Environment>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.signal_handlers",
     "They install no signal handler.",
     unchanged<Aspect::SignalHandlers>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.signal_mask",
     "They leave the signal mask as it is.",
     unchanged<Aspect::SignalMask>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.locale",
     "They leave the locale as it is.",
     unchanged<Aspect::Locale>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.floating_point",
     "They leave rounding and denormals as they are.",
     unchanged<Aspect::FloatingPoint>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.directory",
     "They leave the working directory as it is.",
     unchanged<Aspect::Directory>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.umask",
     "They leave the umask as it is.",
     unchanged<Aspect::Umask>,
     Needs::Queried,
     {},
     "probe.returns"},
    {"purity.output",
     "They write nothing to stdout or stderr.",
     unchanged<Aspect::Output>,
     Needs::Queried,
     {},
     "probe.returns"},
};

} // namespace

extern const Group kPurity = {"purity", ~0u, true, kPurityChecks};

} // namespace tessera::kit
