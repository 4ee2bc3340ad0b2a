#include "tools/tsr-conformance/Runner.h"
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace tessera::kit {
namespace {

class Runner {
public:
  Runner(const ChildOptions &o, const Expectations &e) : options_(o), expectations_(e) {}

  void group(const Group &g, const std::function<bool(const Check &)> &isWanted) {
    std::vector<const Check *> waiting;
    auto flush = [&] {
      // When a child dies, another child runs the remaining checks.
      for (std::span<const Check *const> rest = waiting; !rest.empty();) {
        const Batch batch = runChild(optionsFor(g), rest);
        facts_.insert(batch.facts.begin(), batch.facts.end());
        for (const Outcome &outcome : batch.outcomes)
          settle(outcome);
        rest = rest.subspan(batch.outcomes.size());
      }
      waiting.clear();
    };
    for (const Check &check : g.checks) {
      if (!isWanted(check) && !isStoodOn(check)) continue;
      Outcome outcome;
      outcome.check = &check;
      if (standsInTheWay(check, outcome)) {
        settle(outcome);
        continue;
      }
      waiting.push_back(&check);
      if (g.isAlone) flush();
    }
    flush();
  }

  const Outcome *of(std::string_view id) const {
    auto it = outcomes_.find(id);
    return it == outcomes_.end() ? nullptr : &it->second;
  }
  std::function<void(const Outcome &)> tell;
  std::map<std::string, std::string> facts_;

private:
  ChildOptions optionsFor(const Group &g) const {
    ChildOptions o = options_;
    if (g.name != "collectives") o.launcher.clear();
    return o;
  }

  /// Returns whether other checks depend on this one, in which case it runs even if it was not requested.
  static bool isStoodOn(const Check &check) {
    for (const Rung &rung : kLadder)
      if (rung.check == check.id) return true;
    for (const Group *g : allGroups())
      for (const Check &other : g->checks)
        if (other.after == check.id) return true;
    return false;
  }

  bool standsInTheWay(const Check &check, Outcome &out) const {
    out.state = State::Unsupported;
    if (const auto *entry = expectations_.find(check, /*isFailure=*/false))
      return out.reason = entry->reason, true;
    out.state = State::Skipped;
    auto isMissing = [&](std::string_view id) {
      const Outcome *other = id.empty() ? nullptr : of(id);
      if (!other || other->state == State::Passed || other->state == State::Stale) return false;
      out.reason = "not run: " + std::string(id) +
                   (other->state == State::Skipped       ? " was skipped"
                    : other->state == State::Unsupported ? " is unsupported"
                                                         : " failed");
      return true;
    };
    for (const Rung &rung : kLadder) {
      if (rung.rung > check.needs || rung.check == check.id) continue;
      if (rung.rung > Needs::Device && isWithoutDevice(out)) return true;
      if (isMissing(rung.check)) return true;
    }
    if (check.needs >= Needs::Device && isWithoutDevice(out)) return true;
    if (isMissing(check.after)) return true;
    const auto missing = facts_.find("missing");
    for (std::string_view rest = check.slots; missing != facts_.end() && !rest.empty();) {
      const std::string slot(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(slot.size() + 1, rest.size()));
      if (("," + missing->second).find("," + slot + ",") == std::string::npos) continue;
      out.state = State::Unsupported;
      out.reason = "the plugin has no " + slot;
      return true;
    }
    return false;
  }

  bool isWithoutDevice(Outcome &out) const {
    auto it = facts_.find("devices");
    if (it == facts_.end() || it->second != "0") return false;
    auto why = facts_.find("no_device");
    out.reason = "no device" + (why == facts_.end() || why->second.empty() ? "" : ": " + why->second);
    return true;
  }

  void settle(Outcome outcome) {
    if (const auto *entry = expectations_.find(*outcome.check, /*isFailure=*/true)) {
      if (outcome.state == State::Failed)
        outcome.state = State::ExpectedFailure, outcome.reason = entry->reason;
      if (outcome.state == State::Passed)
        outcome.state = State::Stale,
        outcome.reason = "it passes, but is expected to fail (" + entry->reason + "); take it off the list";
    }
    outcomes_[outcome.check->id] = outcome;
    tell(outcome);
  }

  const ChildOptions &options_;
  const Expectations &expectations_;
  std::map<std::string_view, Outcome> outcomes_;
};

} // namespace

bool Run::isGood() const {
  return std::none_of(outcomes.begin(), outcomes.end(), [](const Outcome &o) { return o.isBad(); });
}

Run runAll(const ChildOptions &options, const Expectations &expectations,
           const std::function<bool(const Check &)> &isWanted,
           const std::function<void(const Outcome &)> &progress) {
  Run out;
  Runner runner(options, expectations);
  runner.tell = [&](const Outcome &o) {
    if (!isWanted(*o.check)) return;
    out.outcomes.push_back(o);
    progress(o);
  };
  for (const Group *group : allGroups()) {
    const auto kinds = runner.facts_.find("kinds");
    const uint32_t has = kinds == runner.facts_.end()
                             ? 0
                             : static_cast<uint32_t>(std::strtoul(kinds->second.c_str(), nullptr, 10));
    if (group->kinds != ~0u && !(group->kinds & has)) continue;
    out.total += group->checks.size();
    runner.group(*group, isWanted);
  }
  out.facts = std::move(runner.facts_);
  return out;
}

} // namespace tessera::kit
