// How the tool speaks: errors with stable codes, colours only where a person reads, and the three exit
// statuses.
#pragma once
#include "core/support/Expected.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// Exit statuses of every command.
enum Exit : int {
  exitOk = 0,     // it ran
  exitUser = 1,   // the program or the arguments are wrong
  exitFailed = 2, // the backend or the compiler failed; a crash pack was left
};

/// Errors of the command line itself: their codes are those of knownCodes(). The compiler's own diagnostics
/// are tessera::Diagnostic.
using Errors = std::vector<Error>;

/// What `tsr explain` knows: the tool's codes, then the compiler's, each once.
struct CodeText {
  std::string_view code, title, text;
};
const std::vector<CodeText> &knownCodes();

/// True where a person watches and the cursor can be moved: a terminal, and TERM is not "dumb".
bool isTerminal(int fd);

enum class Colour : uint8_t { Auto, Always, Never };
/// What --color said. Set once, before threads exist.
void setColour(Colour);
/// True when text to `fd` should be coloured; by itself: a terminal, and NO_COLOR unset or empty.
bool wantsColour(int fd);

/// Prints `tsr: error: [CODE] message` and the hint to stderr. Returns exitUser, so that callers may return
/// it.
int fail(const Error &);
int fail(const Errors &);

/// Runs a command, or all of the tool, to its exit status. What it printed must have arrived: a standard
/// output that is full or closed is an error.
int finish(const std::function<int()> &command);

/// The candidate closest to `word`, if it is close enough to be a slip of the finger.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string> &candidates);

/// "did you mean X?", or "known: a, b, c" when nothing is close, or empty without candidates.
std::string suggest(std::string_view word, const std::vector<std::string> &candidates);

} // namespace tessera::cli
