// Standard output that is closed or full must not look like success: what a tool ends with.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace tessera {

/// Takes the descriptors 0, 1 and 2 where the caller has closed them, so that no other file gets their
/// numbers. Reading the first fails, writing to the others does. To be called first.
inline void takeStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/// Writes what is still in memory. "": all that was printed has arrived; else why not.
inline std::string standardOutputError() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return "";
  return errno ? std::strerror(errno) : "not all of it could be written";
}

/// Runs a tool, whose exit status is `body()`. fmt throws where it cannot print: that is an exit status too.
template <class Body> int withStandardOutput(const Body &body, int failed) {
  try {
    return body();
  } catch (const std::system_error &) {
    if (!std::ferror(stdout) && !std::ferror(stderr)) throw;
    return std::ferror(stdout) ? 0 : failed; // standard output is judged when the tool ends
  }
}

} // namespace tessera
