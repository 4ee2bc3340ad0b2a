// How the tool reports: errors with stable codes, colours only on a terminal, and three exit statuses.
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
  exitOk = 0,     // success
  exitUser = 1,   // the program or the arguments are wrong
  exitFailed = 2, // the backend or the compiler failed; a crash pack was left
};

/// Errors of the command line itself. Their codes are those of knownCodes(). The compiler's own diagnostics
/// are tessera::Diagnostic.
using Errors = std::vector<Error>;

/// Returns the codes that `tsr explain` knows: the tool's, then the compiler's, each once.
struct CodeText {
  std::string_view code, title, text;
};
const std::vector<CodeText> &knownCodes();

/// Returns true for a terminal whose cursor can be moved: TERM is not "dumb".
bool isTerminal(int fd);

enum class Colour : uint8_t { Auto, Always, Never };
/// The value of --color. Set once, before threads exist.
void setColour(Colour);
/// Returns true when text to `fd` should be coloured. The default: `fd` is a terminal, and NO_COLOR is unset
/// or empty.
bool wantsColour(int fd);

/// Prints `tsr: error: [CODE] message` and the hint to stderr. Returns exitUser, so that callers may return
/// it.
int fail(const Error &);
int fail(const Errors &);

/// Runs a command, or the whole tool, and returns its exit status. A standard output that is full or closed
/// is an error.
int finish(const std::function<int()> &command);

/// Returns the candidate closest to `word`, if it is close enough to be a typing error.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string> &candidates);

/// Returns "did you mean X?", or "known: a, b, c" when nothing is close, or "" without candidates.
std::string suggest(std::string_view word, const std::vector<std::string> &candidates);

} // namespace tessera::cli
