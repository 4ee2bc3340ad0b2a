// What a process has that a plugin must leave as it was.
#pragma once
#include <string>

namespace tessera::kit {

enum class Aspect {
  Threads,
  Files,
  Environment,
  SignalHandlers,
  SignalMask,
  Locale,
  FloatingPoint,
  Directory,
  Output,
  Umask
};

/// The aspect as a text that is equal exactly when the state is.
std::string stateOf(Aspect);

/// From now on what is written to descriptors 1 and 2 is kept, for Aspect::Output.
void catchOutput();

/// Tasks of this process.
int threadCount();
/// Of those the ones that the sanitizer this tool is built with may start of its own accord: one behind a
/// fork, one with the first thread.
#if __has_feature(thread_sanitizer)
inline constexpr int kSanitizerThreads = 2;
#else
inline constexpr int kSanitizerThreads = 0;
#endif
/// Open descriptors.
int fileCount();

} // namespace tessera::kit
