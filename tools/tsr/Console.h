// What the tool prints to stderr, kept as well for the crash pack.
#pragma once
#include <string_view>

namespace tessera::cli {

/// Writes `text` to stderr and to the log, if one is set.
void say(std::string_view text);

/// The file descriptor that also gets what say() prints; -1: none. Set once, before threads exist.
void setLog(int fd);

} // namespace tessera::cli
