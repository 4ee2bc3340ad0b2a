// replay(FILE): repeats the decisions of an earlier run, which may have been edited.
#include "core/support/Fork.h"
#include "core/support/InputFile.h"
#include "mapper/host/DecisionFile.h"
#include "mapper/host/Mappers.h"
#include "mapper/host/Question.h"
#include <map>
#include <mutex>

namespace tessera::mapping {
namespace {

class Replay final : public Mapper {
public:
  Replay(std::string file, const std::vector<LoggedDecision> &decisions) : file_(std::move(file)) {
    for (const LoggedDecision &d : decisions)
      answers_[d.call + "(" + d.about + ")"].list.push_back({d.choice, d.predictedNs});
  }
  Choice place(const Region &r, const Mesh &m) override { return find(question(r, m)); }
  Choice chooseCollective(const CollectiveCall &c) override { return find(question(c)); }
  Choice chooseVariant(const VariantCall &c) override { return find(question(c)); }

private:
  /// A question that was logged n times gets its n answers in order, then the last one repeatedly.
  struct Answers {
    std::vector<Choice> list;
    size_t next = 0;
  };

  Choice find(const Question &q) {
    std::lock_guard lock(mutex_);
    auto it = answers_.find(q.text());
    if (it == answers_.end())
      throw Failure(TSR_ENOTFOUND, "E_MAPPER_REPLAY", file_ + " has no decision about " + q.text(),
                    "log the program's decisions again: logging(default, " + file_ + ")");
    Answers &a = it->second;
    const Choice &choice = a.list[a.next];
    if (a.next + 1 < a.list.size()) ++a.next;
    return choice;
  }

  const std::string file_;
  std::mutex mutex_; // guards the members below
  HeldAcrossFork heldAcrossFork_{mutex_};
  std::map<std::string, Answers> answers_;
};

} // namespace

std::unique_ptr<Mapper> makeReplay(const std::string &file) {
  auto text = readFile(file, kMaxDecisionBytes);
  if (!text)
    throw Failure(TSR_EIO, "E_MAPPER_REPLAY", file + " cannot be read: " + text.error().message,
                  "name a file that logging wrote");
  Expected<std::vector<LoggedDecision>> decisions = readDecisions(*text);
  if (!decisions)
    throw Failure(TSR_EINVAL, decisions.error().code, file + ": " + decisions.error().message,
                  "name a file that logging wrote");
  return std::make_unique<Replay>(file, *decisions);
}

} // namespace tessera::mapping
