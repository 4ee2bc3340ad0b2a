// The process-wide log behind tsrSetLogCallback.
#pragma once
#include <string>
#include <tessera/tessera.h>
#include <vector>

namespace tessera {

/// Would a message of this level reach anyone? Takes no lock.
bool logs(tsr_log_level_t level);

/// Hands the message to the callback, if it wants the level. To be called without locks held (else see
/// LogLater): the callback may call back. `code` is stable: E_..., W_..., N_... or D_... by level.
void log(tsr_log_level_t level, const char *code, const std::string &text);

/// The same, but each text reaches a callback once in the life of the process.
void logOnce(tsr_log_level_t level, const char *code, const std::string &text);

/// While one is alive, what its thread logs waits for its end. Made before a lock is taken, it lets code that
/// holds the lock log, and the callback is called when the lock is gone. Those inside another do nothing.
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
