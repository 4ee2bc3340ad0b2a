#include "tools/tsr-conformance/Child.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::kit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

/// A folder for the children's output lines; it is removed with the object.
struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tsr-conformance-XXXXXX").string();
    if (mkdtemp(pattern.data())) path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  std::string path;
};

pid_t start(const std::vector<std::string> &words, bool isVerbose) {
  std::vector<char *> argv;
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (isVerbose)
    posix_spawn_file_actions_adddup2(&files, 2, 1);
  else
    for (int fd : {1, 2})
      posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  // so that killing the child also kills what it started
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int error = posix_spawnp(&child, argv[0], &files, &how, argv.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error ? -1 : child;
}

/// Returns the size of all lines so far. Sets `running` to the check that began last.
size_t progress(const std::string &folder, std::string &running) {
  size_t size = 0;
  for (const auto &entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line); size += line.size()) {
      const Json parsed = Json::parse(line, nullptr, false);
      if (parsed.is_object() && parsed.contains("begin")) running = parsed["begin"];
    }
  }
  return size;
}

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return "the process died of signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  return "the process ended with status " + std::to_string(WEXITSTATUS(status));
}

State stateNamed(const std::string &name) {
  for (State s : {State::Passed, State::Skipped, State::Unsupported})
    if (name == nameOf(s)) return s;
  return State::Failed;
}

/// Merges one rank's result of a check into the result of all ranks: the worst one counts.
void merge(Outcome &into, const Json &line, const std::string &rank) {
  const State state = stateNamed(line.value("state", ""));
  into.milliseconds = std::max(into.milliseconds, line.value("ms", 0.0));
  const bool isWorse = into.state == State::Passed || (state == State::Failed && into.state != State::Failed);
  if (!isWorse) return;
  into.state = state;
  into.expected = line.value("expected", ""), into.fix = line.value("fix", "");
  into.found = line.value("found", "") + (state == State::Failed ? rank : "");
  into.reason = line.value("reason", "");
}

Batch collect(const std::string &folder, std::span<const Check *const> checks, const std::string &end) {
  Batch out;
  std::vector<Json> lines;
  std::vector<size_t> processes;
  size_t process = 0;
  for (const auto &entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);)
      if (Json parsed = Json::parse(line, nullptr, false); parsed.is_object())
        lines.push_back(std::move(parsed)), processes.push_back(process);
    ++process;
  }
  for (const Check *check : checks) {
    Outcome outcome;
    outcome.check = check, outcome.state = State::Passed;
    size_t begun = 0, ended = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      begun += lines[i].value("begin", "") == check->id;
      if (lines[i].value("end", "") != check->id) continue;
      ++ended;
      merge(outcome, lines[i],
            process > 1 ? " (process " + std::to_string(processes[i]) + " of " + std::to_string(process) + ")"
                        : "");
      const Json facts = lines[i].value("facts", Json::object());
      for (const auto &[key, value] : facts.items())
        out.facts[key] = value.get<std::string>();
    }
    const bool isDead = begun == 0 || ended < begun;
    if (isDead) {
      outcome.state = State::Failed;
      outcome.expected = "a plugin that returns to its caller", outcome.found = end;
    }
    out.outcomes.push_back(outcome);
    if (isDead) break;
  }
  return out;
}

} // namespace

Batch runChild(const ChildOptions &o, std::span<const Check *const> checks) {
  const Folder folder;
  std::vector<std::string> words = o.launcher;
  for (const std::string &word :
       {fs::read_symlink("/proc/self/exe").string(), std::string("--child"), folder.path,
        std::string("--plugin"), o.subject.plugin, std::string("--ranks"), std::to_string(o.subject.ranks)})
    words.push_back(word);
  if (!o.subject.image.empty())
    words.insert(words.end(), {"--image", o.subject.image, "--metadata", o.subject.metadata});
  if (!o.launcher.empty()) words.push_back("--launched");
  for (const Check *check : checks)
    words.emplace_back(check->id);

  const pid_t child = start(words, o.isVerbose);
  if (child < 0) return collect(folder.path, checks, words[0] + " cannot be started");
  std::string running, end;
  size_t seen = 0;
  auto since = Clock::now();
  int status = 0;
  for (unsigned nap = 200;; nap = std::min(nap * 2, 20000u)) {
    if (waitpid(child, &status, WNOHANG) == child) break;
    usleep(nap);
    if (const size_t now = progress(folder.path, running); now != seen) seen = now, since = Clock::now();
    const Check *check = findCheck(running);
    // Starting the child takes time too, especially under a launcher.
    const double limit = o.patience * (check ? check->seconds : o.launcher.empty() ? 20 : 60);
    if (Clock::now() - since < std::chrono::duration<double>(limit)) continue;
    end = "no return within " + std::to_string(static_cast<int>(limit)) + " s, so it was killed";
    // a launcher ends its ranks when it receives SIGTERM
    kill(-child, o.launcher.empty() ? SIGKILL : SIGTERM);
    for (int i = 0; i < 100 && waitpid(child, &status, WNOHANG) != child; ++i)
      usleep(20000);
    break;
  }
  kill(-child, SIGKILL);
  return collect(folder.path, checks, end.empty() ? describe(status) : end);
}

} // namespace tessera::kit
