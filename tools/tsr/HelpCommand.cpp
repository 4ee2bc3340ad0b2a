// `tsr help`: prints the tables of options as text, as the manual page, or as JSON for other programs.
#include "tools/tsr/Commands.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/ManPage.h"
#include <fmt/format.h>

namespace tessera::cli {
namespace {

Json describe(const OptionSpec &o) {
  Json j = {{"name", o.name}, {"spelling", spelling(o)}, {"help", o.help}};
  if (!o.choices.empty()) j["choices"] = o.choices;
  return j;
}

Json describe(const CommandSpec &spec) {
  Json options = Json::array();
  for (const OptionSpec &o : spec.options)
    options.push_back(describe(o));
  return {{"name", spec.name}, {"synopsis", spec.synopsis}, {"summary", spec.summary}, {"options", options}};
}

int help(const Arguments &args, const std::string &) {
  if (!args.positional().empty()) {
    const std::string &name = args.positional()[0];
    const Command *command = findCommand(name);
    if (!command)
      return fail(
          Error{"E_UNKNOWN_COMMAND", fmt::format("there is no command {}", name), "tsr help lists them"});
    fmt::print("{}", command->spec.help());
  } else if (args.has("json")) {
    Json list = Json::array();
    for (const Command *c : allCommands())
      list.push_back(describe(c->spec));
    printJson(list);
  } else {
    fmt::print("{}", args.has("man") ? manPage() : overview());
  }
  return exitOk;
}

} // namespace

const Command helpCommand = {
    {"help",
     "[COMMAND | --man | --json]",
     "the list of commands, or one command's options",
     "Prints the list of commands, or one command's options and examples.",
     {{"man", 0, OptionSpec::Flag, "", "the manual page tsr(1), as mdoc source"},
      {"json", 0, OptionSpec::Flag, "", "every command and its options, as a JSON document"}},
     1,
     "  tsr help run\n"},
    help};

} // namespace tessera::cli
