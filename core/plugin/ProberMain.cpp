// tessera-probe PLUGIN: asks one plugin for its devices and writes a ProbeAnswer to file descriptor 3. The
// runtime starts it as a separate process, so that the plugin cannot harm the caller's.
#include "core/plugin/Probe.h"
#include "core/plugin/Registry.h"
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(
        stderr,
        "usage: tessera-probe PLUGIN\nStarted by libtessera.so; `tsr backends` shows what it found.\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  static ProbeAnswer answer;
  answer.magic = ProbeAnswer::kMagic;
  auto fail = [&](int code, const char *text) {
    answer.failedStep = code;
    std::snprintf(answer.text, sizeof answer.text, "%s", text);
  };
  static const tsr_host_info_t host = {sizeof host,
                                       TSR_PLUGIN_ABI_MAJOR,
                                       TSR_PLUGIN_ABI_MINOR,
                                       TSR_PLUGIN_ABI_FLOOR,
                                       0,
                                       "",
                                       "",
                                       nullptr,
                                       nullptr,
                                       ""};
  tsr_plugin_info_t info{};
  info.struct_size = sizeof info;
  void *object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto query = object ? reinterpret_cast<tsr_plugin_query_fn>(dlsym(object, "tsrPluginQuery")) : nullptr;
  if (!object)
    fail(refusal::kLoad, dlerror());
  else if (!query)
    fail(refusal::kNoExport, "it does not export tsrPluginQuery");
  else if (query(&host, &info) != TSR_SUCCESS)
    fail(refusal::kQuery, "its query failed");
  else if (!info.probe)
    fail(refusal::kSlot, "it is a backend but has no probe");
  else {
    tsr_text_t why = {answer.text, sizeof answer.text, 0};
    answer.found.struct_size = sizeof answer.found;
    answer.status = info.probe(&answer.found, &why);
  }
  // _exit skips the plugin's destructors, which could fail after the answer is complete.
  _exit(write(3, &answer, sizeof answer) == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
}
