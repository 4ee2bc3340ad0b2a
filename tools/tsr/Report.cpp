#include "tools/tsr/Report.h"
#include "core/support/Escaped.h"
#include "core/support/NearestName.h"
#include "tools/StandardStreams.h"
#include "tools/tsr/Console.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace tessera::cli {

namespace {
Colour colourMode = Colour::Auto;

std::string_view variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}
} // namespace

bool isTerminal(int fd) { return ::isatty(fd) != 0 && variable("TERM") != "dumb"; }

void setColour(Colour mode) { colourMode = mode; }

bool wantsColour(int fd) {
  return colourMode == Colour::Always ||
         (colourMode == Colour::Auto && variable("NO_COLOR").empty() && isTerminal(fd));
}

int fail(const Error &e) {
  const bool colour = wantsColour(STDERR_FILENO);
  const std::string message = escaped(e.message, Lines::Keep);
  std::string text = colour ? fmt::format("tsr: \033[1;31merror:\033[0m [{}] {}\n", e.code, message)
                            : fmt::format("tsr: error: [{}] {}\n", e.code, message);
  if (!e.hint.empty()) text += fmt::format("  hint: {}\n", escaped(e.hint, Lines::Keep));
  say(text);
  return exitUser;
}

int fail(const Errors &errors) {
  for (const Error &e : errors)
    fail(e);
  return exitUser;
}

int finish(const std::function<int()> &command) {
  const int status = withStandardOutput(command, exitUser);
  const std::string why = standardOutputError();
  if (why.empty() || status != exitOk) return status; // the command has already printed the error
  return fail(Error{"E_OUTPUT_WRITE", "standard output: " + why, ""});
}

std::optional<std::string> closest(std::string_view word, const std::vector<std::string> &candidates) {
  std::string_view near = nearestName(word, candidates);
  return near.empty() ? std::nullopt : std::optional<std::string>(near);
}

std::string suggest(std::string_view word, const std::vector<std::string> &candidates) {
  if (auto c = closest(word, candidates)) return fmt::format("did you mean {}?", *c);
  return candidates.empty() ? std::string() : fmt::format("known: {}", fmt::join(candidates, ", "));
}

} // namespace tessera::cli
