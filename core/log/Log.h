// The process-wide log behind tsrSetLogCallback.
#pragma once
#include <string>
#include <tessera/tessera.h>
#include <vector>

namespace tessera {

/// Returns whether the callback wants messages of this level. Takes no lock.
bool logs(tsr_log_level_t level);

/// Passes the message to the callback if it wants the level. Call it without locks held (otherwise see
/// LogLater), since the callback may call the library. `code` is stable: E_..., W_..., N_... or D_... by
/// level.
void log(tsr_log_level_t level, const char *code, const std::string &text);

/// As log(), but logs each text at most once per process.
void logOnce(tsr_log_level_t level, const char *code, const std::string &text);

/// Delays the messages of its thread until it is destroyed. If it is created before a lock is taken, code
/// under the lock may log, and the callback runs after the lock is released. Nested objects have no effect.
class LogLater {
public:
  LogLater();
  ~LogLater();
  LogLater(const LogLater &) = delete;
  LogLater &operator=(const LogLater &) = delete;

private:
  struct Message {
    tsr_log_level_t level;
    std::string code, text;
  };
  friend void log(tsr_log_level_t, const char *, const std::string &);
  static thread_local LogLater *outermost;
  std::vector<Message> messages_;
};

} // namespace tessera
