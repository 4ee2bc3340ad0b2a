#include "core/log/LastError.h"
#include "core/support/Escaped.h"
#include <pthread.h>
#include <utility>

namespace tessera {
namespace {

/// A plain pointer, so that destructors of thread_local objects and, in the main thread, of static objects
/// can still use it. The text is freed by the destructor of a thread-specific key, which runs after those of
/// thread_local objects and never in the main thread.
/// thread_locals and never in the main thread, takes the text back.
constinit thread_local std::string *lastErrorText = nullptr;

void deleteLastErrorWithThread() {
  static const struct Key {
    pthread_key_t key{};
    bool ok = pthread_key_create(&key, [](void *) { delete std::exchange(lastErrorText, nullptr); }) == 0;
  } key{};
  if (key.ok) pthread_setspecific(key.key, lastErrorText);
}

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
    // the status still reports the failure
  }
  return status;
}

const char *lastError() { return lastErrorText ? lastErrorText->c_str() : ""; }

} // namespace tessera
