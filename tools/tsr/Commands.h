// The commands: their options and their functions. main() parses the words and handles --help and --color.
#pragma once
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"

namespace tessera::cli {

struct Command {
  CommandSpec spec;
  /// Returns the exit status. `commandLine` is the text as typed, for crash packs.
  int (*run)(const Arguments &, const std::string &commandLine);
};

extern const Command runCommand, compileCommand, kernelsCommand, inspectCommand, tuneCommand, profileCommand,
    backendsCommand, cacheCommand, newPluginCommand, explainCommand, versionCommand, helpCommand,
    completeCommand;

/// Returns the commands in the order of the help.
const std::vector<const Command *> &allCommands();

/// Returns null when there is no command of that name.
const Command *findCommand(std::string_view name);

/// Returns the text of `tsr help`: the commands, a first run, the exit statuses.
std::string overview();

} // namespace tessera::cli
