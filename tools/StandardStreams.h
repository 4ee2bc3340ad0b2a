// Keeps a closed or full standard output from looking like success.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace tessera {

/// Opens the descriptors 0, 1 and 2 if the caller closed them, so that no other file gets their numbers.
/// Reading from 0 then fails, and so does writing to 1 and 2. Must be called first.
inline void takeStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/// Flushes standard output. Returns "" when all that was printed has been written, else the reason why not.
inline std::string standardOutputError() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return "";
  return errno ? std::strerror(errno) : "not all of it could be written";
}

/// Runs a tool and returns the exit status of `body()`. fmt throws when it cannot print; that becomes an exit
/// status too.
template <class Body> int withStandardOutput(const Body &body, int failed) {
  try {
    return body();
  } catch (const std::system_error &) {
    if (!std::ferror(stdout) && !std::ferror(stderr)) throw;
    return std::ferror(stdout) ? 0 : failed; // the tool checks standard output when it ends
  }
}

} // namespace tessera
