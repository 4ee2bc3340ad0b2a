// tsr-conformance: holds a plugin against the contract of plugin.h. docs/extending/conformance.md.
#include "core/support/Escaped.h"
#include "core/support/OutputFile.h"
#include "tools/StandardStreams.h"
#include "tools/tsr-conformance/Report.h"
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <getopt.h>
#include <sstream>
#include <unistd.h>

namespace tessera::kit {
namespace {

enum Exit : int { kPassed = 0, kFailed = 1, kUsage = 2 };

constexpr std::string_view kHelp = R"(usage: tsr-conformance --plugin FILE [options]

Loads a plugin and holds it against every promise of tessera/plugin.h, in processes of its own, so that a plugin that
crashes or hangs fails a check and nothing else. Without a device what needs one is skipped.

options:
  --plugin FILE        the plugin, libtessera-NAME.so
  --expect FILE        YAML or JSON: checks that are unsupported or expected to fail, each with a reason
  --only PATTERN       only the checks whose id matches, as the shell matches names; may be repeated
  --image FILE         code of the kernel saxpy for this backend, for launch.image
  --metadata FILE      its metadata document
  --ranks N            ranks of collectives, as threads (default: 3)
  --launcher COMMAND   starts the ranks of collectives as processes: 'mpirun -n 2'
  --patience FACTOR    multiplies every time limit
  --json FILE          write the report there; -: to standard output, in place of the table
  --report             write the report beside the plugin, where tsr backends finds it
  --verbose            show what the plugin prints, and each check's demand
  --list               print every check and what it demands
  --help, --version    print this text, or the version

exit status: 0 passed, 1 a check failed or an expected failure is stale, 2 the arguments are wrong or the report
             cannot be written

examples:
  tsr-conformance --plugin build/libtessera-blue.so
  tsr-conformance --plugin libtessera-blue.so --expect conformance.yaml --report
  tsr-conformance --plugin libtessera-collective-openmpi.so --launcher 'mpirun -n 2'
)";

int usage(const std::string &what, const std::string &fix = "tsr-conformance --help lists the options") {
  const std::string text = fmt::format("tsr-conformance: {}\n  {}\n", what, fix);
  std::fputs(escaped(text, Lines::Keep).c_str(), stderr); // where that fails nobody is left to be told
  return kUsage;
}

struct Options {
  ChildOptions child;
  std::vector<std::string> only, ids;
  std::string expect, json, childFolder;
  bool writesReport = false, isVerbose = false;
};

/// -1: go on; else the exit status.
int parse(int argc, char **argv, Options &o) {
  enum {
    Plugin = 256,
    Expect,
    Only,
    Image,
    Metadata,
    Ranks,
    Launcher,
    Patience,
    JsonFile,
    ReportFlag,
    Verbose,
    List,
    Help,
    Version,
    Child,
    Launched
  };
  const option table[] = {{"plugin", required_argument, nullptr, Plugin},
                          {"expect", required_argument, nullptr, Expect},
                          {"only", required_argument, nullptr, Only},
                          {"image", required_argument, nullptr, Image},
                          {"metadata", required_argument, nullptr, Metadata},
                          {"ranks", required_argument, nullptr, Ranks},
                          {"launcher", required_argument, nullptr, Launcher},
                          {"patience", required_argument, nullptr, Patience},
                          {"json", required_argument, nullptr, JsonFile},
                          {"report", no_argument, nullptr, ReportFlag},
                          {"verbose", no_argument, nullptr, Verbose},
                          {"list", no_argument, nullptr, List},
                          {"help", no_argument, nullptr, Help},
                          {"version", no_argument, nullptr, Version},
                          {"child", required_argument, nullptr, Child},
                          {"launched", no_argument, nullptr, Launched},
                          {}};
  opterr = 0;
  SubjectOptions &s = o.child.subject;
  std::string launcher;
  int index = 0;
  for (int c; (c = getopt_long(argc, argv, "+:", table, &index)) != -1;) {
    char *end = nullptr;
    if (optarg && !*optarg && c >= Plugin) return usage(fmt::format("--{} is empty", table[index].name));
    switch (c) {
    case Plugin:
      s.plugin = optarg;
      break;
    case Expect:
      o.expect = optarg;
      break;
    case Only:
      o.only.emplace_back(optarg);
      break;
    case Image:
      s.image = optarg;
      break;
    case Metadata:
      s.metadata = optarg;
      break;
    case Ranks:
      s.ranks = static_cast<int>(std::strtol(optarg, &end, 10));
      if (*end || s.ranks < 1 || s.ranks > 64)
        return usage(fmt::format("--ranks {}: expected 1 to 64", optarg));
      break;
    case Launcher:
      launcher = optarg;
      break;
    case Patience:
      o.child.patience = std::strtod(optarg, &end);
      if (*end || !(o.child.patience > 0))
        return usage(fmt::format("--patience {}: expected a number above 0", optarg));
      break;
    case JsonFile:
      o.json = optarg;
      break;
    case ReportFlag:
      o.writesReport = true;
      break;
    case Verbose:
      o.child.isVerbose = o.isVerbose = true;
      break;
    case List:
      for (const Group *group : allGroups())
        for (const Check &check : group->checks)
          fmt::print("{:<32} {}\n", check.id, check.demand);
      return kPassed;
    case Help:
      fmt::print("{}", kHelp);
      return kPassed;
    case Version:
      fmt::print("tsr-conformance {}, plugin ABI {}.{}\n", TESSERA_VERSION, TSR_PLUGIN_ABI_MAJOR,
                 TSR_PLUGIN_ABI_MINOR);
      return kPassed;
    case Child:
      o.childFolder = optarg;
      break;
    case Launched:
      s.isLaunched = true;
      break;
    case ':':
      return usage(fmt::format("{} needs a value", argv[optind - 1]));
    default:
      return usage(fmt::format("unknown option {}", argv[optind - 1]));
    }
  }
  o.ids.assign(argv + optind, argv + argc);
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
  s.plugin = std::filesystem::absolute(s.plugin); // dlopen searches for bare names
  std::istringstream words(launcher);
  for (std::string word; words >> word;)
    o.child.launcher.push_back(word);
  return -1;
}

int run(int argc, char **argv) {
  Options o;
  if (const int status = parse(argc, argv, o); status >= 0) return status;
  if (!o.childFolder.empty()) return childMain(o.child.subject, o.childFolder, o.ids);
  Expectations expectations;
  std::string why;
  if (!o.expect.empty() && !Expectations::read(o.expect, expectations, why))
    return usage(why, "docs/extending/conformance.md shows such a file");
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
