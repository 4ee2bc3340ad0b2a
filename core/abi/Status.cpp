// Status names, the last error, the version.
#include "core/log/LastError.h"
#include "core/service/BuildId.h"
#include <bit>
#include <iterator>

namespace tessera {
namespace {

struct StatusRow {
  const char *name, *meaning;
};
constexpr StatusRow kStatus[] = {
    {"TSR_SUCCESS", "success"},
    {"TSR_EOOM", "out of memory"},
    {"TSR_EINVAL", "invalid argument"},
    {"TSR_ETIMEOUT", "the time given ran out"},
    {"TSR_UNIMPLEMENTED", "not implemented on this backend"},
    {"TSR_ENOTFOUND", "not found"},
    {"TSR_ECOMPILE", "the source does not compile"},
    {"TSR_EDEVICE", "the device or its driver failed"},
    {"TSR_EIO", "input or output failed"},
    {"TSR_NOT_READY", "not finished yet"},
    {"TSR_EINTERNAL", "internal fault"},
};
static_assert(std::size(kStatus) == TSR_EINTERNAL + 1);

} // namespace

} // namespace tessera

using namespace tessera;

const char *tsrStatusName(tsr_status_t status) {
  auto i = std::bit_cast<unsigned>(status); // a C caller may pass a value that is no status
  return i < std::size(kStatus) ? kStatus[i].name : "TSR_UNKNOWN";
}

const char *tsrStatusString(tsr_status_t status) {
  auto i = std::bit_cast<unsigned>(status); // a C caller may pass a value that is no status
  return i < std::size(kStatus) ? kStatus[i].meaning : "unknown status";
}

const char *tsrLastError(void) { return lastError(); }
const char *tsrVersion(void) { return TESSERA_VERSION; }

void tsrAbiVersion(uint32_t *major, uint32_t *minor) {
  if (major) *major = TSR_ABI_MAJOR;
  if (minor) *minor = TSR_ABI_MINOR;
}
