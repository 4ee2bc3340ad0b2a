// What the tool prints to stderr, kept as well for the crash pack, and the line that shows what takes long.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tessera::cli {

/// Writes `text` to stderr and to the log, if one is set. Thread-safe.
void say(std::string_view text);

/// The file descriptor that also gets what say() prints; -1: none. Set once, before threads exist.
void setLog(int fd);

/// Takes away a progress line that a process which has ended may have left on the terminal.
void clearProgress();

/// Shows "compiling mlp (3.2 s)" on the terminal from the first second on, until it is destroyed or something
/// is said. Nothing, and no thread, where stderr is no terminal. One at a time, and none across a fork.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Says something else from now on; the time goes on.
  void update(std::string what);

private:
  struct Painter;
  std::unique_ptr<Painter> painter_; // null: nobody watches
};

} // namespace tessera::cli
