#include "tools/tsr/ManPage.h"
#include "tools/tsr/Commands.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct Entry {
  std::string_view name, text;
};

constexpr std::string_view head = R"(.Dd $Mdocdate$
.Dt TSR 1
.Os
.Sh NAME
.Nm tsr
.Nd run and compile tile programs
.Sh SYNOPSIS
.Nm
.Ar command
.Op Ar argument ...
.Sh DESCRIPTION
.Nm
runs and compiles programs in the tile language.
Options that take NAME=VALUE may be repeated and may take several pairs;
.Sy "\-\-option VALUE"
and
.Sy "\-\-option=VALUE"
are the same, and
.Sy "\-\-"
ends the options.
.Pp
Every command takes:
)";

constexpr Entry environment[] = {
    {"TESSERA_BACKEND", "The backend to use; one that cannot be used is an error."},
    {"TESSERA_ARCH", "Which device of an emulated backend, where its name has none; +check may follow."},
    {"TESSERA_MAPPER", "The mapper, which makes the choices that programs leave open: NAME or "
                       "NAME(ARGUMENTS); --mapper overrides it."},
    {"TESSERA_BACKENDS_DISABLE", "Names of backends that are not used, separated by commas or spaces."},
    {"TESSERA_PLUGIN_PATH",
     "Absolute directories with plugins, separated by colons, before the library's own."},
    {"TESSERA_PROBE", "How backends are asked for their devices: spawn (a process of its own), inproc, or "
                      "note: not before one is "
                      "chosen, by its manifest alone."},
    {"TESSERA_PLUGIN_LOG",
     "A file to which the plugin loader appends what it does, or 1 for standard error."},
    {"TESSERA_NUMERICS", "The numerics profile where none is given."},
    {"TESSERA_CONFIG",
     "The configuration file, or off; else ./tessera.yaml, ~/.config/tessera/tessera.yaml or "
     "/etc/tessera/tessera.yaml. It sets what the other variables set, and they take precedence."},
    {"TESSERA_CPU_INLINE",
     "on, which is the default, or off: CPU work never runs in a thread that queues it or waits for it."},
    {"TESSERA_CPU_PIN",
     "on, or off, which is the default: binds each worker thread of the CPU backend to a core."},
    {"TESSERA_DEBUG", "on, or off, which is the default: kernels are compiled with their print and assert_."},
    {"TESSERA_CACHE_DIR", "The directory of the compile cache, or off."},
    {"TESSERA_TUNED", "The look-up file of tuned configurations, or off."},
    {"TESSERA_CACHE_SIZE",
     "Its limit in bytes; K, M and G may follow. 1G where it is not set; 0 keeps nothing."},
    {"TESSERA_CRASH_DIR", "Where crash packs go; else below TMPDIR, else /tmp."},
    {"TESSERA_SUPERVISE", "Set to 0, commands run in one process, for debuggers: no crash packs."},
    {"TESSERA_PYTHON_TRACEBACK", "full: the frames of the Python package stay in tracebacks."},
    {"NO_COLOR", "Set to anything but the empty string: no colours, unless --color says otherwise."},
};

constexpr Entry statuses[] = {
    {"0", "It ran."},
    {"1", "The program or the arguments are wrong; diagnostics are on standard error."},
    {"2", "The backend or the compiler failed; a crash pack was left and is named on standard error."},
};

/// Escapes text so that roff takes it literally: backslashes, hyphens that must stay ASCII, and a leading
/// control character.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

/// Writes each sentence on lines of its own, as mdoc requires, of at most 80 characters.
std::string prose(std::string_view text) {
  std::string out;
  size_t column = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string word = plain(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (column > 0) out += column + 1 + word.size() > 80 ? "\n" : " ";
    column = out.empty() || out.back() == '\n' ? word.size() : column + 1 + word.size();
    out += word;
    if (!rest.empty() && word.ends_with('.')) {
      out += '\n';
      column = 0;
    }
  }
  return out + "\n";
}

/// Quotes one word for a macro's argument.
std::string quotedWord(std::string_view text) { return fmt::format("\"{}\"", plain(text)); }

std::string options(const std::vector<OptionSpec> &table) {
  if (table.empty()) return "";
  std::string out = ".Bl -tag -width Ds\n";
  for (const OptionSpec &o : table)
    out += fmt::format(".It Sy {}\n{}", quotedWord(spelling(o)), prose(o.help));
  return out + ".El\n";
}

std::string section(const CommandSpec &spec) {
  std::string out = fmt::format(
      ".Ss tsr {}\n.Bd -literal -compact\n{}\n.Ed\n.Pp\n{}", plain(spec.name),
      plain(fmt::format("tsr {}{}{}", spec.name, spec.synopsis.empty() ? "" : " ", spec.synopsis)),
      prose(spec.summary));
  out += options(spec.options);
  return out;
}

template <size_t N> std::string list(const Entry (&entries)[N], std::string_view macro) {
  std::string out = ".Bl -tag -width Ds\n";
  for (const Entry &e : entries)
    out += fmt::format(".It {} {}\n{}", macro, e.name, prose(e.text));
  return out + ".El\n";
}

} // namespace

std::string manPage() {
  std::string out(head);
  out += options(commonOptions());
  out += ".Sh COMMANDS\n";
  for (const Command *c : allCommands())
    out += section(c->spec);
  out += ".Sh ENVIRONMENT\n" + list(environment, "Ev");
  out += ".Sh EXIT STATUS\n" + list(statuses, "Sy");
  out += ".Sh EXAMPLES\n.Bd -literal\n";
  for (const Command *c : allCommands())
    out += plain(c->spec.examples);
  out += ".Ed\n.Sh DIAGNOSTICS\nEvery error has a code, which\n.Ic tsr explain\nexplains.\n";
  return out;
}

} // namespace tessera::cli
