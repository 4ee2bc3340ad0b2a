#include "mapper/host/Host.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/support/Fork.h"
#include "core/support/NearestName.h"
#include "core/support/SignalMask.h"
#include "mapper/host/Mappers.h"
#include "numerics/FloatEnvironment.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <utility>

namespace tessera::mapping {
namespace {

/// One pending question. The asking thread may have stopped waiting before the answer arrives.
struct Asking {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false, abandoned = false;
  Mapper::Choice answer;
  Failure failure;
};

/// Calls a hook and turns whatever it returns or throws into an answer or a failure.
template <class Hook>
void answer(Hook &hook, Mapper &mapper, Mapper::Choice &out, Failure &failure) noexcept {
  auto fail = [&](tsr_status_t status, const char *text) {
    failure.status = status;
    failure.code = "E_MAPPER_FAILED";
    try {
      failure.message = text;
    } catch (const std::bad_alloc &) {
    }
  };
  try {
    DefaultFloats floats;
    out = hook(mapper);
  } catch (const Failure &f) {
    try {
      failure = f;
    } catch (const std::bad_alloc &) {
      fail(TSR_EOOM, "");
    }
  } catch (const std::bad_alloc &) {
    fail(TSR_EOOM, "it ran out of memory");
  } catch (const std::exception &e) {
    fail(TSR_EINVAL, e.what());
  } catch (...) {
    fail(TSR_EINVAL, "it threw something that is not a std::exception");
  }
}

std::string seconds(std::chrono::milliseconds time) {
  std::string text = std::to_string(static_cast<double>(time.count()) / 1000);
  text.erase(text.find_last_not_of('0') + 1);
  return (text.back() == '.' ? text.substr(0, text.size() - 1) : text) + " s";
}

} // namespace

Failure Host::failed(const Question &q, const std::string &where, Failure f) const {
  f.message = "mapper " + name_ + ", " + q.text() + (where.empty() ? "" : " at " + where) + ": " + f.message;
  return f;
}

template <class Hook> Mapper::Choice Host::run(const Question &q, const std::string &where, Hook hook) {
  if (late_->load() > 0)
    throw failed(q, where,
                 {TSR_ETIMEOUT, "E_MAPPER_TIMEOUT", "it is not asked while an earlier question is unanswered",
                  "fix the mapper, or set another"});
  auto asking = std::make_shared<Asking>();
  try {
    SignalMask mask;
    std::thread([asking, hook = std::move(hook), mapper = mapper_, late = late_]() mutable {
      Mapper::Choice choice;
      Failure failure;
      answer(hook, *mapper, choice, failure);
      mapper.reset(); // may be the last reference
      std::lock_guard lock(asking->mutex);
      asking->answer = std::move(choice);
      asking->failure = std::move(failure);
      asking->done = true;
      if (asking->abandoned) late->fetch_sub(1);
      asking->changed.notify_one();
    }).detach();
  } catch (const std::system_error &e) {
    throw failed(q, where, {TSR_EOOM, "E_MAPPER_FAILED", std::string("no thread to ask it on: ") + e.what()});
  }
  std::unique_lock lock(asking->mutex);
  if (!asking->changed.wait_for(lock, deadline_, [&] { return asking->done; })) {
    asking->abandoned = true;
    late_->fetch_add(1);
    throw failed(q, where,
                 {TSR_ETIMEOUT, "E_MAPPER_TIMEOUT", "no answer within " + seconds(deadline_),
                  "hooks decide from what they are given; measure and read files when the mapper is made"});
  }
  if (asking->failure.status != TSR_SUCCESS) throw failed(q, where, asking->failure);
  return asking->answer;
}

Mapper::Choice Host::check(const Question &q, const std::string &where, Mapper::Choice choice,
                           const std::vector<std::pair<std::string, std::string>> &refused) const {
  if (!(choice.predictedNs >= 0)) choice.predictedNs = -1;
  if (choice.name.empty()) {
    if (q.hasDefault && !q.legal.empty()) choice.name = q.legal.front();
    return choice;
  }
  if (std::find(q.legal.begin(), q.legal.end(), choice.name) != q.legal.end()) return choice;
  Failure f(TSR_EINVAL, "E_MAPPER_ANSWER",
            "the answer " + mapping::quoted(choice.name) + " is not legal here; legal: " + list(q.legal));
  for (const auto &[name, reason] : refused)
    if (name == choice.name) f.message += "; " + name + " is not: " + reason;
  std::vector<std::string_view> names(q.legal.begin(), q.legal.end());
  if (auto near = nearestName(choice.name.substr(0, 64), names); !near.empty())
    f.hint = "did you mean " + std::string(near) + "?";
  else
    f.hint = "return one of the legal names, or nothing for the default";
  throw failed(q, where, f);
}

Mapper::Choice Host::place(const Mapper::Region &region, const Mapper::Mesh &mesh) {
  const Question q = question(region, mesh);
  return check(q, "", run(q, "", [region, mesh](Mapper &m) { return m.place(region, mesh); }), {});
}

Mapper::Choice Host::chooseCollective(const Mapper::CollectiveCall &call) {
  const Question q = question(call);
  return check(q, "", run(q, "", [call](Mapper &m) { return m.chooseCollective(call); }), {});
}

Mapper::Choice Host::algorithmFor(const Mapper::CollectiveCall &call) {
  // programs use few sizes; beyond this limit the answers are discarded and asked again
  constexpr size_t kMost = 4096;
  const std::string key = question(call).text() + list(call.algorithms);
  std::promise<Mapper::Choice> promise;
  std::shared_future<Mapper::Choice> asked; // invalid: this thread must ask
  {
    std::lock_guard lock(algorithmMutex_);
    if (auto known = algorithms_.find(key); known != algorithms_.end() && known->second.willCome())
      asked = known->second.answer;
    else {
      if (algorithms_.size() == kMost) algorithms_.clear();
      algorithms_[key] = {forkCount(), promise.get_future().share()};
    }
  }
  if (asked.valid()) return asked.get();
  try {
    Mapper::Choice choice = chooseCollective(call);
    promise.set_value(choice);
    return choice;
  } catch (...) {
    {
      std::lock_guard lock(algorithmMutex_);
      algorithms_.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

bool Host::choosesNothing() const {
  const Mapper &mapper = *mapper_;
  return typeid(mapper) == typeid(Mapper);
}

Mapper::Choice Host::chooseVariant(const Mapper::VariantCall &call, const std::string &where,
                                   const std::vector<std::pair<std::string, std::string>> &refused) {
  const Question q = question(call);
  return check(q, where, run(q, where, [call](Mapper &m) { return m.chooseVariant(call); }), refused);
}

namespace {

std::atomic<uint64_t> generations{1};

struct State {
  std::mutex mutex;
  std::shared_ptr<Host> set;         // set by a call
  std::shared_ptr<Host> environment; // made from `spec`
  std::string spec;
  std::atomic<bool> isEnding{false}; // no more mappers are made
  // held while a mapper is made; recursive, because a plugin's create may call back
  std::recursive_mutex making;
  HeldAcrossFork mutexHeld{mutex}, makingHeld{making};
};

State &state() {
  static State &s = *new State; // never destroyed: a late question may outlive static destructors
  return s;
}
[[maybe_unused]] const State &madeState = state(); // when the library is loaded: see HeldAcrossFork

} // namespace

std::shared_ptr<Host> makeHost(const std::string &spec) {
  Failure failure;
  std::shared_ptr<Mapper> mapper = makeMapper(spec, failure);
  if (!mapper) throw failure;
  return std::make_shared<Host>(spec, std::move(mapper));
}

std::shared_ptr<Host> current() {
  State &s = state();
  const Setting said = setting("TESSERA_MAPPER");
  const std::string &spec = said.value;
  std::shared_ptr<Host> old; // if the variable changed; destroyed without the lock
  auto known = [&]() -> std::shared_ptr<Host> {
    std::lock_guard lock(s.mutex);
    if (s.set) return s.set;
    if (s.environment && s.spec == spec) return s.environment;
    old = std::exchange(s.environment, nullptr);
    return nullptr;
  };
  if (auto host = known(); host || spec.empty() || s.isEnding) return host;
  // A mapper is made only once, because it may write files. It is made without `mutex`, because it runs
  // plugin code.
  std::lock_guard making(s.making);
  if (auto host = known()) return host;
  std::shared_ptr<Host> made;
  try {
    made = makeHost(spec);
  } catch (Failure &f) {
    f.message = said.from + ": " + f.message;
    throw;
  }
  std::lock_guard lock(s.mutex);
  s.environment = made;
  s.spec = spec;
  return s.set ? s.set : made;
}

uint64_t generation() noexcept { return generations.load(std::memory_order_acquire); }

void setCurrent(std::shared_ptr<Host> host) {
  std::lock_guard lock(state().mutex);
  std::swap(state().set, host); // the previous one is destroyed after the lock is released
  generations.fetch_add(1, std::memory_order_release);
}

void letGoOfMappers() {
  std::shared_ptr<Host> set, environment; // destroyed after the lock is released
  State &s = state();
  std::lock_guard lock(s.mutex);
  s.isEnding = true;
  set.swap(s.set);
  environment.swap(s.environment);
  generations.fetch_add(1, std::memory_order_release);
}

} // namespace tessera::mapping
