// The command lines of all tools. A table lists the options of a command; parsing, the help text, completion
// and the manual page are derived from it (docs/decisions/0022).
#pragma once
#include "core/support/Expected.h"
#include <cstdint>
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
    Repeated,      // --only PATTERN, any number of times
    Named,         // --in NAME=VALUE [NAME=VALUE ...], repeatable
    OptionalValue, // --print-ir-after-all or --print-ir-after-all=DIR
  };
  std::string_view name; // without dashes
  char letter;           // -o; 0 for none
  Kind kind;
  std::string_view
      // how the help names the value; completion also depends on it: FILE, DIR, KERNEL, BACKEND, TARGET
      value;
  std::string_view help;                      // empty: internal, so that help and completion leave it out
  std::vector<std::string_view> choices = {}; // values that completion offers, where they can be listed
};

/// The options of every command of tsr.
const std::vector<OptionSpec> &commonOptions();

struct CommandSpec {
  std::string_view name, synopsis, brief; // name: empty if the program has one command; brief: one line
  std::string_view summary;
  std::vector<OptionSpec> options;
  size_t maxPositional;
  std::string_view examples;
  std::string_view program = "tsr";
  const std::vector<OptionSpec> *common = &commonOptions(); // listed after `options`
  std::vector<std::string_view> choices = {}; // of the first word, for completion; empty: a file

  /// Returns the words before the arguments: "tsr run", or "tsr-conformance".
  std::string words() const;
  /// Returns the options of this command, then the common ones.
  std::vector<const OptionSpec *> all() const;
  std::string help() const;
};

/// Returns an option as the help and the manual write it: "-o, --output FILE".
std::string spelling(const OptionSpec &);

using NamedValue = std::pair<std::string, std::string>;

/// A parsed command line, in the order of its words.
class Arguments {
public:
  bool has(std::string_view option) const;
  /// Returns the value of a Value or OptionalValue option, else `otherwise`.
  std::string value(std::string_view option, std::string otherwise = "") const;
  /// Returns the values of a Repeated option.
  std::vector<std::string> values(std::string_view option) const;
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

/// Parses the words after the command into `out`. `--` ends the options.
[[nodiscard]] MaybeError parseArguments(const CommandSpec &, std::span<char *const> words, Arguments &out);

/// Parses a whole decimal number. Accepts no `+`, no blanks and no overflow.
[[nodiscard]] bool parseInt(std::string_view text, int64_t &out);

} // namespace tessera::cli
