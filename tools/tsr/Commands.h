// The commands: what each takes and what it does. main() reads the words and answers --help and --color.
#pragma once
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"

namespace tessera::cli {

struct Command {
  CommandSpec spec;
  /// Returns the exit status. `commandLine` is what was typed, for crash packs.
  int (*run)(const Arguments &, const std::string &commandLine);
};

extern const Command runCommand, compileCommand, kernelsCommand, inspectCommand, backendsCommand,
    cacheCommand, newPluginCommand, explainCommand, versionCommand, helpCommand, completeCommand;

/// In the order of the help.
const std::vector<const Command *> &allCommands();

/// Null when there is none of that name.
const Command *findCommand(std::string_view name);

/// What `tsr help` prints: the commands, a first run, the exit statuses.
std::string overview();

} // namespace tessera::cli
