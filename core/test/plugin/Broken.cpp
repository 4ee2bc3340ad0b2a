// One source for all plugins that must be refused. TSR_BROKEN selects how it is broken; 0: not at all.
#include "tessera_manifest.h" // the precompiled plugin.hpp has seen none
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <tessera/plugin.hpp>
#include <unistd.h>

#define SOUND 0
#define LIES 1         // its code and its manifest have different versions
#define EXTRA_EXPORT 2 // exports more than the query
#define NO_EXPORT 3    // exports nothing
#define NO_SLOT 4      // lacks context_create
#define THROWS 5       // its constructor throws
#define HANGS 6        // its probe never ends
#define EXITS 7        // its probe calls _Exit
#define CRASHES 8      // its probe reads from an invalid address
#define UNDEFINED 9    // needs an undefined symbol
#define WRITES_PAST 10 // its query writes past the struct
#define QUERY_FAILS 11
#define INTERFACE 12 // its table is of another major
#define CHATTY 13    // its probe writes to stdout, which is allowed
#define NO_DEVICE 14
#define BOASTS 15     // its probe reports a nonsensical score
#define ONE_DEVICE 16 // shares its device's PCI address with its twin
#define NO_TABLE 17   // is a backend but has no table
#define SAYS_BYE 18   // writes to stderr when it is destroyed and shut down
#define HAS_CHILD 19  // its probe leaves a process running
#define FLOODS 20     // its probe writes to the answer's pipe forever

namespace {
using namespace tessera;

const DeviceInfo kDevice = {"test device", "null", "{}", 1 << 20, 1 << 10, 1, 0};

class Broken final : public Backend {
public:
  Broken() {
    if (TSR_BROKEN == THROWS && !probing) throw std::runtime_error("no luck today");
  }
  ~Broken() override {
    if (TSR_BROKEN == SAYS_BYE && !probing) (void)!write(2, "destroyed, ", 11);
  }
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override {
    if (TSR_BROKEN == HANGS)
      for (;;)
        pause();
    if (TSR_BROKEN == FLOODS)
      for (static const char junk[65536] = {};;)
        (void)!write(3, junk, sizeof junk);
    if (TSR_BROKEN == EXITS) std::_Exit(0);
    if (TSR_BROKEN == CRASHES) std::abort();
    if (TSR_BROKEN == HAS_CHILD && fork() == 0)
      for (;;)
        pause();
    if (TSR_BROKEN == CHATTY) (void)!write(1, "a probe that talks\n", 19);
    if (TSR_BROKEN == NO_DEVICE) {
      why = "the cable is not plugged in";
      return TSR_ENOTFOUND;
    }
    out.device_count = 1;
    out.score = TSR_BROKEN == BOASTS ? 1000000 : 50;
    if (TSR_BROKEN == ONE_DEVICE) std::strcpy(out.pci[0], "0000:65:00.0");
    return TSR_SUCCESS;
  }
  int deviceCount() const override { return 1; }
  const DeviceInfo *deviceInfo(int, std::string &) override { return &kDevice; }
  std::unique_ptr<DeviceContext> createContext(int, const tsr_allocator_t *, std::string &why) override {
    why = "this plugin is for tests of the loader";
    return nullptr;
  }
  static bool probing;
};
bool Broken::probing = false;

int32_t probe(tsr_probe_t *out, tsr_text_t *why) {
  Broken::probing = true;
  int32_t status = thunk::probeOf<Broken>(out, why);
  Broken::probing = false;
  return status;
}

} // namespace

#if TSR_BROKEN == UNDEFINED
extern "C" int nobodyHasThisSymbol();
#endif
#if TSR_BROKEN == EXTRA_EXPORT
extern "C" __attribute__((visibility("default"))) int oneMoreExport() { return 1; }
#endif

#if TSR_BROKEN == NO_EXPORT
extern "C" __attribute__((visibility("hidden"))) int32_t tsrPluginQuery(
#else
extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(
#endif
    const tsr_host_info_t *, tsr_plugin_info_t *info) {
  if (TSR_BROKEN == QUERY_FAILS) return TSR_EINTERNAL;
  if (TSR_BROKEN == WRITES_PAST) std::memset(reinterpret_cast<char *>(info) + info->struct_size, 0, 8);
  static tsr_backend_api_t api;
  api = *thunk::backendApi<Broken>();
  if (TSR_BROKEN == NO_SLOT) api.context_create = nullptr;
  if (TSR_BROKEN == INTERFACE) api.version_major = 9;
  tsr_plugin_info_t out = {};
  out.abi_major = TSR_PLUGIN_ABI_MAJOR;
  out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.needs_minor = TSR_MANIFEST_NEEDS_MINOR;
  out.kinds = TSR_MANIFEST_KINDS;
  out.name = TSR_MANIFEST_NAME;
  out.version = TSR_BROKEN == LIES ? "9.9.9" : TSR_MANIFEST_VERSION;
  out.description = TSR_MANIFEST_DESCRIPTION;
  out.features_required = TSR_MANIFEST_FEATURES_REQUIRED;
  out.features_optional = TSR_MANIFEST_FEATURES_OPTIONAL;
  out.compiler_abi = "";
  out.probe = probe;
  if (TSR_BROKEN == SAYS_BYE) out.shutdown = [] { (void)!write(2, "shut down", 9); };
  out.backend = TSR_BROKEN == NO_TABLE ? nullptr : &api;
#if TSR_BROKEN == UNDEFINED
  out.kinds += static_cast<uint32_t>(nobodyHasThisSymbol());
#endif
  thunk::copyOut(info, out);
  return TSR_SUCCESS;
}
