// Status names, last error, version.
#include "core/BuildId.h"
#include "core/LastError.h"
#include <iterator>

namespace tessera {
namespace {

thread_local std::string lastErrorText;

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

tsr_status_t fail(tsr_status_t status, std::string_view text) {
  try {
    lastErrorText.assign(text);
  } catch (const std::bad_alloc &) {
    lastErrorText.clear(); // the status still tells
  }
  return status;
}

const char *lastError() { return lastErrorText.c_str(); }

} // namespace tessera

using namespace tessera;

const char *tsrStatusName(tsr_status_t status) {
  auto i = static_cast<size_t>(status);
  return i < std::size(kStatus) ? kStatus[i].name : "TSR_UNKNOWN";
}

const char *tsrStatusString(tsr_status_t status) {
  auto i = static_cast<size_t>(status);
  return i < std::size(kStatus) ? kStatus[i].meaning : "unknown status";
}

const char *tsrLastError(void) { return lastError(); }
const char *tsrVersion(void) { return TESSERA_VERSION; }

void tsrAbiVersion(uint32_t *major, uint32_t *minor) {
  if (major) *major = TSR_ABI_MAJOR;
  if (minor) *minor = TSR_ABI_MINOR;
}
