// tsr: runs and compiles tile programs from the shell. See docs/cli.md.
#include "core/config/Config.h"
#include "core/config/Environment.h"
#include "core/support/Escaped.h"
#include "tools/StandardStreams.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Report.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/tessera.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

MaybeError chooseColour(const Arguments &args) {
  const std::string when = args.value("color", "auto");
  if (when == "auto")
    setColour(Colour::Auto);
  else if (when == "always")
    setColour(Colour::Always);
  else if (when == "never")
    setColour(Colour::Never);
  else
    return Error{"E_OPTION_VALUE", fmt::format("--color {}: no such choice", when), "auto, always or never"};
  return std::nullopt;
}

/// Maps the options that people try first to commands: `tsr --help` is `tsr help`.
std::string_view spelledOut(std::string_view word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version") return "version";
  return word;
}

/// Warns of variables that have no effect. The library does so only when it makes a context, which few
/// commands do.
void warnAboutVariables() {
  for (const std::string &warning : unknownVariableWarnings(environ))
    warnOnce(escaped(warning));
}

int tsr(std::span<char *const> words) {
  const std::string commandLine = fmt::format("tsr {}", fmt::join(words, " "));
  if (words.empty()) {
    say(overview());
    return exitUser;
  }
  const std::string_view name = spelledOut(words[0]);
  const Command *command = findCommand(name);
  if (!command) {
    std::vector<std::string> names;
    for (const Command *c : allCommands())
      names.emplace_back(c->spec.name);
    return fail(
        Error{"E_UNKNOWN_COMMAND", fmt::format("there is no command {}", name), suggest(name, names)});
  }
  Arguments args;
  if (auto e = parseArguments(command->spec, words.subspan(1), args)) return fail(*e);
  if (auto e = chooseColour(args)) return fail(*e);
  if (args.wantsHelp()) {
    fmt::print("{}", command->spec.help());
    return exitOk;
  }
  if (name != "complete") warnAboutVariables(); // a shell runs `complete` while a line is edited
  const std::initializer_list<std::string_view> readsNone = {"help", "version", "explain", "complete"};
  if (std::find(readsNone.begin(), readsNone.end(), name) == readsNone.end())
    if (const std::string wrong = configError(); !wrong.empty())
      return fail(
          Error{"E_CONFIG", wrong, "docs/configuration.md has the keys; TESSERA_CONFIG=off reads no file"});
  return command->run(args, commandLine);
}

} // namespace
} // namespace tessera::cli

int main(int argc, char **argv) {
  tessera::takeStandardStreams();
  std::signal(SIGPIPE, SIG_DFL);
  (void)tsrSetLogCallback(tessera::cli::showWarning, nullptr, TSR_LOG_WARNING);
  return tessera::cli::finish(
      [&] { return tessera::cli::tsr(std::span<char *const>(argv + 1, argc > 0 ? size_t(argc - 1) : 0)); });
}
