// Asking the mapper of this process: which one that is, how long it may take, and what it may answer.
//
// A mapper is somebody else's code. Each question runs on a thread of its own and has a deadline; whatever
// the hook throws or returns becomes an answer from the legal set or a Failure that names the mapper, the
// call and the legal set. All functions may be called from any thread.
#pragma once
#include "core/support/Fork.h"
#include "mapper/host/Failure.h"
#include "mapper/host/Question.h"
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tessera/mapper.hpp>

namespace tessera::mapping {

/// A mapper with the name that errors and metadata give it.
class Host {
public:
  /// What a mapper has to answer within.
  static constexpr std::chrono::milliseconds kDeadline{10'000};

  Host(std::string name, std::shared_ptr<Mapper> mapper, std::chrono::milliseconds deadline = kDeadline)
      : name_(std::move(name)), mapper_(std::move(mapper)), deadline_(deadline) {}
  const std::string &name() const { return name_; }

  /// Is it `default`, which need not be asked?
  bool choosesNothing() const;

  /// Each throws Failure. What they return is a legal answer; where the mapper chose nothing, a variant is
  /// the default, a place and an algorithm "".
  Mapper::Choice place(const Mapper::Region &, const Mapper::Mesh &);
  Mapper::Choice chooseCollective(const Mapper::CollectiveCall &);
  /// The same, asked once for each different call: the answer is kept, a failure is not. Threads that ask at
  /// once wait for one answer, or for one failure.
  Mapper::Choice algorithmFor(const Mapper::CollectiveCall &);
  /// `where`: "mlp.py:7", or ""; `refused`: variants that are known but not legal, and why.
  Mapper::Choice chooseVariant(const Mapper::VariantCall &, const std::string &where = "",
                               const std::vector<std::pair<std::string, std::string>> &refused = {});

private:
  template <class Hook> Mapper::Choice run(const Question &, const std::string &where, Hook hook);
  Mapper::Choice check(const Question &, const std::string &where, Mapper::Choice,
                       const std::vector<std::pair<std::string, std::string>> &refused) const;
  Failure failed(const Question &, const std::string &where, Failure) const;

  const std::string name_;
  const std::shared_ptr<Mapper> mapper_;
  const std::chrono::milliseconds deadline_;
  /// What a question was or will be answered.
  struct Algorithm {
    uint64_t process; // of the thread that asks, by forkCount(); it does not exist in another
    std::shared_future<Mapper::Choice> answer;
    bool willCome() const {
      return process == forkCount() || answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };
  std::mutex algorithmMutex_; // not held while a question is asked
  HeldAcrossFork algorithmMutexHeld_{algorithmMutex_};
  /// By question.
  std::map<std::string, Algorithm> algorithms_;
  const std::shared_ptr<std::atomic<int>> late_ = std::make_shared<std::atomic<int>>(0); // unanswered yet
};

/// The mapper in force: what was set by a call, else TESSERA_MAPPER's. Null: none, and nobody is asked.
/// Throws Failure where TESSERA_MAPPER cannot be had.
std::shared_ptr<Host> current();

/// Grows whenever another mapper is set.
uint64_t generation() noexcept;

/// From now on `host` is asked; null: TESSERA_MAPPER's again.
void setCurrent(std::shared_ptr<Host> host);

/// For the end of the process: there is no mapper from now on.
void letGoOfMappers();

/// A mapper from its spec, as a host that answers by that name. Throws Failure.
std::shared_ptr<Host> makeHost(const std::string &spec);

} // namespace tessera::mapping
