#include "tools/tsr/Supervisor.h"
#include "core/support/Escaped.h"
#include "tools/options/Options.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/CrashPack.h"
#include "tools/tsr/Report.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

int stateFd = -1; // in the child: where recordOptions() writes

std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(n));
  return text;
}

/// Signals sent from the terminal or by a kill request come from the user. They end the tool in the same way
/// and are not a crash.
bool isUsersSignal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGPIPE;
}

int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Parses what recordOptions() wrote: per record one word for its kind, then its fields, one line each.
void readOptions(int fd, CompileOptions &options) {
  std::istringstream lines(readAll(fd));
  for (std::string kind, name; lines >> kind >> std::ws && std::getline(lines, name, '\t');) {
    int64_t value = 0;
    std::string text;
    std::getline(lines, text);
    if (kind == "kernel")
      options.kernels = {text};
    else if (parseInt(text, value))
      (kind == "dim" ? options.dims : options.tunables).emplace_back(name, value);
  }
}

} // namespace

void recordOptions(const CompileOptions &options) {
  if (stateFd < 0) return;
  std::string text;
  if (options.kernels.size() == 1) text = fmt::format("kernel -\t{}\n", options.kernels[0]);
  for (const auto &[name, value] : options.dims)
    text += fmt::format("dim {}\t{}\n", name, value);
  for (const auto &[name, value] : options.tunables)
    text += fmt::format("tunable {}\t{}\n", name, value);
  if (::ftruncate(stateFd, 0) == 0 && ::pwrite(stateFd, text.data(), text.size(), 0) < 0) stateFd = -1;
}

int supervise(Job job, const std::function<int()> &command) {
  const char *setting = std::getenv("TESSERA_SUPERVISE");
  const bool inProcess = setting && std::strcmp(setting, "0") == 0;
  const int log = ::memfd_create("tsr-log", MFD_CLOEXEC);
  const int state = ::memfd_create("tsr-state", MFD_CLOEXEC);
  if (log < 0 || state < 0 || inProcess) return command();
  const pid_t child = ::fork();
  if (child < 0) return command();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM); // nobody would receive the result of an orphan
    setLog(log);
    stateFd = state;
    std::exit(finish(command));
  }
  // The terminal sends Ctrl-C to both processes. The child decides; the parent reports how it ended.
  std::signal(SIGINT, SIG_IGN);
  const int status = waitFor(child);
  std::signal(SIGINT, SIG_DFL);
  if (WIFEXITED(status) && WEXITSTATUS(status) != exitFailed) return WEXITSTATUS(status);
  if (WIFSIGNALED(status)) clearProgress();
  if (WIFSIGNALED(status) && isUsersSignal(WTERMSIG(status))) {
    ::raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  std::string reason = "the command reported a failure (see log.txt)";
  if (WIFSIGNALED(status)) {
    reason = fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    fail(Error{"E_INTERNAL", fmt::format("the compiler or the kernel crashed: {}", reason), ""});
  }
  readOptions(state, job.options);
  if (Expected<std::string> folder = writeCrashPack(job, reason, readAll(log)))
    say(fmt::format("tsr: crash pack: {}\n", escaped(*folder)));
  else
    say(fmt::format("tsr: no crash pack could be written ({})\n", folder.error().message));
  return exitFailed;
}

} // namespace tessera::cli
