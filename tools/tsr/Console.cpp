#include "tools/tsr/Console.h"
#include "core/support/Escaped.h"
#include "tools/tsr/Report.h"
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

namespace tessera::cli {
namespace {

int logFd = -1;
std::mutex terminal; // guards stderr and `painted`
bool painted = false;

constexpr std::string_view eraseLine = "\r\033[K";

void write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

/// The caller holds `terminal`.
void erase() {
  if (painted) write(eraseLine);
  painted = false;
}

size_t columns() {
  struct winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

} // namespace

void setLog(int fd) { logFd = fd; }

void say(std::string_view text) {
  const std::lock_guard lock(terminal);
  erase();
  write(text);
  if (logFd >= 0 && ::write(logFd, text.data(), text.size()) < 0) logFd = -1;
}

void warnOnce(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> warned;
  {
    const std::lock_guard lock(mutex);
    if (!warned.emplace(text).second) return;
  }
  say(fmt::format("tsr: warning: {}\n", text));
}

void showWarning(void *, tsr_log_level_t level, const char *, const char *text) {
  if (level == TSR_LOG_WARNING) warnOnce(text);
}

void clearProgress() {
  if (isTerminal(STDERR_FILENO)) write(eraseLine);
}

struct Progress::Painter {
  std::string what;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex; // guards `what` and `done`
  std::condition_variable changed;
  bool done = false;
  std::thread thread{[this] { run(); }}; // last: the thread uses the other members

  ~Painter() {
    {
      const std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_one();
    thread.join();
    const std::lock_guard lock(terminal);
    erase();
    std::fflush(stderr);
  }

  void run() {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex);
    for (auto next = start + 1s; !changed.wait_until(lock, next, [this] { return done; }); next += 100ms)
      paint(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  /// Cuts the line to the width of the terminal, because a wrapped line cannot be erased.
  void paint(double seconds) const {
    std::string line = fmt::format("{} ({:.1f} s)", escaped(what), seconds);
    if (const size_t room = columns() - 1; line.size() > room) line.resize(room);
    const std::lock_guard lock(terminal);
    write(fmt::format("{}{}", eraseLine, line));
    std::fflush(stderr);
    painted = true;
  }
};

Progress::Progress(std::string what) {
  if (!isTerminal(STDERR_FILENO)) return;
  painter_ = std::make_unique<Painter>();
  update(std::move(what));
}

Progress::~Progress() = default;

void Progress::update(std::string what) {
  if (!painter_) return;
  const std::lock_guard lock(painter_->mutex);
  painter_->what = std::move(what);
}

} // namespace tessera::cli
