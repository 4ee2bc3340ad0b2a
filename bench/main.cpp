// tessera-bench: runs each measurement in a process of its own, bound to one core and then to all cores. The
// binding happens before exec, so that every library counts the same number of cores, whichever way it
// counts.
#include "bench/Benchmarks.h"
#include "bench/Machine.h"
#include "bench/Report.h"
#include "core/support/OutputFile.h"
#include "tools/options/Options.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseResult, suite, family, name, operations, bytes, limit, contenders,
                                   samples, ok, wrong)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Table, title, notes, columns, rows, ok, cases, streams, peak)

namespace {

/// The options that some measurements take only.
enum Takes : unsigned { kOnly = 1, kSeed = 2, kFull = 4, kSamples = 8 };

struct Benchmark {
  const char *name;
  // each returns one table; both run in one process; the second may be null
  Table (*parts[2])(const Settings &);
  bool oneCoreToo;
  unsigned takes = 0; // a set of Takes
};
constexpr Benchmark benchmarks[] = {{"launch", {benchLaunch}, false},
                                    {"gemm", {benchGemm}, true, kOnly},
                                    {"batched", {benchBatched}, true, kOnly},
                                    {"narrow", {benchNarrow}, true, kOnly},
                                    {"fused", {benchFused}, true, kOnly},
                                    {"attention", {benchAttention}, true, kOnly},
                                    {"norm", {benchNorm}, true, kOnly},
                                    {"elementwise", {benchElementwise}, true, kOnly},
                                    {"reduce", {benchReduce}, true, kOnly},
                                    {"strict", {benchStrict}, true, kOnly},
                                    {"random", {benchRandom}, true, kOnly | kSeed},
                                    {"sweep", {benchSweep}, true, kOnly},
                                    {"survey", {benchSurvey}, true, kOnly | kFull},
                                    {"choice", {benchChoice}, true, kOnly | kSeed | kFull},
                                    {"saxpy", {benchSaxpy}, true, kSamples},
                                    {"compile", {benchCompile, benchCompileGrowth}, false, kFull | kSamples},
                                    {"transformer", {benchTransformer}, true, kFull | kSamples},
                                    {"cliffs", {benchCliffs}, true, kOnly},
                                    {"collective", {benchCollective}, false},
                                    {"plugin", {benchPluginCalls, benchPluginFinding}, false}};

struct Options {
  std::vector<std::string> names;
  bool record = false, json = false;
  std::string html;   // the report's file; empty: none
  int threads = 0;    // 0: one, and all
  std::string worker; // set in the child: the measurement to run
  Settings settings;
};

std::vector<Table> runHere(const Benchmark &b, const Settings &settings) {
  std::vector<Table> tables;
  for (auto part : b.parts)
    if (part) tables.push_back(part(settings));
  return tables;
}

/// Runs one measurement in a child bound to `cores` cores; throws when it fails.
std::vector<Table> runBound(const Benchmark &b, const Options &options, int cores) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const std::string number = std::to_string(cores), seed = std::to_string(options.settings.seed);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    restrictToCores(cores);
    ::setenv("OMP_NUM_THREADS", number.c_str(), 1);
    // OpenBLAS and BLIS select kernels by the processor's model number, and slow ones if they do not know the
    // number. Settings of the environment may have been made for another purpose.
    for (const char *name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE"})
      ::unsetenv(name);
    if (const char *core = blasCoreType()) ::setenv("OPENBLAS_CORETYPE", core, 1);
    if (const char *arch = blisArchitecture()) ::setenv("BLIS_ARCH_TYPE", arch, 1);
    std::vector<const char *> words = {"tessera-bench",
                                       "--worker",
                                       b.name,
                                       "--cores",
                                       number.c_str(),
                                       "--samples",
                                       options.settings.samples.c_str(),
                                       "--only",
                                       options.settings.only.c_str(),
                                       "--seed",
                                       seed.c_str()};
    if (options.settings.full) words.push_back("--full");
    words.push_back(nullptr);
    ::execv("/proc/self/exe", const_cast<char *const *>(words.data()));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(fmt::format("{} on {} cores failed", b.name, cores));
  return nlohmann::json::parse(text).get<std::vector<Table>>();
}

/// Returns how many programs want a core before this one joins them: other load affects the times.
std::string loadAverage() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? fmt::format("{:.1f}", load) : "unknown";
}

std::string today() {
  char day[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(day, sizeof day, "%Y-%m-%d", std::gmtime(&now));
  return day;
}

void check(const MaybeError &error, const std::string &path) {
  if (error) throw std::runtime_error(fmt::format("{}: {}", path, error->message));
}

/// Figures of processors without AVX-512 are beside those of processors with it.
std::string recordFolder() {
  return __builtin_cpu_supports("avx512f") ? "docs/measurements/" : "docs/measurements/avx2/";
}

void record(const std::string &name, const std::string &load, const std::vector<Table> &tables) {
  std::filesystem::create_directories(recordFolder());
  std::string page =
      fmt::format("# Measured: {0}\n\nWritten by `./dev bench {0} --record` on {1}, on {2}, at a "
                  "load average of {3} before it began.\n",
                  name, today(), describeProcessor(), load);
  for (const Table &t : tables)
    page += "\n" + t.markdown();
  const std::string path = recordFolder() + name + ".md";
  check(writeFile(path, page), path);
}

int run(const Options &options) {
  OutputFile report; // opened before hours of measuring, not after them
  if (!options.html.empty()) check(report.open(options.html), options.html);
  bool ok = true;
  nlohmann::json all = {{"machine",
                         {{"processor", processorName()},
                          {"microarchitecture", microarchitecture()},
                          {"cores", usableCores()}}}};
  std::vector<Table> reported;
  for (const Benchmark &b : benchmarks) {
    if (std::find(options.names.begin(), options.names.end(), b.name) == options.names.end()) continue;
    std::vector<int> counts = {usableCores()};
    if (b.oneCoreToo && counts[0] > 1) counts.insert(counts.begin(), 1);
    if (options.threads) counts = {options.threads};
    std::vector<Table> tables;
    const std::string load = loadAverage();
    for (int cores : counts)
      for (Table &table : runBound(b, options, cores)) {
        ok = ok && table.ok;
        if (!options.json) fmt::print("{}\n", table.text());
        std::fflush(stdout);
        tables.push_back(std::move(table));
      }
    all[b.name] = tables;
    reported.insert(reported.end(), tables.begin(), tables.end());
    if (options.record) record(b.name, load, tables);
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  if (!options.html.empty()) {
    check(
        report.write(htmlReport(fmt::format("Measured on {}, {}.", today(), describeProcessor()), reported)),
        options.html);
    check(report.finish(), options.html);
    check(report.commit(), options.html);
  }
  return ok ? 0 : 1;
}

const std::vector<cli::OptionSpec> common = {{"help", 'h', cli::OptionSpec::Flag, "", "print this text"}};

const cli::CommandSpec spec = {
    "",
    "[NAME ...] [options]",
    "",
    R"(Measures on one core and on all of them, each in a process of its own. Without a name: launch and gemm.
  launch       what tsrLaunch costs the host, and the round trip of a small kernel
  gemm         products of f32 and f64 beside OpenBLAS, BLIS and oneDNN, and the measured FMA peak
  batched      batches of small products beside libxsmm and oneDNN
  narrow       products of bf16 and i8 beside oneDNN
  fused        gelu(a @ b + bias) beside oneDNN
  attention    of many queries and of one, beside oneDNN's products and softmax
  norm         softmax and layer_norm beside oneDNN
  elementwise  gelu, tanh, exp, and small calls, beside oneDNN
  reduce       sums beside OpenBLAS, histograms beside private tables in C++
  random       300 products of random shapes beside the same peers
  sweep        extents that grow by one: no jumps in the time
  survey       1421 products and attention, of every dtype, beside the same peers: the slowest first
  choice       60 random shapes of rows and 60 products: every variant and body is forced, the choice and its predicted time judged
  saxpy        beside the measured stream limit
  compile      the samples by phase, programs that grow, and what the cache answers
  transformer  an f32 transformer block beside OpenBLAS calls and loops
  cliffs       small batches, vectors, rows and calls that were slow by orders of magnitude, beside libraries and loops
  collective   all-reduce among two threads beside OpenMPI's among two processes
  plugin       a call through a plugin's table beside a virtual call; what finding plugins costs)",
    {{"full", 0, cli::OptionSpec::Flag, "", "the large sizes too; survey and choice: every row"},
     {"record", 0, cli::OptionSpec::Flag, "",
      "write docs/measurements/NAME.md, without AVX-512 docs/measurements/avx2/NAME.md"},
     {"json", 0, cli::OptionSpec::Flag, "", "print all tables as one JSON object, with every round's time"},
     {"html", 0, cli::OptionSpec::Value, "FILE", "write a report with drawings, in one file"},
     {"only", 0, cli::OptionSpec::Value, "PATTERN",
      "only the cases of suites whose SUITE/NAME matches, a regular expression"},
     {"threads", 0, cli::OptionSpec::Value, "N", "on N cores only (default: on one, and on all)"},
     {"seed", 0, cli::OptionSpec::Value, "N",
      "of the random shapes, from 1 (default: another one each time)"},
     {"samples", 0, cli::OptionSpec::Value, "FOLDER", "where the kernels' sources are (default: samples)"},
     // One process per measurement.
     {"worker", 0, cli::OptionSpec::Value, "NAME", ""},
     {"cores", 0, cli::OptionSpec::Value, "N", ""}},
    SIZE_MAX,
    "",
    "tessera-bench",
    &common};

int usage(const std::string &what, const std::string &fix) {
  fmt::print(stderr, "tessera-bench: {}\n  {}\n", what, fix);
  return 1;
}

/// Returns what is wrong with options that none of the measurements takes; empty: nothing.
std::string withoutEffect(const cli::Arguments &given, const std::vector<std::string> &names) {
  constexpr std::pair<const char *, Takes> kOptions[] = {
      {"only", kOnly}, {"seed", kSeed}, {"full", kFull}, {"samples", kSamples}};
  for (const auto &[option, takes] : kOptions) {
    if (!given.has(option)) continue;
    std::vector<std::string> takers;
    bool isTaken = false;
    for (const Benchmark &b : benchmarks) {
      if (!(b.takes & takes)) continue;
      takers.emplace_back(b.name);
      isTaken = isTaken || std::ranges::find(names, b.name) != names.end();
    }
    if (!isTaken)
      return fmt::format("--{} has no effect on {}; it is an option of {}", option, fmt::join(names, ", "),
                         fmt::join(takers, ", "));
  }
  return {};
}

} // namespace
} // namespace tessera::bench

int main(int argc, char **argv) {
  using namespace tessera::bench;
  Options options;
  tessera::cli::Arguments given;
  if (auto e = tessera::cli::parseArguments(spec, {argv + 1, argv + argc}, given))
    return usage(e->message, e->hint);
  if (given.wantsHelp()) {
    fmt::print("{}", spec.help());
    return 0;
  }
  options.settings.full = given.has("full");
  options.settings.samples = given.value("samples", options.settings.samples);
  options.record = given.has("record");
  options.json = given.has("json");
  options.html = given.value("html");
  options.settings.only = given.value("only", options.settings.only);
  int64_t seed = 0, threads = 0;
  if (given.has("seed") &&
      (!tessera::cli::parseInt(given.value("seed"), seed) || seed < (given.has("worker") ? 0 : 1)))
    return usage("--seed needs a number from 1", spec.words() + " --help lists the options");
  options.settings.seed = static_cast<uint64_t>(seed);
  if (given.has("threads") &&
      (!tessera::cli::parseInt(given.value("threads"), threads) || threads < 1 || threads > usableCores()))
    return usage(fmt::format("--threads needs a number from 1 to {}, the usable cores", usableCores()),
                 spec.words() + " --help lists the options");
  options.threads = static_cast<int>(threads);
  try {
    (void)std::regex(options.settings.only);
  } catch (const std::regex_error &e) {
    return usage(fmt::format("--only {}: not a regular expression: {}", options.settings.only, e.what()),
                 spec.words() + " --help lists the options");
  }
  options.worker = given.value("worker");
  int64_t cores = options.settings.cores;
  if (given.has("cores") && !tessera::cli::parseInt(given.value("cores"), cores))
    return usage("--cores needs a number", spec.words() + " --help lists the options");
  options.settings.cores = static_cast<int>(cores);
  options.names = given.positional();
  for (const std::string &name : options.names)
    if (std::none_of(std::begin(benchmarks), std::end(benchmarks), [&](auto &b) { return name == b.name; }))
      return usage(fmt::format("there is no measurement {}", name),
                   "usage: " + spec.words() + " " + std::string(spec.synopsis));
  if (options.names.empty()) options.names = {"launch", "gemm"};
  if (options.worker.empty()) {
    const std::string help = spec.words() + " --help lists the options";
    if (const std::string wrong = withoutEffect(given, options.names); !wrong.empty())
      return usage(wrong, help);
    if (options.record && (given.has("only") || given.has("threads")))
      return usage("--record writes whole pages: it takes neither --only nor --threads", help);
  }
  try {
    for (const Benchmark &b : benchmarks)
      if (options.worker == b.name) {
        fmt::print("{}", nlohmann::json(runHere(b, options.settings)).dump());
        return 0;
      }
    return run(options);
  } catch (const std::exception &e) {
    fmt::print(stderr, "tessera-bench: {}\n", e.what());
    return 1;
  }
}
