// Status names, last error, version.
#include "core/abi/LastError.h"
#include "core/service/BuildId.h"
#include "core/support/Escaped.h"
#include <bit>
#include <iterator>
#include <pthread.h>
#include <utility>

namespace tessera {
namespace {

/// Calls come from destructors of thread_locals too and, in the main thread, from static ones. So this is a
/// plain pointer, good to the thread's end; a thread-specific key, whose destructor runs after the
/// thread_locals and never in the main thread, takes the text back.
constinit thread_local std::string *lastErrorText = nullptr;

void deleteLastErrorWithThread() {
  static const struct Key {
    pthread_key_t key{};
    bool ok = pthread_key_create(&key, [](void *) { delete std::exchange(lastErrorText, nullptr); }) == 0;
  } key{};
  if (key.ok) pthread_setspecific(key.key, lastErrorText);
}

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
    if (!lastErrorText) {
      lastErrorText = new std::string;
      deleteLastErrorWithThread();
    }
    lastErrorText->clear();
    lastErrorText->assign(escaped(text, Lines::Keep));
  } catch (const std::bad_alloc &) {
    // the status still tells
  }
  return status;
}

const char *lastError() { return lastErrorText ? lastErrorText->c_str() : ""; }

} // namespace tessera

using namespace tessera;

const char *tsrStatusName(tsr_status_t status) {
  auto i = std::bit_cast<unsigned>(status); // any value: a caller in C may have one that is no status
  return i < std::size(kStatus) ? kStatus[i].name : "TSR_UNKNOWN";
}

const char *tsrStatusString(tsr_status_t status) {
  auto i = std::bit_cast<unsigned>(status); // any value: a caller in C may have one that is no status
  return i < std::size(kStatus) ? kStatus[i].meaning : "unknown status";
}

const char *tsrLastError(void) { return lastError(); }
const char *tsrVersion(void) { return TESSERA_VERSION; }

void tsrAbiVersion(uint32_t *major, uint32_t *minor) {
  if (major) *major = TSR_ABI_MAJOR;
  if (minor) *minor = TSR_ABI_MINOR;
}
