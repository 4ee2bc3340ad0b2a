#include "core/log/Log.h"
#include "core/log/LastError.h"
#include "core/support/Escaped.h"
#include "core/support/Fork.h"
#include <atomic>
#include <bit>
#include <mutex>
#include <set>

namespace tessera {
namespace {

constexpr int kNobody = -1;

struct Listener {
  tsr_log_fn call = nullptr;
  void *user = nullptr;
};

struct Logger {
  std::atomic<int> level{kNobody}; // the most verbose level wanted; changes with the listener
  std::mutex mutex;                // guards the members below
  HeldAcrossFork heldAcrossFork{mutex};
  Listener listener;
  std::set<std::string> loggedOnce;
};

Logger &logger() {
  static Logger *logger = new Logger; // never destroyed: static destructors may log messages
  return *logger;
}
[[maybe_unused]] const Logger &madeLogger = logger(); // when the library is loaded: see HeldAcrossFork

} // namespace

bool logs(tsr_log_level_t level) {
  return static_cast<int>(level) <= logger().level.load(std::memory_order_relaxed);
}

void log(tsr_log_level_t level, const char *code, const std::string &text) {
  if (!logs(level)) return;
  if (LogLater::outermost) return LogLater::outermost->messages_.push_back({level, code, text});
  Listener listener;
  {
    std::lock_guard lock(logger().mutex);
    if (logs(level)) listener = logger().listener;
  }
  if (listener.call) listener.call(listener.user, level, code, escaped(text, Lines::Keep).c_str());
}

thread_local LogLater *LogLater::outermost = nullptr;

LogLater::LogLater() {
  if (!outermost) outermost = this;
}

LogLater::~LogLater() {
  if (outermost != this) return;
  outermost = nullptr;
  for (const Message &m : messages_)
    log(m.level, m.code.c_str(), m.text);
}

void logOnce(tsr_log_level_t level, const char *code, const std::string &text) {
  if (!logs(level)) return;
  {
    std::lock_guard lock(logger().mutex);
    if (!logger().loggedOnce.insert(code + (' ' + text)).second) return;
  }
  log(level, code, text);
}

} // namespace tessera

using namespace tessera;

tsr_status_t tsrSetLogCallback(tsr_log_fn callback, void *user, tsr_log_level_t level) {
  return guarded([&] {
    const auto value = std::bit_cast<int>(level); // a C caller may pass a value outside the enumeration
    if (value < TSR_LOG_ERROR || value > TSR_LOG_DEBUG)
      return fail(TSR_EINVAL, "level: unknown value " + std::to_string(value));
    std::lock_guard lock(logger().mutex);
    logger().listener = {callback, user};
    logger().level.store(callback ? value : kNobody, std::memory_order_relaxed);
    return TSR_SUCCESS;
  });
}
