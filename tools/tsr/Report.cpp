#include "tools/tsr/Report.h"
#include "core/Escaped.h"
#include "tools/StandardStreams.h"
#include "tools/tsr/Console.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
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
  if (why.empty() || status != exitOk) return status; // it has said what is wrong
  return fail(Error{"E_OUTPUT_WRITE", "standard output: " + why, ""});
}

namespace {

/// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row.back();
}

} // namespace

std::optional<std::string> closest(std::string_view word, const std::vector<std::string> &candidates) {
  const std::string *best = nullptr;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return std::nullopt;
  for (const std::string &c : candidates)
    if (size_t d = editDistance(word, c); d < bestDistance) {
      best = &c;
      bestDistance = d;
    }
  return best ? std::optional(*best) : std::nullopt;
}

std::string suggest(std::string_view word, const std::vector<std::string> &candidates) {
  if (auto c = closest(word, candidates)) return fmt::format("did you mean {}?", *c);
  return candidates.empty() ? std::string() : fmt::format("known: {}", fmt::join(candidates, ", "));
}

} // namespace tessera::cli
