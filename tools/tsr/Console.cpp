#include "tools/tsr/Console.h"
#include <cstdio>
#include <unistd.h>

namespace tessera::cli {
namespace {
int logFd = -1;
}

void setLog(int fd) { logFd = fd; }

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (logFd >= 0 && ::write(logFd, text.data(), text.size()) < 0) logFd = -1;
}

} // namespace tessera::cli
