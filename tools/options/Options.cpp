#include "tools/options/Options.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

const OptionSpec *find(const CommandSpec &spec, std::string_view name, char letter) {
  auto matches = [&](const OptionSpec &o) { return letter ? o.letter == letter : o.name == name; };
  for (const OptionSpec *o : spec.all())
    if (matches(*o)) return o;
  return nullptr;
}

std::string placeholder(const OptionSpec &o) {
  switch (o.kind) {
  case OptionSpec::Flag:
    return "";
  case OptionSpec::OptionalValue:
    return fmt::format("[={}]", o.value);
  default:
    return fmt::format(" {}", o.value);
  }
}

Error unknownOption(const CommandSpec &spec, std::string_view word) {
  std::vector<std::string> names;
  for (const OptionSpec *o : spec.all())
    if (!o->help.empty()) names.push_back(fmt::format("--{}", o->name));
  const std::string_view near = nearestName(word, names);
  return {"E_UNKNOWN_OPTION",
          near.empty() ? fmt::format("unknown option {} of {}", word, spec.words())
                       : fmt::format("unknown option {}, did you mean {}?", word, near),
          fmt::format("{} --help lists the options", spec.words())};
}

/// Splits NAME=VALUE at the first '='. Names are identifiers, or for dims products of identifiers (B*H) and
/// "...".
bool splitNamed(std::string_view word, std::string &name, std::string &value) {
  size_t eq = word.find('=');
  if (eq == std::string_view::npos || eq == 0) return false;
  name = word.substr(0, eq);
  value = word.substr(eq + 1);
  return name == "..." || std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '*' || c >= 0x80;
         });
}

} // namespace

const std::vector<OptionSpec> &commonOptions() {
  static const std::vector<OptionSpec> options = {
      {"color",
       0,
       OptionSpec::Value,
       "WHEN",
       "auto (on a terminal, unless NO_COLOR is set), always or never",
       {"auto", "always", "never"}},
      {"help", 'h', OptionSpec::Flag, "", "print this text"},
  };
  return options;
}

std::string spelling(const OptionSpec &o) {
  return (o.letter ? fmt::format("-{}, --{}", o.letter, o.name) : fmt::format("--{}", o.name)) +
         placeholder(o);
}

MaybeError parseArguments(const CommandSpec &spec, std::span<char *const> words, Arguments &out) {
  out = {};
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "--") {
      for (++i; i < words.size(); ++i)
        out.positional_.emplace_back(words[i]);
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      out.positional_.emplace_back(word);
      continue;
    }
    const bool isLong = word[1] == '-';
    size_t eq = isLong ? word.find('=') : std::string_view::npos;
    std::string_view shown = word.substr(0, eq);
    const OptionSpec *option = isLong             ? find(spec, shown.substr(2), 0)
                               : word.size() == 2 ? find(spec, "", word[1])
                                                  : nullptr;
    if (!option) return unknownOption(spec, shown);

    std::optional<std::string_view> value;
    if (eq != std::string_view::npos) value = word.substr(eq + 1);
    auto complain = [&](const char *what) {
      return Error{"E_OPTION_VALUE", fmt::format("{} {}", shown, what),
                   fmt::format("use {}{}", shown, placeholder(*option))};
    };
    auto nextWord = [&]() -> bool {
      if (value || i + 1 == words.size()) return value.has_value();
      value = words[++i];
      return true;
    };
    const bool isOnce = option->kind == OptionSpec::Value || option->kind == OptionSpec::OptionalValue;
    if (isOnce && out.has(option->name))
      return Error{"E_OPTION_REPEATED", fmt::format("{} is given twice", shown), ""};

    switch (option->kind) {
    case OptionSpec::Flag:
      if (value) return complain("takes no value");
      out.given_.push_back({std::string(option->name), "", ""});
      break;
    case OptionSpec::OptionalValue:
      out.given_.push_back({std::string(option->name), "", std::string(value.value_or(""))});
      break;
    case OptionSpec::Value:
    case OptionSpec::Repeated:
      if (!nextWord() || value->empty()) return complain("needs a value");
      out.given_.push_back({std::string(option->name), "", std::string(*value)});
      break;
    case OptionSpec::Named: {
      if (!nextWord()) return complain("needs NAME=VALUE");
      Arguments::Given g{std::string(option->name), "", ""};
      if (!splitNamed(*value, g.name, g.value) || g.value.empty())
        return complain(fmt::format("needs NAME=VALUE, not '{}'", *value).c_str());
      out.given_.push_back(g);
      // Further pairs may follow without repeating the option.
      while (i + 1 < words.size() && words[i + 1][0] != '-' && splitNamed(words[i + 1], g.name, g.value) &&
             !g.value.empty()) {
        out.given_.push_back(g);
        ++i;
      }
      break;
    }
    }
  }
  if (!out.wantsHelp() && out.positional_.size() > spec.maxPositional)
    return Error{"E_OPTION_VALUE",
                 fmt::format("unexpected argument '{}'", out.positional_[spec.maxPositional]),
                 fmt::format("usage: {} {}", spec.words(), spec.synopsis)};
  return std::nullopt;
}

bool Arguments::has(std::string_view option) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given &g) { return g.option == option; });
}

std::string Arguments::value(std::string_view option, std::string otherwise) const {
  for (const Given &g : given_)
    if (g.option == option) return g.value;
  return otherwise;
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  std::vector<std::string> out;
  for (const Given &g : given_)
    if (g.option == option) out.push_back(g.value);
  return out;
}

std::vector<NamedValue> Arguments::named(std::string_view option) const {
  std::vector<NamedValue> out;
  for (const Given &g : given_)
    if (g.option == option) out.emplace_back(g.name, g.value);
  return out;
}

std::string CommandSpec::words() const {
  return name.empty() ? std::string(program) : fmt::format("{} {}", program, name);
}

std::vector<const OptionSpec *> CommandSpec::all() const {
  std::vector<const OptionSpec *> out;
  for (const std::vector<OptionSpec> *table : {&options, common})
    for (const OptionSpec &o : *table)
      out.push_back(&o);
  return out;
}

std::string CommandSpec::help() const {
  std::string text =
      fmt::format("usage: {}{}{}\n\n{}\n", words(), synopsis.empty() ? "" : " ", synopsis, summary);
  text += "\noptions:\n";
  for (const OptionSpec *o : all())
    if (!o->help.empty()) text += fmt::format("  {:<32} {}\n", spelling(*o), o->help);
  if (!examples.empty()) text += fmt::format("\nexamples:\n{}", examples);
  return text;
}

bool parseInt(std::string_view text, int64_t &out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

} // namespace tessera::cli
