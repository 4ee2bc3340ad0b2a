#include "core/plugin/Probe.h"
#include "core/plugin/SearchPath.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tessera/thunk.hpp>
#include <unistd.h>

extern char **environ;

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

int remainingMs(Clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

/// Reads what the non-blocking pipe holds, but no longer than until `end`, since a probe may write faster
/// than this reads. Returns false at the end of the pipe.
bool readSome(int fd, char *to, size_t bytes, size_t &got, Clock::time_point end) {
  do {
    char spare[4096]; // drains the pipe, so that a probe that writes more than an answer does not block
    const ssize_t n = got < bytes ? read(fd, to + got, bytes - got) : read(fd, spare, sizeof spare);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && errno == EAGAIN;
    if (got < bytes) got += static_cast<size_t>(n);
  } while (remainingMs(end));
  return true;
}

bool hasEnded(pid_t child, int &status) {
  const pid_t done = waitpid(child, &status, WNOHANG);
  if (done == child) return true;
  if (done == 0 || errno == EINTR) return false;
  status = 0; // a SIGCHLD handler of the program has already waited for it
  return true;
}

/// Reads the answer until the child exits. Returns false at the deadline. The end of the pipe is not used as
/// a sign of exit, since processes that the plugin started may hold the pipe open.
bool readUntilEnd(pid_t child, int fd, char *to, size_t bytes, size_t &got, int &status,
                  Clock::time_point end) {
  constexpr int kLookMs = 1;
  for (bool isOpen = true;;) {
    const bool ended = hasEnded(child, status);
    // after hasEnded(), so that this reads everything the child has written
    if (isOpen) isOpen = readSome(fd, to, bytes, got, end);
    if (ended) return true;
    if (!remainingMs(end)) return false;
    pollfd waiting = {isOpen ? fd : -1, POLLIN, 0};
    poll(&waiting, 1, kLookMs);
  }
}

pid_t start(const std::string &prober, const std::string &path, int answer, int &error) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, answer, 3);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  // A process group of its own, so that it is killed with its children; default signal handling.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char *argv[] = {const_cast<char *>(prober.c_str()), const_cast<char *>(path.c_str()), nullptr};
  pid_t child = -1;
  error = posix_spawn(&child, prober.c_str(), &files, &how, argv, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error ? -1 : child;
}

/// Terminates the strings that the plugin wrote.
void terminate(tsr_probe_t &found) {
  found.driver[sizeof found.driver - 1] = 0;
  for (auto &address : found.pci)
    address[sizeof address - 1] = 0;
}

} // namespace

std::string proberPath() {
  const std::string own = searchPath().own;
  if (own.empty()) return "";
  std::string prober = own + "/tessera-probe";
  return access(prober.c_str(), X_OK) == 0 ? prober : "";
}

PluginError judgeProbe(int32_t status, const tsr_probe_t &found, const std::string &text) {
  if (status == TSR_ENOTFOUND) return {refusal::kNoDevice, text.empty() ? "it found no device" : text, ""};
  if (status != TSR_SUCCESS)
    return {refusal::kProbeFailed,
            "its probe failed with status " + std::to_string(status) + (text.empty() ? "" : ": " + text), ""};
  if (found.device_count < 1 || found.device_count > 4096 || found.score < 0 || found.score > 1000)
    return {refusal::kProbeFailed,
            "its probe reported success with " + std::to_string(found.device_count) +
                " devices and a score of " + std::to_string(found.score),
            "report it to the plugin's author: at least 1 device, a score of 0 to 1000"};
  return {};
}

ProbeResult probeHere(const tsr_plugin_info_t &info) {
  ProbeResult out;
  thunk::Text reported, thrown; // probes of plugin.hpp do not throw, but hand-written ones may
  out.found.struct_size = sizeof out.found;
  const int32_t status =
      thunk::guard(thrown, [&](std::string &) { return info.probe(&out.found, reported); });
  terminate(out.found);
  out.error = judgeProbe(status, out.found, thrown.str().empty() ? reported.str() : thrown.str());
  return out;
}

ProbeResult probeApart(const std::string &prober, const std::string &path) {
  ProbeResult out;
  if (prober.empty()) {
    out.error = {refusal::kNoProber, "tessera-probe, which asks plugins for their devices, is not installed",
                 "reinstall libtessera1, or set TESSERA_PROBE=inproc"};
    return out;
  }
  const auto begin = Clock::now(), end = begin + std::chrono::milliseconds(kProbeLimitMs);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    out.error = {refusal::kProbeFailed, std::string("no pipe: ") + std::strerror(errno), ""};
    return out;
  }
  int spawnError = 0;
  pid_t child = start(prober, path, ends[1], spawnError);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    out.error = {refusal::kProbeFailed, prober + " cannot be started: " + std::strerror(spawnError), ""};
    return out;
  }
  ProbeAnswer answer;
  size_t got = 0;
  int status = 0;
  const bool inTime =
      readUntilEnd(child, ends[0], reinterpret_cast<char *>(&answer), sizeof answer, got, status, end);
  close(ends[0]);
  kill(-child, SIGKILL); // also kills the processes it left running
  if (!inTime) waitpid(child, &status, 0);
  out.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  if (!inTime) {
    out.isCrash = true;
    out.error = {refusal::kProbeTimeout,
                 "its probe did not end within " + std::to_string(kProbeLimitMs / 1000) + " s and was killed",
                 ""};
  } else if (WIFSIGNALED(status)) {
    out.isCrash = true;
    out.error = {refusal::kProbeCrashed,
                 std::string("its probe died of signal ") + std::to_string(WTERMSIG(status)) + " (" +
                     strsignal(WTERMSIG(status)) + ")",
                 ""};
  } else if (got != sizeof answer || answer.magic != ProbeAnswer::kMagic || WEXITSTATUS(status) != 0) {
    out.isCrash = true;
    out.error = {refusal::kProbeExited,
                 "its probe ended the process with status " + std::to_string(WEXITSTATUS(status)) +
                     " instead of answering",
                 ""};
  } else {
    std::string text(answer.text, strnlen(answer.text, sizeof answer.text));
    out.found = answer.found;
    terminate(out.found);
    out.error = answer.failedStep ? PluginError{answer.failedStep, text, ""}
                                  : judgeProbe(answer.status, out.found, text);
  }
  return out;
}

} // namespace tessera
