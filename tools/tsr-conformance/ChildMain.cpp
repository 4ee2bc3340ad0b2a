#include "tools/tsr-conformance/Child.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::kit {
namespace {

using OrderedJson = nlohmann::ordered_json;

void writeLine(int fd, const OrderedJson &line) {
  const std::string text = line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
}

OrderedJson runOne(const Check &check, Subject &subject) {
  OrderedJson line = {{"end", check.id}, {"state", nameOf(State::Passed)}};
  try {
    check.run(subject);
  } catch (const Failure &f) {
    line["state"] = nameOf(State::Failed);
    line["expected"] = f.expected, line["found"] = f.found, line["fix"] = f.fix;
  } catch (const Skip &s) {
    line["state"] = nameOf(State::Skipped);
    line["reason"] = s.reason;
  } catch (const std::exception &e) { // from the kit itself: out of memory, or no thread could be started
    line["state"] = nameOf(State::Failed);
    line["expected"] = "a check that can be made", line["found"] = e.what();
  }
  return line;
}

} // namespace

int childMain(const SubjectOptions &options, const std::string &directory,
              const std::vector<std::string> &ids) {
  if (!options.isLaunched) prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const std::string path = directory + "/" + std::to_string(getpid());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return 3;
  Subject subject(options);
  std::set<std::string_view> failed;
  for (const std::string &id : ids) {
    const Check *check = findCheck(id);
    if (!check) return 3;
    writeLine(fd, {{"begin", id}});
    if (failed.contains(check->after)) {
      writeLine(fd, {{"end", id},
                     {"state", nameOf(State::Skipped)},
                     {"reason", "not run: " + std::string(check->after) + " failed"}});
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    OrderedJson line = runOne(*check, subject);
    line["ms"] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    line["facts"] = subject.facts;
    if (line["state"] == nameOf(State::Failed)) failed.insert(check->id);
    writeLine(fd, line);
  }
  // A launcher expects its processes to end in good order.
  if (options.isLaunched) {
    subject.finish(true);
    return 0;
  }
  _exit(0);
}

} // namespace tessera::kit
