// The process-wide log behind tsrSetLogCallback.
#pragma once
#include <string>
#include <tessera/tessera.h>

namespace tessera {

/// Would a message of this level reach anyone? Takes no lock.
bool logs(tsr_log_level_t level);

/// Hands the message to the callback, if it wants the level. To be called without locks held: the callback
/// may call back. `code` is stable: E_..., W_..., N_... or D_... by level.
void log(tsr_log_level_t level, const char *code, const std::string &text);

/// The same, but each text reaches a callback once in the life of the process.
void logOnce(tsr_log_level_t level, const char *code, const std::string &text);

} // namespace tessera
