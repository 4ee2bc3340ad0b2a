#include "tools/tsr/CrashPack.h"
#include "core/service/CompilerLoader.h"
#include "core/support/OutputFile.h"
#include "tools/tsr/Console.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

constexpr unsigned secondsPerLevel = 20;

/// Emits one level in a child process: what failed once may fail again.
void snapshot(const Job &job, const CompileOptions &options, Emit level, const std::string &path) {
  pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    ::alarm(secondsPerLevel);
    std::string text;
    std::vector<Diagnostic> diags;
    auto compiler = loadCompiler();
    if (!compiler) ::_exit(1);
    CompileStatus status = (*compiler)->emit(job.source, options, level, text, diags);
    for (const Diagnostic &d : diags)
      text += render(d, false);
    if (status == CompileStatus::Ok || !text.empty()) (void)writeFile(path, text);
    ::_exit(0);
  }
  const Progress progress("tsr: writing " + path); // starts a thread, but only between forks
  int status;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

std::string describe(const Job &job, const std::string &reason) {
  struct utsname system = {};
  ::uname(&system);
  std::string text = fmt::format(
      "reason: {}\ncommand: {}\nversion: {}\nsystem: {} {} {}\nfile: {}\nkernel: {}\n"
      "target: {}\nnumerics: {}\n",
      reason, job.commandLine, tsrVersion(), system.sysname, system.release, system.machine, job.file,
      fmt::join(job.options.kernels, ","), fmt::join(job.options.targets, ","), job.options.numerics);
  for (const auto &[name, value] : job.options.dims)
    text += fmt::format("dim {}: {}\n", name, value);
  for (const auto &[name, value] : job.options.tunables)
    text += fmt::format("tunable {}: {}\n", name, value);
  return text;
}

} // namespace

Expected<std::string> writeCrashPack(const Job &job, const std::string &reason, const std::string &log) {
  const char *base = std::getenv("TESSERA_CRASH_DIR");
  if (!base || !*base) base = std::getenv("TMPDIR");
  if (!base || !*base) base = "/tmp";
  char stamp[32];
  std::time_t now = std::time(nullptr);
  std::tm utc;
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
  std::string folder = fmt::format("{}/tsr-crash-{}-XXXXXX", base, stamp);
  auto failed = [](std::string message) { return Error{"E_OUTPUT_WRITE", std::move(message), ""}; };
  if (!::mkdtemp(folder.data())) return failed(fmt::format("{}: {}", base, std::strerror(errno)));
  if (writeFile(folder + "/options.txt", describe(job, reason)) || writeFile(folder + "/log.txt", log) ||
      writeFile(folder + "/source.py", job.source))
    return failed(fmt::format("{}: cannot be written to", folder));
  static constexpr std::pair<Emit, const char *> levels[] = {
      {Emit::Graph, "ir-1-graph.mlir"},  {Emit::Schedule, "ir-2-schedule.mlir"},
      {Emit::Tile, "ir-3-tile.mlir"},    {Emit::Target, "ir-4-target.mlir"},
      {Emit::Metadata, "metadata.yaml"},
  };
  if (job.source.empty()) return folder;
  for (auto [level, name] : levels)
    snapshot(job, job.options, level, folder + "/" + name);
  // Compiles once more to the end, with a file per pass: the last file shows the input of the failing pass.
  CompileOptions everyPass = job.options;
  everyPass.printIrAfterAll = folder + "/passes";
  if (::mkdir(everyPass.printIrAfterAll.c_str(), 0777) == 0)
    snapshot(job, everyPass, Emit::Assembly, folder + "/assembly.s");
  return folder;
}

} // namespace tessera::cli
