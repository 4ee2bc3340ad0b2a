// Output of the tool to stderr, which is also kept for the crash pack, and the progress line of slow steps.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <tessera/tessera.h>

namespace tessera::cli {

/// Writes `text` to stderr and to the log, if one is set. Thread-safe.
void say(std::string_view text);

/// Prints a warning, unless the same text was printed before: the tool and the library both report variables
/// that have no effect. Thread-safe.
void warnOnce(std::string_view text);

/// A log callback: prints the library's warnings. Errors are also returned as statuses and are reported
/// there.
void showWarning(void *, tsr_log_level_t level, const char *code, const char *text);

/// Sets a file descriptor that also receives what say() prints; -1: none. Called once, before threads exist.
void setLog(int fd);

/// Erases a progress line that an ended process may have left on the terminal.
void clearProgress();

/// Shows "compiling mlp (3.2 s)" on the terminal after the first second, until it is destroyed or something
/// else is printed. If stderr is not a terminal, it does nothing and starts no thread. Only one may exist at
/// a time, and none during a fork.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Changes the text; the time continues.
  void update(std::string what);

private:
  struct Painter;
  std::unique_ptr<Painter> painter_; // null: stderr is not a terminal
};

} // namespace tessera::cli
