// tsr-conformance: checks a plugin against the contract of plugin.h. See docs/extending/conformance.md.
#include "core/support/Escaped.h"
#include "core/support/OutputFile.h"
#include "tools/StandardStreams.h"
#include "tools/options/Options.h"
#include "tools/tsr-conformance/Report.h"
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

namespace tessera::kit {
namespace {

enum Exit : int { kPassed = 0, kFailed = 1, kUsage = 2 };

const std::vector<cli::OptionSpec> commonOptions = {
    {"help", 'h', cli::OptionSpec::Flag, "", "print this text"},
    {"version", 0, cli::OptionSpec::Flag, "", "print the version"},
};

const cli::CommandSpec spec = {
    "",
    "--plugin FILE [options]",
    "",
    R"(Loads a plugin and checks every promise of tessera/plugin.h in child processes, so that a plugin that crashes or
hangs fails that check only. Checks that need a device are skipped where there is none.

exit status: 0 passed, 1 a check failed or an expected failure is stale, 2 the arguments are wrong or the report
             cannot be written)",
    {
        {"plugin", 0, cli::OptionSpec::Value, "FILE", "the plugin, libtessera-NAME.so"},
        {"expect", 0, cli::OptionSpec::Value, "FILE",
         "YAML or JSON: checks that are unsupported or expected to fail, each with a reason"},
        {"only", 0, cli::OptionSpec::Repeated, "PATTERN",
         "only the checks whose id matches, as the shell matches names; may be repeated"},
        {"image", 0, cli::OptionSpec::Value, "FILE",
         "code of the kernel saxpy for this backend, for launch.image"},
        {"metadata", 0, cli::OptionSpec::Value, "FILE", "its metadata document"},
        {"ranks", 0, cli::OptionSpec::Value, "N", "ranks of collectives, as threads (default: 3)"},
        {"launcher", 0, cli::OptionSpec::Value, "COMMAND",
         "starts the ranks of collectives as processes: 'mpirun -n 2'"},
        {"patience", 0, cli::OptionSpec::Value, "FACTOR", "multiplies every time limit"},
        {"json", 0, cli::OptionSpec::Value, "FILE",
         "write the report there; -: to standard output, in place of the table"},
        {"report", 0, cli::OptionSpec::Flag, "",
         "write the report beside the plugin, where tsr backends finds it"},
        {"verbose", 'v', cli::OptionSpec::Flag, "", "show the plugin's output, and each check's demand"},
        {"list", 0, cli::OptionSpec::Flag, "", "print every check and its demand"},
        // Internal: each child process, which this program or the launcher starts, gets these.
        {"child", 0, cli::OptionSpec::Value, "FOLDER", ""},
        {"launched", 0, cli::OptionSpec::Flag, "", ""},
    },
    SIZE_MAX,
    R"(  tsr-conformance --plugin build/libtessera-blue.so
  tsr-conformance --plugin libtessera-blue.so --expect conformance.yaml --report
  tsr-conformance --plugin libtessera-collective-openmpi.so --launcher 'mpirun -n 2'
)",
    "tsr-conformance",
    &commonOptions};

int usage(const std::string &what, const std::string &fix = "tsr-conformance --help lists the options") {
  const std::string text = fmt::format("tsr-conformance: {}\n  {}\n", what, fix);
  std::fputs(escaped(text, Lines::Keep).c_str(), stderr); // a failure to print this cannot be reported
  return kUsage;
}

struct Options {
  ChildOptions child;
  std::vector<std::string> only, ids;
  std::string expect, json, childFolder;
  bool writesReport = false, isVerbose = false;
};

int listChecks() {
  for (const Group *group : allGroups())
    for (const Check &check : group->checks)
      fmt::print("{:<32} {}\n", check.id, check.demand);
  return kPassed;
}

/// Fills `o` and returns -1, or returns the exit status.
int parse(int argc, char **argv, Options &o) {
  cli::Arguments given;
  if (auto e = cli::parseArguments(spec, {argv + 1, argv + argc}, given)) return usage(e->message, e->hint);
  if (given.wantsHelp()) {
    fmt::print("{}", spec.help());
    return kPassed;
  }
  if (given.has("version")) {
    fmt::print("tsr-conformance {}, plugin ABI {}.{}\n", TESSERA_VERSION, TSR_PLUGIN_ABI_MAJOR,
               TSR_PLUGIN_ABI_MINOR);
    return kPassed;
  }
  if (given.has("list")) return listChecks();

  SubjectOptions &s = o.child.subject;
  s.plugin = given.value("plugin");
  s.image = given.value("image");
  s.metadata = given.value("metadata");
  s.isLaunched = given.has("launched");
  o.expect = given.value("expect");
  o.json = given.value("json");
  o.only = given.values("only");
  o.childFolder = given.value("child");
  o.writesReport = given.has("report");
  o.child.isVerbose = o.isVerbose = given.has("verbose");
  if (const std::string ranks = given.value("ranks"); !ranks.empty()) {
    int64_t n = 0;
    if (!cli::parseInt(ranks, n) || n < 1 || n > 64)
      return usage(fmt::format("--ranks {}: expected 1 to 64", ranks));
    s.ranks = static_cast<int>(n);
  }
  if (const std::string patience = given.value("patience"); !patience.empty()) {
    char *end = nullptr;
    o.child.patience = std::strtod(patience.c_str(), &end);
    if (*end || !(o.child.patience > 0))
      return usage(fmt::format("--patience {}: expected a number above 0", patience));
  }
  o.ids = given.positional();
  if (!o.ids.empty() && o.childFolder.empty()) return usage(fmt::format("'{}' is no option", o.ids[0]));
  if (s.plugin.empty()) return usage("no plugin is named", "tsr-conformance --plugin libtessera-NAME.so");
  if (s.image.empty() != s.metadata.empty()) return usage("--image and --metadata go together");
  for (const std::string &file : {s.plugin, s.image, s.metadata, o.expect}) {
    if (file.empty()) continue;
    if (access(file.c_str(), R_OK) != 0)
      return usage(fmt::format("{} cannot be read", file), "name a file that is there");
    std::error_code error;
    if (!std::filesystem::is_regular_file(file,
                                          error)) // it is read more than once; a pipe would be waited for
      return usage(fmt::format("{} cannot be read: it is no regular file", file), "name a file that is one");
  }
  s.plugin = std::filesystem::absolute(s.plugin); // dlopen would search the library path for a bare name
  std::istringstream words(given.value("launcher"));
  for (std::string word; words >> word;)
    o.child.launcher.push_back(word);
  return -1;
}

int run(int argc, char **argv) {
  Options o;
  if (const int status = parse(argc, argv, o); status >= 0) return status;
  if (!o.childFolder.empty()) return childMain(o.child.subject, o.childFolder, o.ids);
  Expectations expectations;
  if (!o.expect.empty()) {
    Expected<Expectations> read = Expectations::read(o.expect);
    if (!read) return usage(read.error().message, "docs/extending/conformance.md shows such a file");
    expectations = std::move(*read);
  }
  for (const std::string &pattern : o.only) {
    bool isKnown = false;
    for (const Group *group : allGroups())
      for (const Check &check : group->checks)
        isKnown |= matches(pattern, check.id);
    if (!isKnown)
      return usage(fmt::format("--only {}: there is no such check", pattern),
                   "tsr-conformance --list shows them");
  }
  auto isWanted = [&](const Check &check) {
    for (const std::string &pattern : o.only)
      if (matches(pattern, check.id)) return true;
    return o.only.empty();
  };
  const char *noColour = std::getenv("NO_COLOR");
  const bool isColoured = isatty(1) && !(noColour && *noColour), isTable = o.json != "-";
  Table table(isColoured, o.isVerbose);
  const Run result = runAll(o.child, expectations, isWanted, [&](const Outcome &outcome) {
    if (isTable) table.add(outcome);
  });
  table.finish();
  if (isTable) printSummary(result, isColoured);
  std::vector<std::string> files;
  if (!o.json.empty()) files.push_back(o.json);
  if (o.writesReport) files.push_back(reportPathOf(o.child.subject.plugin));
  for (const std::string &file : files) {
    const std::string text = reportOf(result, o.child.subject.plugin)
                                 .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                             "\n";
    if (file == "-") {
      fmt::print("{}", text);
      continue;
    }
    if (auto error = writeFile(file, text))
      return usage(fmt::format("{} cannot be written: {}", file, error->message), "name another with --json");
  }
  return result.isGood() ? kPassed : kFailed;
}

} // namespace
} // namespace tessera::kit

int main(int argc, char **argv) {
  using namespace tessera;
  takeStandardStreams();
  const int status = withStandardOutput([&] { return kit::run(argc, argv); }, kit::kUsage);
  const std::string why = standardOutputError();
  return why.empty() ? status : kit::usage("standard output: " + why, "what was printed is not complete");
}
