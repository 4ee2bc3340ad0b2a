// The command line: a table per command says what it takes; everything else is an error that helps.
#pragma once
#include "tools/tsr/Report.h"
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

struct OptionSpec {
  enum Kind : uint8_t {
    Flag,          // --raw
    Value,         // --kernel NAME or --kernel=NAME, once
    Named,         // --in NAME=VALUE [NAME=VALUE ...], repeatable
    OptionalValue, // --print-ir-after-all or --print-ir-after-all=DIR
  };
  std::string_view name; // without dashes
  char letter;           // -o; 0 for none
  Kind kind;
  std::string_view
      value; // how the help names the value; completion goes by it too: FILE, DIR, KERNEL, BACKEND, TARGET
  std::string_view help;
  std::vector<std::string_view> choices = {}; // values to offer in completion, where they can be listed
};

/// What every command takes.
const std::vector<OptionSpec> &commonOptions();

struct CommandSpec {
  std::string_view name, synopsis, brief; // brief: a line of the list of commands
  std::string_view summary;
  std::vector<OptionSpec> options;
  size_t maxPositional;
  std::string_view examples;

  std::string help() const;
};

/// "-o, --output FILE": an option as the help and the manual write it.
std::string spelling(const OptionSpec &);

using NamedValue = std::pair<std::string, std::string>;

/// What one command line said, in the order it was said.
class Arguments {
public:
  bool has(std::string_view option) const;
  /// The value of a Value or OptionalValue option, else `otherwise`.
  std::string value(std::string_view option, std::string otherwise = "") const;
  std::vector<NamedValue> named(std::string_view option) const;
  const std::vector<std::string> &positional() const { return positional_; }
  bool wantsHelp() const { return has("help"); }

private:
  friend MaybeError parseArguments(const CommandSpec &, std::span<char *const>, Arguments &);
  struct Given {
    std::string option, name, value;
  };
  std::vector<Given> given_;
  std::vector<std::string> positional_;
};

/// Reads the words behind the command. `--` ends the options.
[[nodiscard]] MaybeError parseArguments(const CommandSpec &, std::span<char *const> words, Arguments &out);

/// Reads a whole decimal number; no sign of `+`, no blanks, no overflow.
[[nodiscard]] bool parseInt(std::string_view text, int64_t &out);

} // namespace tessera::cli
