#include "core/support/InputFile.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

const char *kindOf(mode_t mode) {
  return S_ISFIFO(mode) ? "a pipe" : S_ISDIR(mode) ? "a directory" : S_ISSOCK(mode) ? "a socket" : "a device";
}

Error cannotRead(std::string why) { return {"E_FILE_READ", std::move(why), ""}; }

Expected<std::string> read(int fd, size_t limit) {
  struct stat about;
  if (::fstat(fd, &about) != 0) return cannotRead(std::strerror(errno));
  if (!S_ISREG(about.st_mode))
    return cannotRead(std::string("it is not a regular file: it is ") + kindOf(about.st_mode));
  constexpr size_t kLeast = 4096; // files in /proc report size 0
  std::string bytes;
  bytes.resize(std::max(kLeast, std::min(static_cast<size_t>(about.st_size), limit) + 1));
  for (size_t got = 0;;) {
    if (got == bytes.size()) bytes.resize(2 * got);
    const ssize_t n = ::read(fd, bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannotRead(std::strerror(errno));
    got += static_cast<size_t>(n);
    if (got > limit) return cannotRead("it has more than " + std::to_string(limit) + " bytes");
    if (n > 0) continue;
    bytes.resize(got);
    return bytes;
  }
}

} // namespace

Expected<std::string> readFile(const std::string &path, size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return cannotRead(std::strerror(errno));
  auto bytes = read(fd, limit);
  ::close(fd);
  return bytes;
}

} // namespace tessera
