// kernel-conformance FOLDER: compiles and runs every program of a list in one process and compares the
// outputs.
//
// The programs run in a child process. When one crashes it, that program has failed, and a new child
// continues after it. Every tensor is between guards (Placed.h), and read-only inputs must not change. Each
// run is launched twice, with two different initial patterns in the outputs: an element that is not written
// then differs from the expected value at least once.
#include "tests/conformance/Compare.h"
#include "tests/conformance/Placed.h"
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <fstream>
#include <new>
#include <span>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>

namespace tessera::conformance {
namespace {

/// How a run is launched: the initial contents of outputs (large values, then NaN in every float dtype), and
/// what borders the tensors if they are in host memory.
struct Launched {
  std::byte poison;
  Against against;
};
constexpr Launched kLaunches[] = {{std::byte{0x5a}, Against::PageAfter},
                                  {std::byte{0xff}, Against::PageBefore}};

std::string describe(const Run &run) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : run.dims)
    parts.push_back(fmt::format("{}={}", name, value));
  for (const auto &[name, value] : run.scalars)
    parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// FNV-1a.
uint64_t hashOf(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes)
    hash = (hash ^ std::to_integer<uint64_t>(b)) * 0x100000001b3;
  return hash;
}

/// Launches once and returns one line per difference. `digests` receives a line per output.
std::vector<std::string> launchOnce(host::Kernel &kernel, const Run &run, const Launched &how,
                                    std::vector<std::string> &digests) {
  std::map<std::string, Placed> tensors;
  for (const auto &[name, in] : run.inputs)
    tensors.try_emplace(name, kernel.device(), how.against, encode(in.values, in.dtype));
  for (const auto &[name, o] : run.outputs)
    if (!tensors.contains(name))
      tensors.try_emplace(name, kernel.device(), how.against,
                          o.initial ? encode(*o.initial, o.dtype)
                                    : std::vector<std::byte>(
                                          size_t(tensorBytes(o.dtype, int64_t(o.elements()))), how.poison));
  host::Launch launch(kernel);
  for (const auto &[name, placed] : tensors)
    launch.set(name, placed.data());
  for (const auto &[name, value] : run.scalars)
    launch.setScalar(name, value);
  launch.setDims(run.dims);
  launch.run();

  std::vector<std::string> wrong;
  for (const auto &[name, placed] : tensors) {
    std::string why;
    const std::vector<std::byte> now = placed.fetch(why);
    if (!why.empty()) wrong.push_back(fmt::format("{}: {}", name, why));
    auto o = run.outputs.find(name);
    if (o != run.outputs.end())
      digests.push_back(fmt::format("({}) {} {:016x}", describe(run), name, hashOf(now)));
    if (o == run.outputs.end()) {
      if (now != placed.contents()) wrong.push_back(fmt::format("{}: an input was written", name));
    } else if (std::string difference = compare(o->second, now); !difference.empty()) {
      wrong.push_back(fmt::format("{}: {}", name, difference));
    }
  }
  return wrong;
}

/// Programs that may be refused as unimplemented, one "pattern  reason" per line; '#' begins a comment.
std::vector<std::string> readKnown(const std::string &path) {
  std::vector<std::string> patterns;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') patterns.push_back(line.substr(0, line.find(' ')));
  return patterns;
}

/// Shared between parent and child, so that a crash loses nothing.
struct Totals {
  size_t begun = 0; // programs the children have begun
  int passed = 0, failed = 0, unimplemented = 0;
};

void report(Totals &totals, const std::string &name, const std::vector<std::string> &wrong) {
  if (wrong.empty()) {
    ++totals.passed;
    return;
  }
  ++totals.failed;
  fmt::print("FAIL {}\n", name);
  for (const std::string &w : wrong)
    fmt::print("     {}\n", w);
  std::fflush(stdout);
}

struct Options {
  std::string only = "*", backend = "cpu", target;
  std::string without;  // a dtype that the device has not
  std::string digests;  // a file
  std::string numerics; // in place of standard, which the others are left out for
  std::vector<std::string> known;
  size_t share = 0, shares = 1; // runs one part of the programs
  bool verbose = false, fuse = true;
};

/// Returns which of `shares` parts a program belongs to, by FNV-1a of its name, mixed once more, since names
/// that differ in a digit differ in few of its bits: families enumerate dtypes and axes in order, so parts by
/// index would contain a single dtype or axis.
size_t shareOf(std::string_view name, size_t shares) {
  uint64_t hash = hashOf(std::as_bytes(std::span(name)));
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
  return (hash >> 32) % shares;
}

/// Parses "I/N" as {I - 1, N}.
std::pair<size_t, size_t> readShare(const char *text) {
  size_t index = 0, count = 0;
  char rest = 0;
  if (std::sscanf(text, "%zu/%zu%c", &index, &count, &rest) != 2 || index < 1 || index > count)
    throw std::runtime_error(fmt::format("--share {}: expected I/N with I from 1 to N", text));
  return {index - 1, count};
}

void runProgram(host::Device &device, const Program &p, const Options &how, Totals &totals) {
  std::optional<host::Kernel> kernel;
  try {
    host::BuildOptions options = p.options;
    options.fuse = how.fuse;
    options.target = how.target;
    if (!how.numerics.empty()) options.numerics = how.numerics;
    kernel.emplace(device, p.source, options);
  } catch (const host::Failure &f) {
    const bool expected = !p.error.empty() && f.code == p.error;
    const bool mayLack =
        std::any_of(how.known.begin(), how.known.end(),
                    [&](auto &k) { return fnmatch(k.c_str(), p.name.c_str(), 0) == 0; }) ||
        (!how.numerics.empty() && std::string_view(f.what()).find("numerics profile '" + how.numerics +
                                                                  "'") != std::string_view::npos) ||
        (!how.without.empty() &&
         std::string_view(f.what()).find(how.without + " is not implemented on") != std::string_view::npos);
    if (!expected && f.status == TSR_UNIMPLEMENTED && mayLack) {
      ++totals.unimplemented;
      return;
    }
    report(totals, p.name, expected ? std::vector<std::string>{} : std::vector<std::string>{f.what()});
    return;
  }
  if (!p.error.empty()) return report(totals, p.name, {fmt::format("was not refused with {}", p.error)});
  std::vector<std::string> wrong, digests;
  for (const Run &run : p.runs) {
    try {
      for (Launched launched : kLaunches) {
        if (how.backend != "cpu") launched.against = Against::Bytes;
        for (const std::string &w : launchOnce(*kernel, run, launched, digests))
          wrong.push_back(
              fmt::format("({}, outputs started as {:#x}) {}", describe(run), int(launched.poison), w));
      }
    } catch (const host::Failure &f) {
      wrong.push_back(fmt::format("({}) {}", describe(run), f.what()));
    }
  }
  if (!how.digests.empty()) {
    std::ofstream file(how.digests, std::ios::app);
    for (const std::string &line : digests)
      file << p.name << ' ' << line << '\n';
  }
  report(totals, p.name, wrong);
}

/// Runs, in a child, the programs from totals.begun on.
int runRest(const std::vector<Program> &programs, const Options &options, Totals &totals) {
  try {
    host::Device device(options.backend.c_str());
    while (totals.begun < programs.size()) {
      const Program &p = programs[totals.begun++];
      if (options.verbose) {
        fmt::print("{}\n", p.name);
        std::fflush(stdout);
      }
      runProgram(device, p, options, totals);
    }
    return 0;
  } catch (const std::exception &e) {
    fmt::print(stderr, "kernel-conformance: {}\n", e.what());
    return 1;
  }
}

int run(const std::string &folder, const Options &options) {
  std::vector<Program> programs = readPrograms(folder, [&](const std::string &name) {
    return fnmatch(options.only.c_str(), name.c_str(), 0) == 0 &&
           shareOf(name, options.shares) == options.share;
  });
  if (!options.numerics.empty())
    std::erase_if(programs, [](const Program &p) { return p.options.numerics != "standard"; });
  void *shared = ::mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  Totals &totals = *new (shared) Totals;
  do {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      const int rc = runRest(programs, options, totals);
      std::fflush(stdout);
      ::_exit(rc);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) < 0) throw std::runtime_error("no child process");
    if (WIFSIGNALED(status) && totals.begun > 0)
      report(totals, programs[totals.begun - 1].name,
             {fmt::format("crashed: {}", strsignal(WTERMSIG(status)))});
    else if (status != 0)
      return 1;
  } while (totals.begun < programs.size());
  fmt::print("{} passed, {} failed, {} not implemented\n", totals.passed, totals.failed,
             totals.unimplemented);
  return totals.failed == 0 && totals.passed > 0 ? 0 : 1;
}

} // namespace
} // namespace tessera::conformance

static int usage() {
  fmt::print(stderr,
             "usage: kernel-conformance FOLDER [--known FILE] [--only PATTERN] [--backend NAME] "
             "[--target TARGET] [--fusion auto|none] [--share I/N] [--without DTYPE] [--digests FILE] "
             "[--numerics PROFILE] [-v]\n"
             "--share runs the I-th of N parts of the programs, which their names divide\n"
             "--without lets the device refuse programs because it has no such dtype\n"
             "--digests appends a hash of each output to a file, one a line\n"
             "--numerics compiles with another profile, which may refuse a program; those of a profile of "
             "their own are left out\n");
  return 1;
}

int main(int argc, char **argv) {
  using namespace tessera::conformance;
  Options options;
  std::string folder;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--known" && i + 1 < argc)
        options.known = readKnown(argv[++i]);
      else if (word == "--only" && i + 1 < argc)
        options.only = argv[++i];
      else if (word == "--backend" && i + 1 < argc)
        options.backend = argv[++i];
      else if (word == "--target" && i + 1 < argc)
        options.target = argv[++i];
      else if (word == "--fusion" && i + 1 < argc)
        options.fuse = std::string_view(argv[++i]) != "none";
      else if (word == "--share" && i + 1 < argc)
        std::tie(options.share, options.shares) = readShare(argv[++i]);
      else if (word == "--without" && i + 1 < argc)
        options.without = argv[++i];
      else if (word == "--digests" && i + 1 < argc)
        options.digests = argv[++i];
      else if (word == "--numerics" && i + 1 < argc)
        options.numerics = argv[++i];
      else if (word == "-v")
        options.verbose = true;
      else if (folder.empty() && word[0] != '-')
        folder = word;
      else
        return usage();
    }
    if (folder.empty()) return usage();
    return run(folder, options);
  } catch (const std::exception &e) {
    fmt::print(stderr, "kernel-conformance: {}\n", e.what());
    return 1;
  }
}
