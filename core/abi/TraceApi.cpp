// Traces.
#include "core/abi/Structs.h"
#include "core/objects/Tracer.h"

using namespace tessera;

tsr_status_t tsrTraceStart(const tsr_trace_options_t *options) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(options, "options")) return status;
    tsr_trace_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    if (tsr_status_t status = requireOut(reinterpret_cast<const void *>(o.record), "options: record"))
      return status;
    constexpr uint32_t known = (2u << TSR_TRACE_CALL) - 1;
    if (o.kinds & ~known)
      return fail(TSR_EINVAL, "options: kinds: unknown bits " + std::to_string(o.kinds & ~known));
    return checked([&](std::string &why) { return Tracer::start(o, why); });
  });
}

tsr_status_t tsrTraceStop(void) {
  return guarded([&] { return checked([](std::string &why) { return Tracer::stop(why); }); });
}
