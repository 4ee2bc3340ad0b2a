#include "tools/tsr-conformance/State.h"
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace tessera::kit {
namespace {

namespace fs = std::filesystem;

int entries(const char *directory) {
  int count = 0;
  for ([[maybe_unused]] const auto &entry : fs::directory_iterator(directory))
    ++count;
  return count;
}

std::string files() {
  std::set<std::string> out; // the listing's own descriptor is already closed when its link is read
  for (const auto &entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    const fs::path to = fs::read_symlink(entry.path(), failed);
    if (!failed && to != "/proc/self/fd" && to.string().find("/fd") == std::string::npos)
      out.insert(entry.path().filename().string() + " (" + to.string() + ")");
  }
  std::string text;
  for (const std::string &one : out)
    text += one + " ";
  return text;
}

std::string handlers() {
  std::string out;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_DFL)
      out += std::to_string(signal) + "=" + std::to_string(reinterpret_cast<uintptr_t>(now.sa_handler)) + " ";
  }
  return out;
}

std::string mask() {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  std::string out;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&now, signal) == 1) out += std::to_string(signal) + " ";
  return out;
}

std::string floatingPoint() {
  std::string out = "rounding " + std::to_string(std::fegetround());
#ifdef __x86_64__
  // without the exception flags that arithmetic sets
  out += ", mxcsr " + std::to_string(_mm_getcsr() & ~0x3Fu);
#endif
  return out;
}

std::string output() {
  std::string out;
  for (int fd : {1, 2}) {
    struct stat now;
    if (fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) out += std::to_string(now.st_size) + " bytes ";
  }
  return out;
}

} // namespace

int threadCount() { return entries("/proc/self/task"); }
int fileCount() { return entries("/proc/self/fd"); }

void catchOutput() {
  for (int fd : {1, 2}) {
    const int memory = memfd_create("output", 0);
    dup2(memory, fd);
    close(memory);
  }
}

std::string stateOf(Aspect aspect) {
  switch (aspect) {
  case Aspect::Threads:
    return std::to_string(threadCount());
  case Aspect::Files:
    return files();
  case Aspect::Environment: {
    std::string out;
    for (char **e = environ; e && *e; ++e)
      out += std::string(*e) + "\n";
    return out;
  }
  case Aspect::SignalHandlers:
    return handlers();
  case Aspect::SignalMask:
    return mask();
  case Aspect::Locale:
    return std::setlocale(LC_ALL, nullptr);
  case Aspect::FloatingPoint:
    return floatingPoint();
  case Aspect::Directory:
    return fs::current_path();
  case Aspect::Output:
    return output();
  case Aspect::Umask: {
    const mode_t now = umask(0);
    umask(now);
    return std::to_string(now);
  }
  }
  return "";
}

} // namespace tessera::kit
