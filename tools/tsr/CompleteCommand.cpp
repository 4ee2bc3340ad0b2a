// `tsr complete`: lists what can come next on a command line, for the shells (completions/tsr.bash).
#include "core/cache/CachedCompiler.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/Source.h"
#include <algorithm>
#include <fmt/format.h>
#include <tessera/tessera.h>

namespace tessera::cli {
namespace {

using Words = std::vector<std::string>;

/// Replies that are not candidates: the shell then offers its own file or folder names.
const std::string fileNames = ":files", folderNames = ":folders";

Words optionNames(const CommandSpec &spec) {
  Words out;
  for (const OptionSpec *o : spec.all())
    out.push_back(fmt::format("--{}", o->name));
  return out;
}

Words backendNames() {
  Words out;
  tsr_backend_info_t info = {};
  info.struct_size = sizeof info;
  for (size_t i = 0; tsrGetBackendInfo(i, &info) == TSR_SUCCESS; ++i)
    out.emplace_back(info.name);
  return out;
}

/// Returns the signatures of the file on the line; none when there is no such file or it does not compile.
std::vector<Signature> signaturesOf(const Arguments &line) {
  std::vector<Signature> out;
  std::string source;
  std::vector<Diagnostic> diags;
  if (line.positional().empty() || readSource(line.positional()[0], source)) return out;
  const CompileStatus status = cachedCompiler()->signatures(source, line.positional()[0], out, diags);
  if (status != CompileStatus::Ok) out.clear();
  return out;
}

/// Returns the names of all plugins that were found or are known, without probing them.
Words pluginNames() {
  Words out;
  const char *report = nullptr;
  if (tsrGetLoadReport(0, &report) != TSR_SUCCESS) return out;
  const Json document = Json::parse(report, nullptr, false);
  if (document.is_discarded()) return out;
  for (const Json &row : document.value("plugins", Json::array()))
    if (row.contains("name")) out.push_back(row["name"].get<std::string>());
  return out;
}

/// Returns NAME=VALUE for each value in the space of the tunable NAME.
Words tunableValues(std::string_view name, const Arguments &line, const std::vector<Signature> &signatures) {
  Words out;
  const std::string chosen = line.value("kernel");
  for (const Signature &s : signatures)
    for (const auto &[tunable, space] : s.tunables)
      if (tunable == name && (chosen.empty() || chosen == s.kernel))
        for (int64_t value : space)
          out.push_back(fmt::format("{}={}", name, value));
  return out;
}

/// Returns the names before the '=' of --in, --out, --scalar, --dim and --set.
Words namesFor(const OptionSpec &option, const Arguments &line) {
  Words out;
  for (const Signature &s : signaturesOf(line)) {
    const std::string chosen = line.value("kernel");
    if (!chosen.empty() && chosen != s.kernel) continue;
    auto add = [&](const std::string &name) { out.push_back(name + "="); };
    for (const SignatureParam &p : s.params)
      if ((option.name == "in" && p.isTensor && !p.isResult) ||
          (option.name == "out" && p.isTensor && p.writes) || (option.name == "scalar" && !p.isTensor))
        add(p.name);
    if (option.name == "dim") std::for_each(s.dims.begin(), s.dims.end(), add);
    for (const auto &[name, space] : s.tunables)
      if (option.name == "set") add(name);
  }
  return out;
}

Words valuesFor(const OptionSpec &option, const Arguments &line, std::string_view current) {
  if (!option.choices.empty()) return {option.choices.begin(), option.choices.end()};
  if (option.kind == OptionSpec::Named) {
    if (current.find('=') == current.npos) return namesFor(option, line);
    if (option.name == "set")
      return tunableValues(current.substr(0, current.find('=')), line, signaturesOf(line));
    return option.value.starts_with("NAME=FILE") ? Words{fileNames} : Words{};
  }
  if (option.value == "FILE") return {fileNames};
  if (option.value == "DIR") return {folderNames};
  if (option.value == "BACKEND") return backendNames();
  if (option.value == "PLUGIN") return pluginNames();
  if (option.value == "TARGET") return cachedCompiler()->targets();
  Words out;
  if (option.value == "KERNEL")
    for (const Signature &s : signaturesOf(line))
      out.push_back(s.kernel);
  return out;
}

/// Returns the option whose value `current` is, if the words before it end in one.
const OptionSpec *pendingOption(const CommandSpec &spec, const Words &before) {
  for (size_t i = before.size(); i-- > 0;) {
    for (const OptionSpec *o : spec.all()) {
      const bool isIt = before[i] == fmt::format("--{}", o->name) ||
                        (o->letter && before[i] == fmt::format("-{}", o->letter));
      if (!isIt) continue;
      const bool takesNext = o->kind == OptionSpec::Value && i + 1 == before.size();
      return takesNext || o->kind == OptionSpec::Named ? o : nullptr;
    }
    // only pairs may follow --in and similar options
    if (before[i].find('=') == before[i].npos) return nullptr;
  }
  return nullptr;
}

Words candidates(const CommandSpec &spec, const Words &before, std::string_view &current) {
  Arguments line; // as far as it can be parsed
  std::vector<char *> pointers;
  Words copy = before;
  const OptionSpec *pending = pendingOption(spec, before);
  if (pending && !copy.empty() && copy.back().starts_with('-')) copy.pop_back();
  for (std::string &w : copy)
    pointers.push_back(w.data());
  (void)parseArguments(spec, pointers, line);

  if (!current.starts_with('-') && pending) return valuesFor(*pending, line, current);
  if (const size_t eq = current.find('='); current.starts_with("--") && eq != current.npos) {
    const Words asked = {std::string(current.substr(0, eq))};
    current.remove_prefix(eq + 1);
    for (const OptionSpec *o : spec.all())
      if (asked[0] == fmt::format("--{}", o->name)) return valuesFor(*o, line, current);
    return {};
  }
  if (current.starts_with('-')) return optionNames(spec);
  if (line.positional().size() >= spec.maxPositional) return optionNames(spec);
  if (spec.name == "help") {
    Words out;
    for (const Command *c : allCommands())
      out.emplace_back(c->spec.name);
    return out;
  }
  if (spec.name == "explain") {
    Words out;
    for (const CodeText &c : knownCodes())
      out.emplace_back(c.code);
    return out;
  }
  if (!spec.choices.empty())
    return line.positional().empty() ? Words{spec.choices.begin(), spec.choices.end()} : Words{};
  return {fileNames};
}

int complete(const Arguments &args, const std::string &) {
  Words words = args.positional();
  const std::string last = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  std::string_view current = last;
  Words found;
  if (words.empty()) {
    for (const Command *c : allCommands())
      found.emplace_back(c->spec.name);
  } else if (const Command *command = findCommand(words[0])) {
    found = candidates(command->spec, {words.begin() + 1, words.end()}, current);
  }
  for (const std::string &f : found)
    if (f.starts_with(':') || f.starts_with(current)) fmt::print("{}\n", f);
  return exitOk;
}

} // namespace

const Command completeCommand = {{"complete",
                                  "-- [WORD ...]",
                                  "what may come next on a command line, for the shell",
                                  "Prints what the last of the words of a command line (after tsr) could "
                                  "become, a candidate a line. The\n"
                                  "line :files or :folders asks the shell for its own names.",
                                  {},
                                  SIZE_MAX,
                                  ""},
                                 complete};

} // namespace tessera::cli
