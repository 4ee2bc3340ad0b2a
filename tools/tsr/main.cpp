// tsr: runs and compiles tile programs from the shell. See docs/cli.md.
#include "tools/tsr/Commands.h"
#include "tools/tsr/Report.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>

namespace {

constexpr std::string_view helpText = R"(usage: tsr COMMAND ...

  run FILE       compile a kernel, run it on .npy files, write the results
  compile FILE   stop at one stage and show it: IR, assembly, object code, metadata
  backends       which backends there are, and which one would be used
  explain CODE   what an error code means and what to do about it
  version        versions of the library, the ABI and the compiler
  help [COMMAND] this text, or a command's

A first run:
  tsr run samples/saxpy/saxpy.py --in x=x.npy y=y.npy --scalar alpha=2.0 --out y=result.npy

Exit status: 0 it ran; 1 the program or the arguments are wrong; 2 the backend or the compiler failed.
)";

std::string join(std::span<char *const> words) {
  std::string line = "tsr";
  for (const char *w : words)
    line += fmt::format(" {}", w);
  return line;
}

} // namespace

int main(int argc, char **argv) {
  using namespace tessera::cli;
  std::signal(SIGPIPE, SIG_DFL);
  const std::span<char *const> all(argv + 1, argc > 0 ? size_t(argc - 1) : 0);
  std::string command = all.empty() ? "" : all[0];
  std::span<char *const> words = all.empty() ? all : all.subspan(1);

  char helpFlag[] = "--help";
  char *const askHelp[] = {helpFlag};
  if (command == "help" && !words.empty()) {
    command = words[0];
    words = askHelp;
  }
  if (command.empty() || command == "help" || command == "--help" || command == "-h") {
    std::fwrite(helpText.data(), 1, helpText.size(), command.empty() ? stderr : stdout);
    return command.empty() ? exitUser : exitOk;
  }
  if (command == "run") return runCommand(words, join(all));
  if (command == "compile") return compileCommand(words, join(all));
  if (command == "backends") return backendsCommand(words);
  if (command == "explain") return explainCommand(words);
  if (command == "version" || command == "--version") return versionCommand(words);
  return fail(Error{"E_UNKNOWN_COMMAND", fmt::format("there is no command {}", command),
                    suggest(command, {"run", "compile", "backends", "explain", "version", "help"})});
}
