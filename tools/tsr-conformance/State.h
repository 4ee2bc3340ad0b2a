// The state of a process that a plugin must leave unchanged.
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

/// Returns the aspect as a text. Two texts are equal exactly if the states are equal.
std::string stateOf(Aspect);

/// Starts capturing what is written to descriptors 1 and 2, for Aspect::Output.
void catchOutput();

/// Returns the number of tasks of this process.
int threadCount();
/// How many of those tasks the sanitizer that this tool is built with may start on its own: one after a fork,
/// one with the first thread.
#if __has_feature(thread_sanitizer)
inline constexpr int kSanitizerThreads = 2;
#else
inline constexpr int kSanitizerThreads = 0;
#endif
/// Returns the number of open descriptors.
int fileCount();

} // namespace tessera::kit
