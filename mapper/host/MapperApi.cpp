// The calls of the C ABI that set the mapper.
#include "core/log/LastError.h"
#include "mapper/host/Host.h"
#include "mapper/host/TableMapper.h"

using namespace tessera;
using namespace tessera::mapping;

namespace {

tsr_status_t say(const Failure &f) {
  return fail(f.status, "[" + f.code + "] " + f.message + (f.hint.empty() ? "" : "\n  hint: " + f.hint));
}

} // namespace

tsr_status_t tsrSetMapper(const char *spec) {
  return guarded([&]() -> tsr_status_t {
    try {
      setCurrent(spec && *spec ? makeHost(spec) : nullptr);
      return TSR_SUCCESS;
    } catch (const Failure &f) {
      return say(f);
    }
  });
}

tsr_status_t tsrSetMapperTable(const tsr_mapper_api *api, tsr_mp_mapper *mapper, const char *name) {
  return guarded([&]() -> tsr_status_t {
    if (!name || !*name) return fail(TSR_EINVAL, "the mapper has no name");
    std::string why;
    std::shared_ptr<Mapper> wrapped = wrap(api, mapper, why);
    if (!wrapped) return say({TSR_EINVAL, "E_MAPPER_FAILED", "mapper " + quoted(name) + ": " + why});
    setCurrent(std::make_shared<Host>(name, std::move(wrapped)));
    return TSR_SUCCESS;
  });
}
