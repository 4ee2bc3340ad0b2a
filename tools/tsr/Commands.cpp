#include "tools/tsr/Commands.h"
#include <fmt/format.h>

namespace tessera::cli {

const std::vector<const Command *> &allCommands() {
  static const std::vector<const Command *> commands = {
      &runCommand,     &compileCommand,  &kernelsCommand,  &inspectCommand,   &tuneCommand,
      &profileCommand, &backendsCommand, &cacheCommand,    &newPluginCommand, &explainCommand,
      &versionCommand, &helpCommand,     &completeCommand,
  };
  return commands;
}

const Command *findCommand(std::string_view name) {
  for (const Command *c : allCommands())
    if (c->spec.name == name) return c;
  return nullptr;
}

std::string overview() {
  std::string text = "usage: tsr COMMAND ...\n\n";
  for (const Command *c : allCommands())
    text += fmt::format("  {:<14} {}\n", c->spec.name, c->spec.brief);
  text += "\nA first run:\n"
          "  tsr run samples/saxpy/saxpy.py --in x=x.npy y=y.npy --scalar alpha=2.0 --out y=result.npy\n\n"
          "tsr help COMMAND shows a command's options and examples.\n"
          "Exit status: 0 it ran; 1 the program or the arguments are wrong; 2 the backend or the compiler "
          "failed.\n";
  return text;
}

} // namespace tessera::cli
